/// Counts the threads that block in calls of one communicator, for which its destructor waits.
#ifndef GOSS_LIB_ENGINE_BLOCKED_CALLS_H_
#define GOSS_LIB_ENGINE_BLOCKED_CALLS_H_

#include "engine/engine.h"
#include "platform/thread_safety.h"

namespace goss {

/// Used under the engine's lock.
class BlockedCalls {
 public:
  explicit BlockedCalls(Engine& engine) : engine_(engine) {}

  void enter() GOSS_ON_LOOP { ++count_; }
  /// The thread no longer uses the communicator.
  void leave(Engine::Lock& lock) GOSS_ON_LOOP {
    if (--count_ == 0 && closing_) engine_.notify(lock);
  }
  /// Blocks until all threads have left; isClosing() holds from now on.
  void close(Engine::Lock& lock) GOSS_ON_LOOP {
    closing_ = true;
    engine_.driveUntil(lock, [this]() GOSS_ON_LOOP { return count_ == 0; });
  }
  [[nodiscard]] bool isClosing() const GOSS_ON_LOOP { return closing_; }

 private:
  Engine& engine_;
  int count_ GOSS_GUARDED = 0;
  bool closing_ GOSS_GUARDED = false;
};

/// Marks one blocking thread; lives while that holds the engine's lock, `lock`.
class BlockedCallGuard {
 public:
  BlockedCallGuard(BlockedCalls& calls, Engine::Lock& lock) GOSS_ON_LOOP : calls_(calls), lock_(lock) {
    calls_.enter();
  }
  ~BlockedCallGuard() GOSS_ON_LOOP { calls_.leave(lock_); }
  BlockedCallGuard(const BlockedCallGuard&) = delete;
  BlockedCallGuard& operator=(const BlockedCallGuard&) = delete;

 private:
  BlockedCalls& calls_;
  Engine::Lock& lock_;
};

} // namespace goss

#endif // GOSS_LIB_ENGINE_BLOCKED_CALLS_H_
