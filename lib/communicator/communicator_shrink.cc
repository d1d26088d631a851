// goss_comm_shrink: waits until the ranks that are left have agreed on who they are, and makes their communicator.
#include <fmt/format.h>

#include "communicator/communicator.h"
#include "world/world.h"

namespace goss {

/// Waits for the agreement; does nothing itself but say again what may have come too early.
class Communicator::ShrinkCall final : public Operation {
 public:
  ShrinkCall(OperationHost& owner, Shrink& shrink) : Operation(owner, Failure::alone), shrink_(shrink) {}
  void startOnLoop() override {}
  void advanceOnLoop() override {}
  void withdrawOnLoop() override {}
  void remindOnLoop() override { shrink_.remind(); }
  [[nodiscard]] bool outlivesFailure() const override { return true; }
  [[nodiscard]] std::string describe() const override { return "goss_comm_shrink"; }
  [[nodiscard]] std::vector<int> waitingForRanks() const override { return shrink_.awaited(); }

 private:
  Shrink& shrink_;
};

Shrink::Hooks Communicator::shrinkHooks() {
  return {[this](std::uint32_t wanted, unsigned raised) {
            return world_->contextsOnLoop().reserve(wanted, context_, raised);
          },
          [this](const Status& status) {
            if (shrink_call_ != nullptr) completeOnLoop(*shrink_call_, status);
          }};
}

Result<std::unique_ptr<Communicator>> Communicator::shrink(std::int64_t timeout_ms) {
  std::shared_ptr<World> world; // A copy, because this communicator may go meanwhile.
  Result<Shrink::Survivors> survivors = Shrink::Survivors();
  {
    auto lock = engine().enter();
    const BlockedCallGuard inside(blocked_calls_, lock);
    // Threads that shrink the same communicator take turns, as in any order of collectives.
    engine().driveUntil(lock, [this] { return shrink_call_ == nullptr || blocked_calls_.isClosing(); });
    if (blocked_calls_.isClosing()) return failure_;
    world = world_;
    if (!shrink_.isBound()) {
      if (Status status = awaitShrink(lock, timeout_ms); !status.isOk()) return status;
    }
    survivors = shrink_.outcome();
  }
  if (!survivors.isOk()) return survivors.status();
  return std::make_unique<Communicator>(world, survivors.value().context, std::move(survivors.value().world_ranks));
}

/// Returns when the attempt that is going on, or comes next, has ended.
Status Communicator::awaitShrink(Engine::Lock& lock, std::int64_t timeout_ms) {
  ShrinkCall call(*this, shrink_);
  call.timeout_ms = timeout_ms > 0 ? timeout_ms : defaultTimeoutMs();
  failOnLoop(Status::error(GOSS_ERR_ABORTED, fmt::format("{} shrinks the communicator", group_.nameOf(rank())),
                           ErrorScope::communicator),
             Origin::elsewhere);
  call.sequence = shrink_.attempt();
  if (Status status = startOnLoop(call); !status.isOk()) return status;
  shrink_call_ = &call;
  shrink_.begin();
  engine().driveUntil(lock, [&] { return call.state() == Operation::State::complete; });
  shrink_call_ = nullptr;
  engine().notify(lock);
  return call.status();
}

} // namespace goss
