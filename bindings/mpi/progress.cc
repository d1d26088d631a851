#include "bindings/mpi/progress.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

// Open MPI's progress engine, from libopen-pal, which libmpi brings.
// NOLINTBEGIN(readability-identifier-naming): its names
extern "C" {
void opal_progress(void);
int opal_progress_register(int (*callback)(void));
int opal_progress_unregister(int (*callback)(void));
}
// NOLINTEND(readability-identifier-naming)

namespace goss::interposer {

namespace {

using std::chrono::microseconds;

/// Time between two looks of the helper for blocking calls, if the first one found no call that needs help.
constexpr microseconds kIdleInterval{1000};
/// The same while a call needs help.
constexpr microseconds kActiveInterval{100};
/// After so many looks in a row that found no call to help, the helper sleeps until a call wakes it.
constexpr int kMaxIdleLooks = 50;
/// Calls of MPI's progress engine at each look that finds a call to help.
constexpr int kProgressCalls = 4;
/// The helper skips a call that has begun after the last look: most calls are over soon, and a thread that takes the
/// processor makes them longer. It does not skip more than so many looks in a row while threads are in calls, because
/// it cannot tell whether one of these calls lasts.
constexpr int kMaxSkipped = 10;

/// The thread that runs MPI's progress engine while the program's threads are in blocking calls of Gossamer.
class Helper {
 public:
  void start() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // The helper handles no signals of the program.
    stopped_ = false;
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void stop() {
    stopped_ = true;
    wake();
    if (thread_.joinable()) thread_.join();
  }

  void enter() {
    ++blocked_;
    entered_.store(entered_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (is_asleep_) wake();
  }

  /// The caller writes blocked_ and then reads is_helping_; the helper does the reverse; all in sequentially consistent
  /// order. So either the helper sees that no thread is blocked, or the caller sees the helper and waits until it
  /// leaves MPI.
  void leave() {
    --blocked_;
    if (is_helping_) const std::lock_guard lock(help_mutex_);
  }

 private:
  void run() {
    int idle = 0;
    while (!stopped_) {
      const bool has_helped = help();
      idle = has_helped ? 0 : idle + 1;
      if (idle > kMaxIdleLooks) {
        sleep();
        idle = 0;
      }
      std::this_thread::sleep_for(has_helped ? kActiveInterval : kIdleInterval);
    }
  }

  bool help() {
    if (blocked_ == 0 || isNew()) return false;
    const std::lock_guard lock(help_mutex_);
    is_helping_ = true;
    const bool is_needed = blocked_ > 0;
    for (int turn = 0; is_needed && turn < kProgressCalls; ++turn)
      opal_progress();
    is_helping_ = false;
    return is_needed;
  }

  /// Whether only one thread is in a call, which began after the last look, and may be skipped.
  bool isNew() {
    const std::uint64_t entered = entered_.load(std::memory_order_relaxed);
    const bool may_skip = entered != seen_ && blocked_ == 1 && skipped_ < kMaxSkipped;
    seen_ = entered;
    skipped_ = may_skip ? skipped_ + 1 : 0;
    return may_skip;
  }

  void sleep() {
    std::unique_lock lock(sleep_mutex_);
    is_asleep_ = true;
    woken_.wait(lock, [this] { return blocked_ > 0 || stopped_; });
    is_asleep_ = false;
  }

  void wake() {
    const std::lock_guard lock(sleep_mutex_);
    woken_.notify_all();
  }

  std::thread thread_;
  std::atomic<bool> stopped_{true};
  std::atomic<int> blocked_{0}; ///< Number of threads in blocking calls of Gossamer.
  /// Number of calls so far. Two threads that enter at the same time may count as one.
  std::atomic<std::uint64_t> entered_{0};
  std::uint64_t seen_ = 0; ///< entered_ at the helper's last look.
  int skipped_ = 0;        ///< Looks in a row that skipped a call.
  std::mutex help_mutex_;
  std::atomic<bool> is_helping_{false}; ///< The helper is in MPI, or about to enter it if a thread is blocked.
  std::mutex sleep_mutex_;
  std::condition_variable woken_;
  std::atomic<bool> is_asleep_{false};
};

/// Threads of the program may still be in a call while static objects are destroyed.
Helper& helper() {
  static Helper& only = *new Helper;
  return only;
}

} // namespace

Outcome outcomeOf(goss_status status) {
  if (status == GOSS_SUCCESS) return {};
  return {status, goss_last_error()};
}

void startProgress(int (*poll)()) {
  opal_progress_register(poll);
  helper().start();
}

void stopProgress(int (*poll)()) {
  helper().stop();
  opal_progress_unregister(poll);
}

BlockedCallGuard::BlockedCallGuard() { helper().enter(); }
BlockedCallGuard::~BlockedCallGuard() { helper().leave(); }

} // namespace goss::interposer
