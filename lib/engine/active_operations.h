/// The operations that have started and not ended, of all communicators of a world.
#ifndef GOSS_LIB_ENGINE_ACTIVE_OPERATIONS_H_
#define GOSS_LIB_ENGINE_ACTIVE_OPERATIONS_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <new>
#include <vector>

#include "engine/operation.h"
#include "platform/thread_safety.h"

namespace goss {

/// Lists of all active operations, those to advance, and those to poll. Every function needs the engine's lock.
class ActiveOperations {
 public:
  [[nodiscard]] bool isEmpty() const GOSS_ON_LOOP { return first_ == nullptr; }
  /// The operation that was added last; null: there is none.
  [[nodiscard]] Operation* newest() const GOSS_ON_LOOP { return first_; }
  /// Calls `visit` for each; it may complete any of them.
  void forEach(const std::function<void(Operation&)>& visit) const GOSS_ON_LOOP;

  /// Runs `step` of an active operation, and fails the operation if the step throws std::bad_alloc. An exception that
  /// went on would end the process on the progress thread, and make the owner free the operation while it is active.
  template <typename Step>
  static void failIfShort(Operation& operation, Step&& step) GOSS_ON_LOOP {
    try {
      step();
    } catch (const std::bad_alloc&) {
      if (operation.state() == Operation::State::active) failForMemory(operation);
    }
  }

  /// The operation's advanceOnLoop() will be called before the loop turns again.
  void markDirty(Operation& operation) GOSS_ON_LOOP {
    if (operation.dirty_) return;
    operation.dirty_ = true;
    operation.dirty_next_ = nullptr;
    if (dirty_last_ != nullptr) {
      dirty_last_->dirty_next_ = &operation;
    } else {
      dirty_first_ = &operation;
    }
    dirty_last_ = &operation;
  }
  /// Takes markDirty() back.
  void unmarkDirty(Operation& operation) GOSS_ON_LOOP;
  [[nodiscard]] bool hasDirty() const GOSS_ON_LOOP { return dirty_first_ != nullptr; }
  /// Advances the operation that was marked first; there must be one.
  void advanceDirty() GOSS_ON_LOOP;

  /// The operation's pollOnLoop() will be called in each turn of the loop and before it sleeps, until it completes or
  /// stopPolling().
  void keepPolling(Operation& operation) GOSS_ON_LOOP;
  /// Stops calling the operation's pollOnLoop(), until the next keepPolling().
  void stopPolling(Operation& operation) GOSS_ON_LOOP;
  /// The longest time for which a failed operation is kept for a device. Devices need milliseconds for a copy. A driver
  /// may answer nobody while a thread frees memory, until streams have passed gates of other operations.
  static constexpr std::chrono::seconds kLongestEnd{10};

  /// From now on poll() only asks the operation, which has been withdrawn, whether it has left (tryLeaveOnLoop()).
  /// Then, or after kLongestEnd at the latest, it calls `complete`, which completes the operation.
  void keepEnding(Operation& operation, std::function<void()> complete) GOSS_ON_LOOP;
  [[nodiscard]] bool hasPolled() const GOSS_ON_LOOP { return !polled_.empty() || !ending_.empty(); }
  /// Whether a polled operation waits for a device.
  [[nodiscard]] bool waitsForDevice() const GOSS_ON_LOOP {
    return !ending_.empty() ||
           std::any_of(polled_.begin(), polled_.end(), [](const Operation* one) { return one->waitsForDevice(); });
  }
  /// Polls each polled operation. Returns whether any made progress.
  bool poll() GOSS_ON_LOOP;

  /// Tells the hosts of deadlines and probes that are due; does nothing when it was called a moment ago.
  void checkTimers() GOSS_ON_LOOP;
  /// -1: no timer.
  [[nodiscard]] int millisecondsToNextTimer() const GOSS_ON_LOOP;

 private:
  struct Ending {
    Operation* operation;
    std::function<void()> complete;
  };

  static void failForMemory(Operation& operation) GOSS_ON_LOOP;
  bool pollEnding() GOSS_ON_LOOP;
  friend class Engine; // Adds and removes, because it counts collectives and wakes sleepers as it does.
  void add(Operation& operation) GOSS_ON_LOOP;
  void remove(Operation& operation) GOSS_ON_LOOP;

  Operation* first_ GOSS_GUARDED = nullptr;
  Operation* dirty_first_ GOSS_GUARDED = nullptr;
  Operation* dirty_last_ GOSS_GUARDED = nullptr;
  std::vector<Operation*> polled_ GOSS_GUARDED;
  std::vector<Ending> ending_ GOSS_GUARDED;
  TimePoint next_timer_check_ GOSS_GUARDED{};
};

// Here, because every message and collective that waits calls them.
inline void ActiveOperations::add(Operation& operation) {
  operation.active_previous_ = nullptr;
  operation.active_next_ = first_;
  if (first_ != nullptr) first_->active_previous_ = &operation;
  first_ = &operation;
}

} // namespace goss

#endif // GOSS_LIB_ENGINE_ACTIVE_OPERATIONS_H_
