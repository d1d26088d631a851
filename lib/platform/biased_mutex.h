/// A mutex for data that one thread uses nearly always, and others must be able to.
#ifndef GOSS_LIB_PLATFORM_BIASED_MUTEX_H_
#define GOSS_LIB_PLATFORM_BIASED_MUTEX_H_

#include <atomic>
#include <cstdint>
#include <mutex>

namespace goss::platform {

/// The first thread that takes the mutex some times in a row, and has not renounced, becomes its permanent owner, which
/// locks and unlocks it with plain stores. An atomic read-modify-write is expensive because it waits for all earlier
/// stores, such as those into a cache line that another processor still holds. Any other thread suspends ownership,
/// which takes some microseconds (platform/fence.h), until the owner has had its turns in a row again. Where the system
/// has no such fences this is a std::mutex.
///
/// Lockable as std::mutex is: not recursive, unlocked by the thread that locked it, without promise of fairness.
class BiasedMutex {
 public:
  BiasedMutex();
  /// May be called by a thread that has locked and unlocked it after all others, as with a std::mutex: waits until the
  /// owner has returned from unlock().
  ~BiasedMutex();
  BiasedMutex(const BiasedMutex&) = delete;
  BiasedMutex& operator=(const BiasedMutex&) = delete;

  void lock() {
    if (!lockAsOwner()) lockSlowly();
  }
  /// Called by a thread that holds the lock: it shall never become the owner. Only the last thread that called it
  /// counts.
  void renounce();
  [[nodiscard]] bool isOwnedByThisThread() const {
    return active_owner_.load(std::memory_order_relaxed) == thisThread();
  }
  bool try_lock() { // NOLINT(readability-identifier-naming): the standard's name
    return lockAsOwner() || tryLockSlowly();
  }
  void unlock() {
    if (!held_by_owner_) return mutex_.unlock();
    held_by_owner_ = false;
    leave();
  }

 private:
  using ThreadId = std::uintptr_t;
  static ThreadId thisThread() {
#if __has_builtin(__builtin_thread_pointer) && defined(__x86_64__)
    // In a shared object std::this_thread::get_id() would be a call.
    return reinterpret_cast<ThreadId>(__builtin_thread_pointer());
#else
    static thread_local char here;
    return reinterpret_cast<ThreadId>(&here);
#endif
  }

  // Either the suspending thread sees the owner's store, or the owner sees the suspension: fenceOwn() lies in between.
  bool lockAsOwner() {
    const ThreadId self = thisThread();
    if (active_owner_.load(std::memory_order_relaxed) != self) return false;
    inside_.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (active_owner_.load(std::memory_order_acquire) == self) {
      held_by_owner_ = true;
      return true;
    }
    leave();
    return false;
  }
  void leave() {
    leaving_.store(true, std::memory_order_relaxed);
    inside_.store(0, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (active_owner_.load(std::memory_order_relaxed) == 0) wakeWaiter();
    leaving_.store(false, std::memory_order_release);
  }
  void lockSlowly();
  bool tryLockSlowly();
  void suspendOwner();
  void count();
  void wakeWaiter();

  const bool fenced_;
  std::atomic<ThreadId> active_owner_{0}; ///< Set under mutex_; 0: there is no owner, or ownership is suspended.
  std::atomic<std::uint32_t> inside_{0};  ///< 1: the owner has the lock, or tries to get it. Only the owner writes it.
  /// The owner has released the lock, and still has to check whether another thread waits. Only the owner writes it.
  std::atomic<bool> leaving_{false};
  /// Lock of all other threads; the thread that holds it and finds the owner not inside has the lock.
  std::mutex mutex_;
  // The whole lock guards the following:
  bool held_by_owner_ = false;
  ThreadId owner_ = 0;  ///< Never changes once set: a second owner would write inside_ while the first still does.
  ThreadId helper_ = 0; ///< The thread that called renounce().
  ThreadId last_ = 0;
  int turns_ = 0; ///< Number of turns in a row of last_.
};

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_BIASED_MUTEX_H_
