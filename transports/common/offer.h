/// A message between two ranks of one process, which is copied once.
#ifndef GOSS_TRANSPORTS_COMMON_OFFER_H_
#define GOSS_TRANSPORTS_COMMON_OFFER_H_

#include <mutex>
#include <utility>

#include "gossamer/message.h"
#include "transports/common/message_sink.h"

namespace goss::transports {

/// Stays in the sender's buffers until the receiver has copied it. Safe for the threads of both.
class Offer {
 public:
  explicit Offer(SendOperation& operation) : operation_(&operation) {}

  /// The sender calls it: the receiver does not touch the operation afterwards. Returns the operation; null: it was
  /// withdrawn before.
  SendOperation* withdraw() {
    std::lock_guard lock(mutex_);
    return std::exchange(operation_, nullptr);
  }
  [[nodiscard]] bool isWithdrawn() {
    std::lock_guard lock(mutex_);
    return operation_ == nullptr;
  }
  /// Gives all bytes to `inflow`, which calls the receive back. False: withdrawn, and none was given.
  bool copyTo(MessageSink& inflow);

 private:
  std::mutex mutex_;
  SendOperation* operation_;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_OFFER_H_
