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

/// While calls come and go, and while one lasts.
constexpr microseconds kBetweenLooks{1000};
constexpr microseconds kBetweenTurns{100};
/// Looks without any call, after which the thread waits to be woken.
constexpr int kPatience = 50;
constexpr int kTurns = 4;
/// A call that was not there at the last look needs no help: most calls are over soon, and a thread that takes the
/// processor makes them longer. But so many looks never pass without help while threads are in calls: among the calls
/// of several threads one cannot tell whether one of them lasts.
constexpr int kMostSkipped = 10;

/// The thread that helps MPI.
class Helper {
 public:
  void start() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // the program's signals are not for it
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

  /// Both sides write first and then read, in one order for all threads: either the helper sees that nobody is
  /// blocked, or the caller sees the helper and waits for its turn to end.
  void leave() {
    --blocked_;
    if (is_helping_) const std::lock_guard lock(helping_);
  }

 private:
  void run() {
    int idle = 0;
    while (!stopped_) {
      const bool has_helped = help();
      idle = has_helped ? 0 : idle + 1;
      if (idle > kPatience) {
        sleep();
        idle = 0;
      }
      std::this_thread::sleep_for(has_helped ? kBetweenTurns : kBetweenLooks);
    }
  }

  bool help() {
    if (blocked_ == 0 || isNew()) return false;
    const std::lock_guard lock(helping_);
    is_helping_ = true;
    const bool is_needed = blocked_ > 0;
    for (int turn = 0; is_needed && turn < kTurns; ++turn)
      opal_progress();
    is_helping_ = false;
    return is_needed;
  }

  /// Whether the call that somebody is in, if only one is, began after the last look.
  bool isNew() {
    const std::uint64_t entered = entered_.load(std::memory_order_relaxed);
    const bool may_skip = entered != seen_ && blocked_ == 1 && skipped_ < kMostSkipped;
    seen_ = entered;
    skipped_ = may_skip ? skipped_ + 1 : 0;
    return may_skip;
  }

  void sleep() {
    std::unique_lock lock(sleeping_);
    is_asleep_ = true;
    woken_.wait(lock, [this] { return blocked_ > 0 || stopped_; });
    is_asleep_ = false;
  }

  void wake() {
    const std::lock_guard lock(sleeping_);
    woken_.notify_all();
  }

  std::thread thread_;
  std::atomic<bool> stopped_{true};
  std::atomic<int> blocked_{0}; ///< Threads in calls of Gossamer.
  /// Calls so far. Two threads that enter at a time may count as one.
  std::atomic<std::uint64_t> entered_{0};
  std::uint64_t seen_ = 0; ///< entered_ at the helper's last look.
  int skipped_ = 0;        ///< Looks in a row at which a call was left alone.
  std::mutex helping_;
  std::atomic<bool> is_helping_{false}; ///< The helper is in MPI, or about to look whether it may be.
  std::mutex sleeping_;
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

Blocked::Blocked() { helper().enter(); }
Blocked::~Blocked() { helper().leave(); }

} // namespace goss::interposer
