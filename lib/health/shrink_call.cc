#include "health/shrink_call.h"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace goss {

/// The operation that waits for the agreement.
class ShrinkCalls::Call final : public Operation {
 public:
  Call(OperationHost& host, Shrink& shrink, const FailureDetector& detector)
      : Operation(host, Failure::alone), shrink_(shrink), detector_(detector) {}
  void startOnLoop() GOSS_ON_LOOP override {}
  void advanceOnLoop() GOSS_ON_LOOP override { shrink_.flush(); }
  void withdrawOnLoop() GOSS_ON_LOOP override {}
  void remindOnLoop() GOSS_ON_LOOP override { shrink_.remind(); }
  [[nodiscard]] bool outlivesFailure() const override { return true; }
  [[nodiscard]] std::string describe() const override { return "goss_comm_shrink"; }
  [[nodiscard]] std::vector<int> waitingForRanks() const GOSS_ON_LOOP override { return shrink_.asked(); }
  [[nodiscard]] std::vector<int> ranksToProbe() const GOSS_ON_LOOP override {
    const TimePoint now = std::chrono::steady_clock::now();
    return shrink_.watched([this, now](int rank) GOSS_ON_LOOP { return detector_.mayHaveStopped(rank, now); });
  }

 private:
  Shrink& shrink_;
  const FailureDetector& detector_;
};

ShrinkCalls::ShrinkCalls(const Peers& peers, OperationTable& operations, const FailureDetector& detector,
                         FailurePropagator& propagator, Reserve reserve)
    : peers_(peers),
      operations_(operations),
      detector_(detector),
      propagator_(propagator),
      shrink_(peers, propagator.log(),
              {std::move(reserve),
               [this](const Status& status) GOSS_ON_LOOP {
                 if (call_ != nullptr) operations_.completeOnLoop(*call_, status);
               },
               [this]() GOSS_ON_LOOP {
                 if (call_ == nullptr || call_->state() != Operation::State::active) return false;
                 operations_.engine().active().markDirty(*call_);
                 return true;
               }}) {}

Result<Shrink::Survivors> ShrinkCalls::run(std::int64_t timeout_ms) {
  Engine& engine = operations_.engine();
  auto lock = engine.enter();
  BlockedCalls& calls = operations_.blockedCalls();
  const BlockedCallGuard inside(calls, lock);
  engine.driveUntil(lock, [&]() GOSS_ON_LOOP { return call_ == nullptr || calls.isClosing(); });
  if (calls.isClosing()) return operations_.asyncError();
  if (!shrink_.isBound()) {
    if (Status status = await(lock, timeout_ms); !status.isOk()) return status;
  }
  return shrink_.outcome();
}

/// Returns when the current or next attempt has ended.
Status ShrinkCalls::await(Engine::Lock& lock, std::int64_t timeout_ms) {
  Call call(operations_.host(), shrink_, detector_);
  call.timeout_ms = timeout_ms;
  const Group& group = peers_.group;
  propagator_.fail(
      Status::error(GOSS_ERR_ABORTED, fmt::format("{} shrinks the communicator", group.nameOf(group.rank())),
                    ErrorScope::communicator),
      FailurePropagator::Origin::elsewhere);
  call.sequence = shrink_.attempt();
  if (Status status = operations_.startOnLoop(call); !status.isOk()) return status;
  call_ = &call;
  shrink_.begin();
  operations_.engine().driveUntil(lock, [&] { return call.state() == Operation::State::complete; });
  call_ = nullptr;
  shrink_.flush(); // The others may go on with what this rank knows, though its call has reached the deadline.
  operations_.engine().notify(lock);
  return call.status();
}

} // namespace goss
