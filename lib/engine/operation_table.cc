#include "engine/operation_table.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "platform/clock.h"

namespace goss {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstProbe(250);
/// A hundred years: a later time would overflow the clock.
constexpr milliseconds kLongestTimeout(std::chrono::hours(24 * 36525));
constexpr milliseconds kPause(1);

} // namespace

OperationTable::OperationTable(Engine& engine, OperationHost& host)
    : engine_(engine), host_(host), blocked_calls_(engine) {
  counters_.size = sizeof counters_;
}

Status OperationTable::startOnLoop(Operation& operation) {
  if (!async_error_.isOk() && !operation.outlivesFailure()) return async_error_;
  const bool alone = operation.failsAlone();
  if (!alone) {
    if (Status status = operation.mayStartOnLoop(); !status.isOk()) return status;
  }
  engine_.startUnpostedOnLoop(); // Keeps posting order.
  operation.state_ = Operation::State::active;
  if (!operation.status_.isOk()) operation.status_ = Status::ok();
  operation.timed_ = !alone || message_time_.isDue();
  if (alone) message_time_.skip();
  operation.started_ = operation.timed_ ? Clock::now() : platform::roughNow();
  const milliseconds timeout = std::min(milliseconds(operation.timeout_ms), kLongestTimeout);
  operation.deadline_ = operation.started_ + timeout;
  if (!operation.timed_) operation.deadline_ += platform::kRoughClock;
  operation.next_probe_ = operation.started_ + std::min(kFirstProbe, timeout / 4);
  if (!alone && !operation.numbered_) operation.numberOnLoop(history_);
  operation.numbered_ = false;
  engine_.activateOnLoop(operation);
  ActiveOperations::failIfShort(operation, [&operation]() GOSS_ON_LOOP { operation.startOnLoop(); });
  return Status::ok();
}

Status OperationTable::launchOnLoop(Operation& operation) {
  operation.signalled_ = signals();
  Status status = startOnLoop(operation);
  if (status.isOk()) {
    engine_.startedOnLoop(operation);
  } else {
    operation.signalled_ = false;
  }
  return status;
}

Status OperationTable::run(Engine::Lock& lock, Operation& operation) {
  const BlockedCallGuard inside(blocked_calls_, lock);
  if (Status status = startOnLoop(operation); !status.isOk()) return status;
  const auto is_complete = [&operation] { return operation.state() == Operation::State::complete; };
  while (!is_complete()) { // A transport may throw, too; then the operation may have to end.
    ActiveOperations::failIfShort(operation, [&]() GOSS_ON_LOOP { engine_.driveUntil(lock, is_complete); });
  }
  return operation.status();
}

Status OperationTable::startPartOnLoop(Operation& part, Operation& parent) {
  part.parent_ = &parent;
  return startOnLoop(part);
}

Status OperationTable::startPhaseOnLoop(Operation& phase, Operation& parent, std::uint64_t place) {
  phase.sequence = place;
  phase.numbered_ = true;
  history_.replace(place, *phase.envelope()); // Unless the number has become a later operation's.
  return startPartOnLoop(phase, parent);
}

Status OperationTable::collectOnLoop(Operation& operation, goss_message* message) {
  if (operation.state_ == Operation::State::inactive) return Status::ok();
  if (operation.signalled_) unsignal(operation);
  if (!operation.isAlwaysComplete()) operation.state_ = Operation::State::inactive;
  if (message != nullptr && operation.status_.isOk()) *message = operation.message;
  return operation.status_;
}

void OperationTable::completeOnLoop(Operation& operation, const Status& status) {
  if (operation.state_ != Operation::State::active) return;
  operation.state_ = Operation::State::complete;
  if (!status.isOk() || !operation.status_.isOk()) operation.status_ = status; // In the common case both are ok.
  engine_.deactivateOnLoop(operation);
  if (operation.signalled_) signal_->add();
  if (operation.parent_ != nullptr) { // The failure of a communicator fails the parent by itself.
    const bool advances = status.isOk() || operation.failsAlone();
    if (advances && operation.parent_->state_ == Operation::State::active)
      engine_.active().markDirty(*operation.parent_);
    return;
  }
  if (status.isOk()) {
    if (!operation.timed_) return count(operation.payload_bytes, message_time_.last());
    const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - operation.started_);
    if (operation.failsAlone()) message_time_.set(elapsed);
    count(operation.payload_bytes, elapsed);
  } else {
    ++counters_.failures;
  }
}

void OperationTable::endOnLoop(Operation& operation, const Status& status) {
  if (operation.ending_) return; // The first error stays.
  operation.withdrawOnLoop();
  if (operation.state_ != Operation::State::active) return;
  if (operation.tryLeaveOnLoop()) return completeOnLoop(operation, status);
  engine_.active().keepEnding(operation,
                              [this, &operation, status]() GOSS_ON_LOOP { completeOnLoop(operation, status); });
}

void OperationTable::forEachActiveOnLoop(const std::function<void(Operation&)>& visit) {
  engine_.active().forEach([&](Operation& operation) {
    if (&operation.host() == &host_) visit(operation);
  });
}

Operation* OperationTable::handOut(std::unique_ptr<Operation> operation) {
  operation->handed_out_at_ = handed_out_.size();
  handed_out_.push_back(operation.get());
  return operation.release();
}

std::unique_ptr<Operation> OperationTable::takeBack(Operation& operation) {
  if (operation.signalled_) unsignal(operation);
  handed_out_[operation.handed_out_at_] = handed_out_.back();
  handed_out_.back()->handed_out_at_ = operation.handed_out_at_;
  handed_out_.pop_back();
  return std::unique_ptr<Operation>(&operation);
}

void OperationTable::retire(std::unique_ptr<Operation> operation) {
  freeRetired();
  if (!operation->tryLeaveOnLoop()) retired_.push_back(std::move(operation));
}

void OperationTable::freeRetired() {
  std::erase_if(retired_, [](const auto& one) GOSS_ON_LOOP { return one->tryLeaveOnLoop(); });
}

void OperationTable::freeHandedOut(Engine::Lock& lock) {
  for (Operation* operation : std::exchange(handed_out_, {}))
    retire(std::unique_ptr<Operation>(operation));
  for (const auto end = Clock::now() + ActiveOperations::kLongestEnd; !retired_.empty() && Clock::now() < end;
       freeRetired()) {
    lock.unlock(); // The driver may wait for gates that the loop opens.
    std::this_thread::sleep_for(kPause);
    lock.lock();
  }
  std::vector<std::unique_ptr<Operation>> busy = std::exchange(retired_, {});
  lock.unlock();
  busy.clear();
  lock.lock();
}

Result<int> OperationTable::eventFd() {
  if (signal_ == nullptr) {
    auto made = CompletionSignal::create();
    if (!made.isOk()) return made.status();
    signal_ = made.take();
    if (!async_error_.isOk()) signal_->stayRaised();
  }
  return signal_->fd();
}

void OperationTable::unsignal(Operation& operation) {
  if (!operation.signalled_) return;
  operation.signalled_ = false;
  if (operation.state() == Operation::State::complete) signal_->remove();
}

} // namespace goss
