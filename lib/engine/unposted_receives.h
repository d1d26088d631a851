/// Receives that the transports do not know yet.
#ifndef GOSS_LIB_ENGINE_UNPOSTED_RECEIVES_H_
#define GOSS_LIB_ENGINE_UNPOSTED_RECEIVES_H_

#include <utility>

#include "engine/operation.h"
#include "platform/thread_safety.h"

namespace goss {

/// A queue. Every function needs the engine's lock.
class UnpostedReceives {
 public:
  [[nodiscard]] bool isEmpty() const GOSS_ON_LOOP { return first_ == nullptr; }
  /// Null: there is none.
  [[nodiscard]] Operation* first() const GOSS_ON_LOOP { return first_; }

  void add(Operation& operation) GOSS_ON_LOOP {
    operation.unposted_ = true;
    operation.active_next_ = nullptr;
    (first_ != nullptr ? last_->active_next_ : first_) = &operation;
    last_ = &operation;
  }
  void removeFirst() GOSS_ON_LOOP { takeFirst(first_); }
  /// Each becomes an ordinary operation.
  void startAll() GOSS_ON_LOOP {
    // Starting one would start those behind it first, so the list is taken at once.
    for (Operation* at = std::exchange(first_, nullptr); at != nullptr;) {
      Operation& operation = takeFirst(at);
      operation.host().startUnposted(operation);
    }
  }

 private:
  static Operation& takeFirst(Operation*& first) {
    Operation& operation = *std::exchange(first, first->active_next_);
    operation.unposted_ = false;
    return operation;
  }

  Operation* first_ GOSS_GUARDED = nullptr;
  Operation* last_ GOSS_GUARDED = nullptr;
};

} // namespace goss

#endif // GOSS_LIB_ENGINE_UNPOSTED_RECEIVES_H_
