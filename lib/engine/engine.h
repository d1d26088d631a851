/// Drives transports and operations: one lock, and at most one thread at a time inside the loop.
#ifndef GOSS_LIB_ENGINE_ENGINE_H_
#define GOSS_LIB_ENGINE_ENGINE_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "engine/active_operations.h"
#include "engine/operation.h"
#include "engine/unposted_receives.h"
#include "gossamer/config.h"
#include "platform/biased_mutex.h"
#include "platform/fd.h"
#include "platform/thread_safety.h"

namespace goss {

class Mesh;

/// Thread model. Everything below a communicator is guarded by this lock. A thread that waits becomes the driver: it
/// runs the loop until its operation is complete, spinning for Config::spin_us and then sleeping in poll() without the
/// lock. Other waiting threads sleep on a condition variable and take over when the driver leaves. The world's progress
/// thread is one more candidate, for non-blocking operations and for answering probes while the application computes.
class Engine {
 public:
  /// What enter() returns: holds the lock while it lives, but between unlock() and lock().
  class GOSS_THREAD_SAFETY(scoped_lockable) Lock final : public std::unique_lock<platform::BiasedMutex> {
   public:
    using unique_lock::unique_lock;
    Lock(Lock&& other) noexcept GOSS_LOCKS = default;
    ~Lock() GOSS_THREAD_SAFETY(release_capability()) = default;
    void lock() GOSS_LOCKS { unique_lock::lock(); }
    void unlock() GOSS_UNLOCKS { unique_lock::unlock(); }
  };

  /// How often a blocking call looks for its end before it becomes an operation of the loop: about two microseconds.
  static constexpr int kLooks = 160;
  /// As kLooks, where ranks outnumber processors, with a yield before each look: to become an operation of the loop
  /// would cost more than the look that finds the end.
  static constexpr int kYields = 16;

  explicit Engine(const Config& config);
  ~Engine();

  /// The mesh must outlive all calls but the destructor's. `after_progress` runs after transports have progressed,
  /// where operations may be withdrawn; it returns whether it did anything.
  void attach(Mesh* mesh, std::function<bool()> after_progress) {
    mesh_ = mesh;
    after_progress_ = std::move(after_progress);
  }

  /// More ranks share this host than it has processors: waiting threads yield instead of spinning, because the rank
  /// that they wait for may need this very processor. Called before the first drive.
  void setOversubscribed(bool oversubscribed) { oversubscribed_ = oversubscribed; }
  /// From now on the progress thread drives operations as soon as they start, whether or not a caller waits.
  void driveUnattendedOnLoop() GOSS_ON_LOOP { unattended_ = true; }
  /// All messages come from far away: waiting threads sleep at once. Called before the first drive.
  void setHighLatency() { spin_us_ = 0; }

  /// Takes the lock; a driver that spins lets the caller in.
  Lock enter() GOSS_RETURNS_LOCK { return mutex_.try_lock() ? Lock(mutex_, std::adopt_lock) : enterBusy(); }
  /// Takes the lock for the progress thread: the lock will never be biased towards it, however long it is the only
  /// user.
  Lock enterAsHelper() GOSS_RETURNS_LOCK;

  /// Returns when done() holds, or soon after `limit`, and whether done() holds; done() is evaluated under the lock.
  /// `lock` is held on entry and on return.
  bool driveUntil(Lock& lock, const std::function<bool()>& done, TimePoint limit = TimePoint::max()) GOSS_ON_LOOP;
  /// The progress thread's turn: drives while operations are active and no other thread drives, else sleeps up to
  /// `idle_ms`. Returns at once after stop().
  void driveIdle(Lock& lock, int idle_ms) GOSS_ON_LOOP;
  /// For callers that poll: one turn and a check of the timers, unless another thread drives. Never blocks.
  void turnOnce(Lock& lock) GOSS_ON_LOOP;
  void stop(Lock& lock) GOSS_ON_LOOP;
  [[nodiscard]] bool stopped() const GOSS_ON_LOOP { return stopped_; }

  /// Tells the engine that a non-blocking operation was started, which some thread must drive. Wakes a thread only if
  /// no thread would drive, and for messages not even then while the progress thread naps, because a thread that sends
  /// many messages waits for them soon.
  void startedOnLoop(const Operation& operation) GOSS_ON_LOOP;

  /// Adds a receive that the transports do not know yet. Unposted receives, in their order, either get their messages
  /// out of firstUnpostedOnLoop(), or start as ordinary operations: with the next turn of the loop, or before anything
  /// else starts. So posting order is kept, and deadlines, aborts and lost peers find an ordinary operation after a
  /// millisecond at the latest, when the progress thread checks. mayStayUnpostedOnLoop() must hold.
  void addUnpostedOnLoop(Operation& operation) GOSS_ON_LOOP;
  /// Whether no thread drives and ranks do not share processors: then a waiting thread polls by itself.
  [[nodiscard]] bool mayStayUnpostedOnLoop() const GOSS_ON_LOOP { return !driving_ && !oversubscribed_; }
  /// The first unposted receive; null: there is none.
  [[nodiscard]] Operation* firstUnpostedOnLoop() const GOSS_ON_LOOP { return unposted_.first(); }
  /// The first unposted receive is complete.
  void removeFirstUnpostedOnLoop() GOSS_ON_LOOP {
    unposted_.removeFirst();
    if (waiters_ > 0) wakeWaiters();
  }
  /// Makes ordinary operations of all unposted receives, in their order.
  void startUnpostedOnLoop() GOSS_ON_LOOP {
    if (!unposted_.isEmpty()) unposted_.startAll();
  }

  /// Makes waiting threads re-evaluate their conditions; wakes a sleeping driver.
  void notify(Lock& lock) GOSS_ON_LOOP;

  void activateOnLoop(Operation& operation) GOSS_ON_LOOP;
  void deactivateOnLoop(Operation& operation) GOSS_ON_LOOP;
  /// The operations that have started and not ended. Only activateOnLoop() and deactivateOnLoop() add and remove them.
  [[nodiscard]] ActiveOperations& active() GOSS_ON_LOOP { return active_; }
  /// Whether no operation is active and no thread drives: an operation that completes at once need not go through the
  /// loop.
  [[nodiscard]] bool isIdleOnLoop() const GOSS_ON_LOOP { return active_.isEmpty() && unposted_.isEmpty() && !driving_; }
  /// Whether ranks share processors: then long polling keeps the awaited rank from running.
  [[nodiscard]] bool oversubscribed() const { return oversubscribed_; }
  /// Yields the processor, with the lock held, to a rank of the same processor. False: a thread of this process wants
  /// the lock, so release it first.
  [[nodiscard]] bool yieldOnLoop() GOSS_ON_LOOP;
  /// Runs one turn of the loop if that is short: no thread drives, and only messages are active. Returns whether it
  /// did.
  bool turnBrieflyOnLoop() GOSS_ON_LOOP;
  /// Whether another thread wants the lock.
  [[nodiscard]] bool isWanted() const { return entering_.load(std::memory_order_relaxed) != 0; }
  /// Takes at most `turns` turns, until `done`, which a turn may set, or another thread wants the lock. Where ranks
  /// share processors it yields in between. Never releases the lock.
  void turnUntilOnLoop(const bool& done, int turns) GOSS_ON_LOOP;

 private:
  Lock enterBusy() GOSS_RETURNS_LOCK;
  bool turnOnLoop() GOSS_ON_LOOP;
  bool finishTurnOnLoop() GOSS_ON_LOOP;
  void drive(Lock& lock, const std::function<bool()>& done, TimePoint limit) GOSS_ON_LOOP;
  void sleep(Lock& lock, int longest_ms) GOSS_ON_LOOP;
  [[nodiscard]] bool mayWait() const GOSS_ON_LOOP;
  [[nodiscard]] bool servesOthers() const GOSS_ON_LOOP;
  class DriverRole;
  void callDriverOnLoop() GOSS_ON_LOOP;
  void letOthersIn(Lock& lock) GOSS_ON_LOOP;
  void wakeSleeper() GOSS_ON_LOOP;
  void wakeWaiters() GOSS_ON_LOOP;

  int spin_us_;
  bool oversubscribed_ = false;
  Mesh* mesh_ = nullptr;
  std::function<bool()> after_progress_;
  platform::UniqueFd wake_fd_;

  platform::BiasedMutex mutex_; ///< Mostly locked by one thread: the application's that communicates.
  std::condition_variable_any changed_;
  std::atomic<int> entering_{0};

  bool driving_ GOSS_GUARDED = false;
  bool idle_driver_ GOSS_GUARDED = false; ///< The driver is the progress thread, which gives way to others.
  bool sleeping_ GOSS_GUARDED = false;
  bool stopped_ GOSS_GUARDED = false;
  int waiters_ GOSS_GUARDED = 0;
  int woken_ GOSS_GUARDED = 0;                   ///< Waiters that were woken and have not had the lock since.
  std::uint64_t messages_ GOSS_GUARDED = 0;      ///< Number of messages started without blocking.
  std::uint64_t messages_seen_ GOSS_GUARDED = 0; ///< messages_ at the progress thread's last check.
  bool napping_ GOSS_GUARDED = false;            ///< The progress thread checks again soon, by itself.
  bool unattended_ GOSS_GUARDED = false;         ///< driveUnattendedOnLoop() was called.
  int collectives_ GOSS_GUARDED = 0;             ///< Active operations that are not messages.
  ActiveOperations active_ GOSS_GUARDED;
  UnpostedReceives unposted_ GOSS_GUARDED;
  /// Until then waiting threads yield as if oversubscribed, because one has slept recently.
  TimePoint yields_until_ GOSS_GUARDED{};
  TimePoint first_limit_ GOSS_GUARDED = TimePoint::max(); ///< At or before the first limit of those that wait.
};

} // namespace goss

#endif // GOSS_LIB_ENGINE_ENGINE_H_
