/// Messages between single ranks of a synchronizer's communicator, for which the others make no call.
#ifndef GOSS_LIB_SYNC_MAILBOX_H_
#define GOSS_LIB_SYNC_MAILBOX_H_

#include <cstddef>
#include <span>

#include "gossamer/gossamer.h"
#include "gossamer/status.h"

namespace goss::sync {

/// The status that a call of the C ABI has returned, with the text of its error.
Status called(goss_status status);

/// Lends the communicator. One thread.
class Mailbox {
 public:
  explicit Mailbox(goss_comm_t comm) : comm_(comm) {}

  /// Sends `bytes` to rank `to`; blocks until the caller may reuse them.
  Status send(std::span<const std::byte> bytes, int to, int tag);
  /// Start a message and never block: the values are lent until waitAll().
  Status startSend(std::span<const float> values, int to, int tag, goss_request_t* request);
  Status startReceive(std::span<float> values, int from, int tag, goss_request_t* request);
  static Status waitAll(std::span<goss_request_t> requests);
  /// Blocks until a message with this tag is there, from whatever rank, and says how long it is and who sent it.
  Result<goss_message> receiveAny(std::span<std::byte> bytes, int tag);
  /// Whether a message with this tag has arrived. Never blocks.
  Result<bool> hasMessage(int tag);

 private:
  goss_comm_t comm_;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_MAILBOX_H_
