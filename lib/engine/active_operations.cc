#include "engine/active_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace goss {

namespace {

using Clock = std::chrono::steady_clock;

/// Timers (deadlines, probes) are checked this often, so expiry is late by at most this much.
constexpr std::chrono::milliseconds kTimerTick(10);

} // namespace

void ActiveOperations::failForMemory(Operation& operation) {
  operation.host().failed(operation,
                          Status::error(GOSS_ERR_RESOURCE, fmt::format("{}: out of memory", operation.describe())));
}

void ActiveOperations::remove(Operation& operation) {
  unmarkDirty(operation);
  stopPolling(operation);
  if (operation.active_previous_ != nullptr) operation.active_previous_->active_next_ = operation.active_next_;
  if (operation.active_next_ != nullptr) operation.active_next_->active_previous_ = operation.active_previous_;
  if (first_ == &operation) first_ = operation.active_next_;
  operation.active_next_ = operation.active_previous_ = nullptr;
}

void ActiveOperations::forEach(const std::function<void(Operation&)>& visit) const {
  std::vector<Operation*> operations;
  for (Operation* at = first_; at != nullptr; at = at->active_next_)
    operations.push_back(at);
  for (Operation* operation : operations) {
    // An earlier visit may have completed it; it still exists, because its owner needs this lock to free it.
    if (operation->state() == Operation::State::active) visit(*operation);
  }
}

void ActiveOperations::unmarkDirty(Operation& operation) {
  if (!operation.dirty_) return;
  Operation* previous = nullptr;
  for (Operation* at = dirty_first_; at != &operation; at = at->dirty_next_)
    previous = at;
  (previous != nullptr ? previous->dirty_next_ : dirty_first_) = operation.dirty_next_;
  if (dirty_last_ == &operation) dirty_last_ = previous;
  operation.dirty_next_ = nullptr;
  operation.dirty_ = false;
}

void ActiveOperations::advanceDirty() {
  Operation* operation = dirty_first_;
  unmarkDirty(*operation);
  if (operation->ending_) return;
  failIfShort(*operation, [operation]() GOSS_ON_LOOP { operation->advanceOnLoop(); });
}

void ActiveOperations::keepPolling(Operation& operation) {
  if (operation.polled_ || operation.ending_) return;
  operation.polled_ = true;
  polled_.push_back(&operation);
}

void ActiveOperations::stopPolling(Operation& operation) {
  if (!operation.polled_) return;
  operation.polled_ = false;
  std::erase(polled_, &operation);
}

void ActiveOperations::keepEnding(Operation& operation, std::function<void()> complete) {
  ending_.push_back({&operation, std::move(complete)}); // First, because it may throw.
  stopPolling(operation);
  operation.ending_ = true;
  operation.deadline_ = Clock::now() + kLongestEnd;
}

bool ActiveOperations::pollEnding() {
  return std::erase_if(ending_, [](const Ending& one) GOSS_ON_LOOP {
           Operation& operation = *one.operation;
           if (!operation.tryLeaveOnLoop() && Clock::now() < operation.deadline_) return false;
           operation.ending_ = false;
           one.complete();
           return true;
         }) > 0;
}

bool ActiveOperations::poll() {
  bool moved = pollEnding();
  for (std::size_t i = 0; i < polled_.size();) {
    Operation* operation = polled_[i];
    failIfShort(*operation, [&]() GOSS_ON_LOOP { moved = operation->pollOnLoop() || moved; });
    if (i < polled_.size() && polled_[i] == operation) ++i; // The operation may have left the list, and others with it.
  }
  return moved;
}

void ActiveOperations::checkTimers() {
  const TimePoint now = Clock::now();
  if (now < next_timer_check_) return;
  next_timer_check_ = now + kTimerTick;
  forEach([&](Operation& operation) GOSS_ON_LOOP {
    if (operation.ending_) return;
    if (now >= operation.deadline_) {
      operation.host().expired(operation);
    } else if (now >= operation.next_probe_) {
      operation.host().probeDue(operation, now);
    }
  });
}

int ActiveOperations::millisecondsToNextTimer() const {
  TimePoint next = TimePoint::max();
  for (Operation* at = first_; at != nullptr; at = at->active_next_) {
    next = std::min({next, at->deadline_, at->next_probe_});
  }
  if (next == TimePoint::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60000));
}

} // namespace goss
