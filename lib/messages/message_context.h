/// The state that all messages of a communicator share.
#ifndef GOSS_LIB_MESSAGES_MESSAGE_CONTEXT_H_
#define GOSS_LIB_MESSAGES_MESSAGE_CONTEXT_H_

#include <array>
#include <vector>

#include "call/signature.h"
#include "engine/operation_environment.h"
#include "messages/receive_queue.h"
#include "messages/self_channel.h"
#include "platform/thread_safety.h"

namespace goss {

class DeviceMessage;

struct MessageContext : OperationEnvironment {
  explicit MessageContext(const OperationEnvironment& environment);
  MessageContext(const MessageContext&) = delete; // `receives` refers to `self_channel`.
  MessageContext& operator=(const MessageContext&) = delete;
  /// The envelope of messages of this dtype; it must be equal at both ends.
  [[nodiscard]] const Envelope& envelope(DType dtype) const { return envelopes[static_cast<std::size_t>(dtype)]; }

  std::array<Envelope, GOSS_DTYPE_COUNT> envelopes; ///< To encode one takes a tenth of a short message.
  SelfChannel self_channel;
  ReceiveQueue receives;
  /// Sends whose bytes are on their way from a device, in the order of the calls.
  std::vector<const DeviceMessage*> arriving GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_MESSAGES_MESSAGE_CONTEXT_H_
