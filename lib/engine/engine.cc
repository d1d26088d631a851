#include "engine/engine.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "gossamer/board.h"
#include "mesh/mesh.h"

namespace goss {

namespace {

using Clock = std::chrono::steady_clock;

/// While messages come and go the progress thread checks in this interval whether other threads drive.
constexpr std::chrono::milliseconds kNap(1);
/// How long a thread sleeps before it looks again whether a device is done.
constexpr timespec kDeviceNap{0, 50'000};
constexpr int kTurnsBetweenClockReads = 64;
constexpr int kYieldsBetweenClockReads = 8;
/// The scheduler may wake a thread onto the processor of the rank that it waits for. Unless it yields to that rank,
/// each spins in turn until it sleeps, and because neither waits for long, the scheduler does not move one of them.
/// Seen where another program uses one processor of two: 127 us for each message.
constexpr std::chrono::milliseconds kYieldsAfterSleep(1);
/// A thread that has polled for this long also yields between polls, for the same reason.
constexpr std::chrono::microseconds kLooksWithoutYield(100);

bool isPast(TimePoint limit) { return limit != TimePoint::max() && Clock::now() >= limit; }

/// For poll(): rounded up, and -1 for never.
int millisecondsTo(TimePoint limit) {
  if (limit == TimePoint::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

} // namespace

Engine::Engine(const Config& config) : spin_us_(config.spin_us), wake_fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Engine::~Engine() = default;

Engine::Lock Engine::enterBusy() {
  entering_.fetch_add(1, std::memory_order_relaxed);
  Lock lock(mutex_);
  entering_.fetch_sub(1, std::memory_order_relaxed);
  return lock;
}

Engine::Lock Engine::enterAsHelper() {
  Lock lock = enter();
  mutex_.renounce();
  return lock;
}

void Engine::letOthersIn(Lock& lock) {
  if (entering_.load(std::memory_order_relaxed) == 0 && woken_ == 0) return;
  lock.unlock();
  ::sched_yield();
  lock.lock();
}

bool Engine::turnOnLoop() {
  startUnpostedOnLoop();
  const bool moved = mesh_ != nullptr && mesh_->progressOnLoop();
  return finishTurnOnLoop() || moved;
}

bool Engine::finishTurnOnLoop() {
  bool moved = false;
  if (after_progress_ && after_progress_()) moved = true;
  if (active_.hasPolled() && active_.poll()) moved = true;
  while (active_.hasDirty()) {
    active_.advanceDirty();
    moved = true;
  }
  return moved;
}

bool Engine::yieldOnLoop() {
  if (entering_.load(std::memory_order_relaxed) != 0) return false;
  ::sched_yield();
  return true;
}

bool Engine::turnBrieflyOnLoop() {
  if (driving_ || collectives_ > 0) return false;
  turnOnLoop();
  return true;
}

void Engine::turnUntilOnLoop(const bool& done, int turns) {
  for (int i = 0; i < turns; ++i) {
    // The rest of the turn, which seldom has anything to do, can wait when `done` holds.
    if (mesh_->progressOnLoop() && done) return;
    finishTurnOnLoop();
    if (done || entering_.load(std::memory_order_relaxed) != 0) return;
    if (oversubscribed_) ::sched_yield();
  }
}

void Engine::activateOnLoop(Operation& operation) {
  // The sleeper does not know this deadline, and a transport may need a turn for newly posted operations.
  wakeSleeper();
  if (!operation.failsAlone()) ++collectives_;
  active_.add(operation);
}

void Engine::deactivateOnLoop(Operation& operation) {
  if (!operation.failsAlone()) --collectives_;
  active_.remove(operation);
  // The thread that waits for the operation may be any of those that wait or sleep.
  wakeWaiters();
  wakeSleeper();
}

/// The role of the thread that drives. The thread gives it up also when an exception ends its drive().
class Engine::DriverRole {
 public:
  explicit DriverRole(Engine& engine) GOSS_ON_LOOP : engine_(engine) { engine_.driving_ = true; }
  ~DriverRole() GOSS_ON_LOOP {
    engine_.driving_ = false;
    if (engine_.waiters_ > 0 || !engine_.active_.isEmpty()) {
      engine_.callDriverOnLoop();
    } else if (engine_.servesOthers()) {
      engine_.changed_.notify_all();
    }
  }
  DriverRole(const DriverRole&) = delete;
  DriverRole& operator=(const DriverRole&) = delete;

 private:
  Engine& engine_;
};

bool Engine::driveUntil(Lock& lock, const std::function<bool()>& done, TimePoint limit) {
  bool was_woken = false;
  bool holds = done();
  while (!holds && !isPast(limit)) {
    was_woken = driving_;
    if (driving_) {
      if (idle_driver_) wakeSleeper(); // The progress thread lets this thread drive.
      ++waiters_;
      if (limit == TimePoint::max()) {
        changed_.wait(lock);
      } else {
        first_limit_ = std::min(first_limit_, limit);
        changed_.wait_until(lock, limit);
      }
      --waiters_;
      woken_ = std::max(0, woken_ - 1);
    } else {
      const DriverRole role(*this);
      drive(lock, done, limit);
    }
    holds = done();
  }
  // A driver that left expected this thread to follow it.
  if (was_woken && !driving_ && (waiters_ > 0 || !active_.isEmpty())) callDriverOnLoop();
  return holds;
}

/// Makes another thread drive the active operations.
void Engine::callDriverOnLoop() {
  if (waiters_ == 0 && collectives_ == 0 && napping_ && !unattended_) return;
  changed_.notify_all();
}

bool Engine::servesOthers() const { return mesh_ != nullptr && mesh_->servesOthers(); }

/// Whether the progress thread may wait for a while, because other threads drive, or are expected to.
bool Engine::mayWait() const {
  if (driving_ || waiters_ > 0) return true;
  if (servesOthers()) return false;
  return active_.isEmpty() || (collectives_ == 0 && messages_ != messages_seen_ && !unattended_);
}

/// Drives until done() holds or `limit` is past.
void Engine::drive(Lock& lock, const std::function<bool()>& done, TimePoint limit) {
  int turns = 0;
  int idle_turns = 0;
  TimePoint spin_begin{};
  while (!done()) {
    const bool moved = turnOnLoop();
    letOthersIn(lock);
    // Timers are checked also on a link that is always busy, because other operations have deadlines. Codecs make turns
    // long.
    if (++turns % kTurnsBetweenClockReads == 0 || (moved && active_.hasPolled())) {
      active_.checkTimers();
      if (isPast(limit)) return;
      if (isPast(first_limit_)) { // Woken waiters that have time left set it again.
        first_limit_ = TimePoint::max();
        wakeWaiters();
      }
    }
    if (moved) {
      idle_turns = 0;
      continue;
    }
    ++idle_turns;
    if (oversubscribed_) ::sched_yield();
    const int look = spin_us_ == 0 ? 1 : oversubscribed_ ? kYieldsBetweenClockReads : kTurnsBetweenClockReads;
    if (idle_turns % look != 0) continue;
    const TimePoint now = Clock::now();
    if (idle_turns == look) spin_begin = now;
    if (!oversubscribed_ && (now < yields_until_ || now - spin_begin >= kLooksWithoutYield)) ::sched_yield();
    if (now >= limit) return;
    if (now - spin_begin < std::chrono::microseconds(spin_us_) || done()) continue;
    sleep(lock, millisecondsTo(limit));
    yields_until_ = Clock::now() + kYieldsAfterSleep;
    active_.checkTimers();
    idle_turns = 0;
  }
}

void Engine::driveIdle(Lock& lock, int idle_ms) {
  if (stopped_) return;
  if (mayWait()) {
    napping_ = messages_ != messages_seen_;
    messages_seen_ = messages_;
    changed_.wait_for(lock, napping_ ? kNap : std::chrono::milliseconds(idle_ms));
    napping_ = false;
    // No thread drives: answers probes and notices lost peers even while the application computes.
    if (!stopped_ && !driving_ && mesh_ != nullptr) mesh_->sleepEndedOnLoop();
    if (!stopped_) turnOnce(lock);
    return;
  }
  driving_ = idle_driver_ = true;
  do {
    active_.checkTimers();
    letOthersIn(lock);
  } while (waiters_ == 0 && !stopped_ && turnOnLoop());
  if (waiters_ == 0 && !stopped_) sleep(lock, idle_ms);
  driving_ = idle_driver_ = false;
  if (waiters_ > 0) {
    changed_.notify_all();
  } else {
    turnOnLoop();
  }
}

void Engine::turnOnce(Lock& lock) {
  (void)lock;
  if (driving_) return;
  turnOnLoop();
  active_.checkTimers();
}

void Engine::sleep(Lock& lock, int longest_ms) {
  if (active_.hasDirty()) return; // A thread that held the lock meanwhile has left work.
  if (mesh_ != nullptr && !mesh_->prepareToSleepOnLoop()) return;
  if (active_.poll() || active_.hasDirty()) { // Polls again: until now peers did not know of the sleep.
    if (mesh_ != nullptr) mesh_->sleepEndedOnLoop();
    return;
  }
  int timeout_ms = active_.millisecondsToNextTimer();
  const bool polls = active_.hasPolled();
  if (longest_ms >= 0) timeout_ms = timeout_ms < 0 ? longest_ms : std::min(timeout_ms, longest_ms);
  std::vector<pollfd> fds{{wake_fd_.get(), POLLIN, 0}};
  if (mesh_ != nullptr) mesh_->appendPollFds(fds);
  // A peer may have written its board between the two checks: gossamer/board.h.
  const int grace_ms = static_cast<int>(kBoardGrace.count());
  const bool naps = active_.waitsForDevice();
  const bool brief = polls && !naps && (timeout_ms < 0 || timeout_ms > grace_ms);
  sleeping_ = true;
  lock.unlock();
  const int found = naps ? ::ppoll(fds.data(), fds.size(), &kDeviceNap, nullptr)
                         : ::poll(fds.data(), fds.size(), brief ? grace_ms : timeout_ms);
  lock.lock();
  if (brief && found == 0 && sleeping_ && !active_.poll() && !active_.hasDirty()) {
    lock.unlock();
    ::poll(fds.data(), fds.size(), timeout_ms);
    lock.lock();
  }
  sleeping_ = false;
  std::uint64_t ignored = 0;
  if ((fds[0].revents & POLLIN) != 0) (void)!::read(wake_fd_.get(), &ignored, sizeof ignored);
  if (mesh_ != nullptr) mesh_->sleepEndedOnLoop();
}

// A driver that stops wakes the others while operations are active, so only the first operation has to. An operation
// that is complete already, as short messages mostly are, needs no driver.
void Engine::startedOnLoop(const Operation& operation) {
  const Operation* newest = active_.newest();
  const bool in_parts = newest != nullptr && newest->parent_ == &operation; // Its first part began after it.
  if (in_parts) newest = newest->active_next_;
  if (newest != &operation) return;
  const bool is_message = operation.failsAlone();
  if (is_message) ++messages_;
  const bool alone = collectives_ == (in_parts ? 2 : 1) && !is_message;
  if (operation.active_next_ == nullptr || alone) callDriverOnLoop();
}

void Engine::addUnpostedOnLoop(Operation& operation) {
  ++messages_;
  const bool first = unposted_.isEmpty();
  unposted_.add(operation);
  if (first && active_.isEmpty()) callDriverOnLoop();
}

void Engine::notify(Lock& lock) {
  (void)lock; // A sleeper that is about to sleep cannot miss this, because the lock is held.
  changed_.notify_all();
  wakeSleeper();
}

void Engine::wakeSleeper() {
  if (!sleeping_) return;
  sleeping_ = false; // Waking once is enough.
  const std::uint64_t one = 1;
  (void)!::write(wake_fd_.get(), &one, sizeof one);
}

void Engine::wakeWaiters() {
  if (waiters_ == 0) return;
  changed_.notify_all();
  woken_ = waiters_;
}

void Engine::stop(Lock& lock) {
  stopped_ = true;
  notify(lock);
}

} // namespace goss
