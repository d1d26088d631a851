/// A message between two ranks of one process, which is copied once.
#ifndef GOSS_TRANSPORTS_COMMON_OFFER_H_
#define GOSS_TRANSPORTS_COMMON_OFFER_H_

#include <mutex>
#include <utility>

#include "gossamer/message.h"
#include "transports/common/message_sink.h"

namespace goss::transports {

/// The message stays in the sender's buffers until the receiver has copied it. The threads of both ranks may use it.
class Offer {
 public:
  explicit Offer(SendOperation& operation) : operation_(&operation) {}

  /// Called by the sender: afterwards the receiver does not touch the operation. Returns the operation; null: it was
  /// withdrawn before.
  SendOperation* withdraw() {
    std::lock_guard lock(mutex_);
    return std::exchange(operation_, nullptr);
  }
  [[nodiscard]] bool isWithdrawn() {
    std::lock_guard lock(mutex_);
    return operation_ == nullptr;
  }
  /// Gives all bytes to `sink`, which calls the receive back. False: the offer was withdrawn, and no byte was given.
  bool copyTo(MessageSink& sink);

 private:
  std::mutex mutex_;
  SendOperation* operation_;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_OFFER_H_
