#include "engine/engine.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "gossamer/board.h"
#include "mesh/mesh.h"

namespace goss {

namespace {

using Clock = std::chrono::steady_clock;

/// Timers (deadlines, probes) are looked at this often; expiry is late by at most this much.
constexpr std::chrono::milliseconds kTimerTick(10);
/// While messages come and go the progress thread looks so often whether they go on without it.
constexpr std::chrono::milliseconds kNap(1);
constexpr int kTurnsBetweenClockReads = 64;
constexpr int kYieldsBetweenClockReads = 8;
/// A sleeper may be woken onto the processor of the rank that it waits for. Unless it lets that one run, each spins in
/// turn until it sleeps, and as neither is ever kept waiting for long, the system sees no reason to part them. Seen
/// where another program has one processor of two: 127 us for each message.
constexpr std::chrono::milliseconds kYieldsAfterSleep(1);

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
  if (!polled_.empty() && pollOnLoop()) moved = true;
  while (advanceDirtyOnLoop())
    moved = true;
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
    // The rest of a turn, which seldom has anything to do, can wait when this was it.
    if (mesh_->progressOnLoop() && done) return;
    finishTurnOnLoop();
    if (done || entering_.load(std::memory_order_relaxed) != 0) return;
    if (oversubscribed_) ::sched_yield();
  }
}

bool Engine::advanceDirtyOnLoop() {
  Operation* operation = dirty_first_;
  if (operation == nullptr) return false;
  unmarkDirtyOnLoop(*operation);
  operation->advanceOnLoop();
  return true;
}

void Engine::markDirtyOnLoop(Operation& operation) {
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

void Engine::unmarkDirtyOnLoop(Operation& operation) {
  if (!operation.dirty_) return;
  Operation* previous = nullptr;
  for (Operation* at = dirty_first_; at != &operation; at = at->dirty_next_)
    previous = at;
  (previous != nullptr ? previous->dirty_next_ : dirty_first_) = operation.dirty_next_;
  if (dirty_last_ == &operation) dirty_last_ = previous;
  operation.dirty_next_ = nullptr;
  operation.dirty_ = false;
}

void Engine::keepPollingOnLoop(Operation& operation) {
  if (operation.polled_) return;
  operation.polled_ = true;
  polled_.push_back(&operation);
}

bool Engine::pollOnLoop() {
  bool moved = false;
  for (std::size_t i = 0; i < polled_.size();) {
    Operation* operation = polled_[i];
    if (operation->pollOnLoop()) moved = true;
    if (i < polled_.size() && polled_[i] == operation) ++i; // It may have completed, and others with it.
  }
  return moved;
}

void Engine::activateOnLoop(Operation& operation) {
  wakeSleeper(); // It does not know this deadline, and a transport may need a turn for what is posted now.
  if (!operation.failsAlone()) ++collectives_;
  operation.active_previous_ = nullptr;
  operation.active_next_ = active_;
  if (active_ != nullptr) active_->active_previous_ = &operation;
  active_ = &operation;
}

void Engine::deactivateOnLoop(Operation& operation) {
  if (!operation.failsAlone()) --collectives_;
  unmarkDirtyOnLoop(operation);
  if (operation.polled_) {
    operation.polled_ = false;
    std::erase(polled_, &operation);
  }
  if (operation.active_previous_ != nullptr) operation.active_previous_->active_next_ = operation.active_next_;
  if (operation.active_next_ != nullptr) operation.active_next_->active_previous_ = operation.active_previous_;
  if (active_ == &operation) active_ = operation.active_next_;
  operation.active_next_ = operation.active_previous_ = nullptr;
  // Whoever completed it, by whatever way: the thread that waits for it may be any of those that wait or sleep.
  wakeWaiters();
  wakeSleeper();
}

void Engine::forEachActiveOnLoop(const std::function<void(Operation&)>& visit) {
  std::vector<Operation*> operations;
  for (Operation* at = active_; at != nullptr; at = at->active_next_)
    operations.push_back(at);
  for (Operation* operation : operations) {
    // An earlier visit may have completed it; it is still alive, its owner needs our lock to free it.
    if (operation->state() == Operation::State::active) visit(*operation);
  }
}

void Engine::checkTimersOnLoop() {
  const TimePoint now = Clock::now();
  if (now < next_timer_check_) return;
  next_timer_check_ = now + kTimerTick;
  forEachActiveOnLoop([&](Operation& operation) {
    if (now >= operation.deadline_) {
      operation.host().expired(operation);
    } else if (now >= operation.next_probe_) {
      operation.host().probeDue(operation, now);
    }
  });
}

int Engine::millisecondsToNextTimer() const {
  TimePoint next = TimePoint::max();
  for (Operation* at = active_; at != nullptr; at = at->active_next_) {
    next = std::min({next, at->deadline_, at->next_probe_});
  }
  if (next == TimePoint::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60000));
}

void Engine::driveUntil(Lock& lock, const std::function<bool()>& done) {
  while (!done()) {
    if (driving_) {
      if (idle_driver_) wakeSleeper(); // The progress thread lets us drive.
      ++waiters_;
      changed_.wait(lock);
      --waiters_;
      woken_ = std::max(0, woken_ - 1);
      continue;
    }
    driving_ = true;
    drive(lock, done);
    driving_ = false;
    if (waiters_ > 0 || active_ != nullptr) {
      callDriverOnLoop();
    } else if (servesOthers()) {
      changed_.notify_all();
    }
  }
}

/// Somebody else is to drive what is active.
void Engine::callDriverOnLoop() {
  if (waiters_ == 0 && collectives_ == 0 && napping_ && !unattended_) return;
  changed_.notify_all();
}

bool Engine::servesOthers() const { return mesh_ != nullptr && mesh_->servesOthers(); }

/// Whether the progress thread may leave it at that for a while: other threads drive, or are expected to.
bool Engine::mayWait() const {
  if (driving_ || waiters_ > 0) return true;
  if (servesOthers()) return false;
  return active_ == nullptr || (collectives_ == 0 && messages_ != messages_seen_ && !unattended_);
}

void Engine::drive(Lock& lock, const std::function<bool()>& done) {
  int turns = 0;
  int idle_turns = 0;
  TimePoint spin_end{};
  while (!done()) {
    const bool moved = turnOnLoop();
    letOthersIn(lock);
    // Also on a link that never rests: what others wait for has deadlines. What codecs compute makes turns long.
    if (++turns % kTurnsBetweenClockReads == 0 || (moved && !polled_.empty())) checkTimersOnLoop();
    if (moved) {
      idle_turns = 0;
      continue;
    }
    ++idle_turns;
    if (oversubscribed_) ::sched_yield();
    const int look = spin_us_ == 0 ? 1 : oversubscribed_ ? kYieldsBetweenClockReads : kTurnsBetweenClockReads;
    if (idle_turns % look != 0) continue;
    const TimePoint now = Clock::now();
    if (idle_turns == look) spin_end = now + std::chrono::microseconds(spin_us_);
    if (!oversubscribed_ && now < yields_until_) ::sched_yield();
    if (now < spin_end || done()) continue;
    sleep(lock, -1);
    yields_until_ = Clock::now() + kYieldsAfterSleep;
    checkTimersOnLoop();
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
    // Nobody is inside: answer probes and notice lost peers even while the application computes.
    if (!stopped_) turnOnce(lock);
    return;
  }
  driving_ = idle_driver_ = true;
  do {
    checkTimersOnLoop();
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
  checkTimersOnLoop();
}

void Engine::sleep(Lock& lock, int longest_ms) {
  if (dirty_first_ != nullptr) return; // A thread that was let in has left work.
  if (mesh_ != nullptr && !mesh_->prepareToSleepOnLoop()) return;
  if (pollOnLoop() || dirty_first_ != nullptr) { // The others were told that we sleep only now.
    if (mesh_ != nullptr) mesh_->sleepEndedOnLoop();
    return;
  }
  int timeout_ms = millisecondsToNextTimer();
  const bool polls = !polled_.empty();
  if (longest_ms >= 0) timeout_ms = timeout_ms < 0 ? longest_ms : std::min(timeout_ms, longest_ms);
  std::vector<pollfd> fds{{wake_fd_.get(), POLLIN, 0}};
  if (mesh_ != nullptr) mesh_->appendPollFds(fds);
  // A board may have been written while we looked: gossamer/board.h.
  const int grace_ms = static_cast<int>(kBoardGrace.count());
  const bool brief = polls && (timeout_ms < 0 || timeout_ms > grace_ms);
  sleeping_ = true;
  lock.unlock();
  const int found = ::poll(fds.data(), fds.size(), brief ? grace_ms : timeout_ms);
  lock.lock();
  if (brief && found == 0 && sleeping_ && !pollOnLoop() && dirty_first_ == nullptr) {
    lock.unlock();
    ::poll(fds.data(), fds.size(), timeout_ms);
    lock.lock();
  }
  sleeping_ = false;
  std::uint64_t ignored = 0;
  if ((fds[0].revents & POLLIN) != 0) (void)!::read(wake_fd_.get(), &ignored, sizeof ignored);
  if (mesh_ != nullptr) mesh_->sleepEndedOnLoop();
}

// Whoever stops driving wakes the others while operations are active, so only the first one has to. One that is
// complete already, as a short message mostly is, needs nobody.
void Engine::startedOnLoop(const Operation& operation) {
  const bool in_phases = active_ != nullptr && active_->parent_ == &operation; // Its first phase began after it.
  const Operation* newest = in_phases ? active_->active_next_ : active_;
  if (newest != &operation) return;
  const bool is_message = operation.failsAlone();
  if (is_message) ++messages_;
  const bool alone = collectives_ == (in_phases ? 2 : 1) && !is_message;
  if (operation.active_next_ == nullptr || alone) callDriverOnLoop();
}

void Engine::addUnpostedOnLoop(Operation& operation) {
  ++messages_;
  operation.unposted_ = true;
  operation.active_next_ = nullptr;
  if (unposted_first_ != nullptr) {
    unposted_last_->active_next_ = &operation;
  } else {
    unposted_first_ = &operation;
    if (active_ == nullptr) callDriverOnLoop();
  }
  unposted_last_ = &operation;
}

void Engine::startEachUnpostedOnLoop() {
  // Each would start those behind it first.
  for (Operation* at = std::exchange(unposted_first_, nullptr); at != nullptr;) {
    Operation& operation = *std::exchange(at, at->active_next_);
    operation.unposted_ = false;
    operation.host().startUnposted(operation);
  }
}

void Engine::notify(Lock& lock) {
  (void)lock; // Held: a sleeper that is about to sleep cannot miss this.
  changed_.notify_all();
  wakeSleeper();
}

void Engine::wakeSleeper() {
  if (!sleeping_) return;
  sleeping_ = false; // Once is enough.
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
