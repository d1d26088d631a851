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

namespace goss {

class Mesh;

/// Thread model. Everything below a communicator is guarded by this lock. A thread that waits becomes the driver: it
/// runs the loop until what it waits for has come, spinning for Config::spin_us and then sleeping in poll() without the
/// lock. Other waiting threads sleep on a condition variable and take over when the driver leaves. The world's progress
/// thread is one more candidate, for non-blocking operations and for answering probes while the application computes.
class Engine {
 public:
  using Lock = std::unique_lock<platform::BiasedMutex>;

  /// How often a blocking call looks for its end before it becomes an operation of the loop: about two microseconds.
  static constexpr int kLooks = 160;
  /// The same where ranks outnumber processors, with a yield before each look: to become an operation of the loop would
  /// cost more than the look that finds the end.
  static constexpr int kYields = 16;

  explicit Engine(const Config& config);
  ~Engine();

  /// The mesh must outlive all calls but the destructor's. `after_progress` runs each time transports have progressed,
  /// where operations may be withdrawn; it returns whether it did anything.
  void attach(Mesh* mesh, std::function<bool()> after_progress) {
    mesh_ = mesh;
    after_progress_ = std::move(after_progress);
  }

  /// More ranks share this host than it has processors for: who waits yields instead of spinning, because the rank that
  /// it waits for may need this very processor. Before the first drive.
  void setOversubscribed(bool oversubscribed) { oversubscribed_ = oversubscribed; }
  /// From now on the progress thread drives operations as soon as they start, whether or not a caller waits.
  void driveUnattendedOnLoop() { unattended_ = true; }
  /// All that is awaited comes from far away: who waits sleeps at once. Before the first drive.
  void setHighLatency() { spin_us_ = 0; }

  /// Takes the lock; a driver that spins lets the caller in.
  Lock enter() { return mutex_.try_lock() ? Lock(mutex_, std::adopt_lock) : enterBusy(); }
  /// The progress thread's way in: the lock will never be biased towards it, however long it is the only one.
  Lock enterAsHelper();

  /// Returns when done() holds; done() is evaluated under the lock. `lock` is held on entry and on return.
  void driveUntil(Lock& lock, const std::function<bool()>& done);
  /// The progress thread's turn: drives while operations are active and nobody else does, else sleeps up to `idle_ms`.
  /// Returns at once after stop().
  void driveIdle(Lock& lock, int idle_ms);
  /// For callers that poll: one turn and a look at the timers, unless somebody else drives. Never blocks.
  void turnOnce(Lock& lock);
  void stop(Lock& lock);
  [[nodiscard]] bool stopped() const { return stopped_; }

  /// A non-blocking operation was started: somebody must drive it. Costs a wake-up only where nobody would; for
  /// messages not even that as long as the progress thread naps, because whoever sends many of them waits for them
  /// soon.
  void startedOnLoop(const Operation& operation);

  /// A receive that the transports do not know yet. In their order these either get their messages out of
  /// firstUnpostedOnLoop(), or start as ordinary operations: with the next turn of the loop, or before anything else
  /// starts. So whatever is posted has its place in the order, and what needs an operation (deadlines, aborts, lost
  /// peers) has one a millisecond later at the latest, when the progress thread looks. mayStayUnpostedOnLoop() must
  /// hold.
  void addUnpostedOnLoop(Operation& operation);
  /// Nobody drives, and ranks do not share processors: who waits looks for itself.
  [[nodiscard]] bool mayStayUnpostedOnLoop() const { return !driving_ && !oversubscribed_; }
  /// Null: there is none.
  [[nodiscard]] Operation* firstUnpostedOnLoop() const { return unposted_.first(); }
  /// It is complete.
  void removeFirstUnpostedOnLoop() {
    unposted_.removeFirst();
    if (waiters_ > 0) wakeWaiters();
  }
  void startUnpostedOnLoop() {
    if (!unposted_.isEmpty()) unposted_.startAll();
  }

  /// Waiting threads re-evaluate their conditions; a sleeping driver wakes up.
  void notify(Lock& lock);

  void activateOnLoop(Operation& operation);
  void deactivateOnLoop(Operation& operation);
  /// What is active; operations enter and leave by activateOnLoop() and deactivateOnLoop() alone.
  [[nodiscard]] ActiveOperations& active() { return active_; }
  /// Whether no operation is active and nobody drives: what can end at once need not go through the loop.
  [[nodiscard]] bool isIdleOnLoop() const { return active_.isEmpty() && unposted_.isEmpty() && !driving_; }
  /// Whether ranks share processors: then looking for long keeps them from what we wait for.
  [[nodiscard]] bool oversubscribed() const { return oversubscribed_; }
  /// Lets other processes of this processor run, with the lock, for a rank that waits for one of them. False: a thread
  /// of this process wants the lock, so let go of it first.
  [[nodiscard]] bool yieldOnLoop();
  /// Takes a turn where that is short: nobody drives, and nothing but messages is active. Returns whether it did.
  bool turnBrieflyOnLoop();
  /// Another thread wants the lock.
  [[nodiscard]] bool isWanted() const { return entering_.load(std::memory_order_relaxed) != 0; }
  /// Takes turns, at most so many, until `done`, which a turn may set, or another thread wants the lock. Where ranks
  /// share processors it yields in between. Never lets go of the lock.
  void turnUntilOnLoop(const bool& done, int turns);

 private:
  Lock enterBusy();
  bool turnOnLoop();
  bool finishTurnOnLoop();
  void drive(Lock& lock, const std::function<bool()>& done);
  void sleep(Lock& lock, int longest_ms);
  [[nodiscard]] bool mayWait() const;
  [[nodiscard]] bool servesOthers() const;
  void callDriverOnLoop();
  void letOthersIn(Lock& lock);
  void wakeSleeper();
  void wakeWaiters();

  int spin_us_;
  bool oversubscribed_ = false;
  Mesh* mesh_ = nullptr;
  std::function<bool()> after_progress_;
  platform::UniqueFd wake_fd_;

  platform::BiasedMutex mutex_; ///< Mostly one thread's: the application's that communicates.
  std::condition_variable_any changed_;
  std::atomic<int> entering_{0};

  // Guarded by mutex_.
  bool driving_ = false;
  bool idle_driver_ = false; ///< The driver is the progress thread: it gives way.
  bool sleeping_ = false;
  bool stopped_ = false;
  int waiters_ = 0;
  int woken_ = 0;                   ///< Waiters that were woken and have not had the lock since.
  std::uint64_t messages_ = 0;      ///< Started so far, without blocking.
  std::uint64_t messages_seen_ = 0; ///< As the progress thread has seen it last.
  bool napping_ = false;            ///< It looks again soon, by itself.
  bool unattended_ = false;         ///< driveUnattendedOnLoop() was called.
  int collectives_ = 0;             ///< Active operations that are no messages.
  ActiveOperations active_;
  UnpostedReceives unposted_;
  TimePoint yields_until_{}; ///< Who waits yields, as in a crowd: it has slept not long ago.
};

} // namespace goss

#endif // GOSS_LIB_ENGINE_ENGINE_H_
