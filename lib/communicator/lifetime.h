/// Tells whether a communicator still exists.
#ifndef GOSS_LIB_COMMUNICATOR_LIFETIME_H_
#define GOSS_LIB_COMMUNICATOR_LIFETIME_H_

#include <mutex>

#include "gossamer/status.h"
#include "platform/fork.h"

namespace goss {

/// A communicator shares it with threads that keep its operations between two calls, such as those of an open group:
/// another thread may destroy the communicator meanwhile, and its operations with it. Thread-safe.
class Lifetime {
 public:
  /// The communicator is about to be destroyed. Waits for threads that are in whileItLasts().
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  /// Orders what this thread has read of the communicator before a later end(), after which it is freed.
  void fence() { const std::lock_guard lock(mutex_); }
  /// Whether fork() has copied the communicator into this process: then it may not be used.
  [[nodiscard]] bool isInherited() const { return made_in_.isInherited(); }
  /// Calls `visit`, during which the communicator exists. Returns false, without a call, if it does not exist any more.
  /// Not for inherited ones: fork() may have copied a locked mutex.
  template <typename Visit>
  bool whileItLasts(Visit&& visit) {
    const std::lock_guard lock(mutex_);
    if (!ended_) visit();
    return !ended_;
  }

  /// The error of operations whose communicator was destroyed, by this or another thread.
  static Status endedError() {
    return Status::error(GOSS_ERR_ABORTED, "the communicator was destroyed while the operation was pending",
                         ErrorScope::communicator);
  }

 private:
  const platform::ProcessMark made_in_;
  std::mutex mutex_;
  bool ended_ = false;
};

} // namespace goss

#endif // GOSS_LIB_COMMUNICATOR_LIFETIME_H_
