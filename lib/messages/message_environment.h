/// What messages need of the communicator that they belong to.
#ifndef GOSS_LIB_MESSAGES_MESSAGE_ENVIRONMENT_H_
#define GOSS_LIB_MESSAGES_MESSAGE_ENVIRONMENT_H_

#include <array>
#include <cstdint>

#include "call/signature.h"
#include "engine/engine.h"
#include "engine/operation_table.h"
#include "mesh/group.h"
#include "mesh/mesh.h"
#include "messages/receive_queue.h"
#include "messages/self_channel.h"

namespace goss {

/// What it refers to must outlive it.
struct MessageEnvironment {
  const Group& group;
  const std::uint32_t context; ///< Number of the communicator.
  const std::int64_t default_timeout_ms;
  Engine& engine;
  Mesh& mesh;
  OperationTable& operations;
};

/// The environment, and what all messages of the communicator share.
struct MessageContext : MessageEnvironment {
  explicit MessageContext(const MessageEnvironment& environment);
  MessageContext(const MessageContext&) = delete; // `receives` refers to `self_channel`.
  MessageContext& operator=(const MessageContext&) = delete;
  /// What travels with a message and must be equal at both ends: all that it depends on is the dtype.
  [[nodiscard]] const Envelope& envelope(DType dtype) const { return envelopes[static_cast<std::size_t>(dtype)]; }

  std::array<Envelope, GOSS_DTYPE_COUNT> envelopes; ///< To encode one takes a tenth of a short message.
  SelfChannel self_channel;
  ReceiveQueue receives;
};

} // namespace goss

#endif // GOSS_LIB_MESSAGES_MESSAGE_ENVIRONMENT_H_
