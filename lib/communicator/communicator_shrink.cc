// goss_comm_shrink: the ranks that are left agree on who they are (docs/shrink.md) and make a communicator.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "call/tag.h"
#include "communicator/communicator.h"
#include "world/world.h"

namespace goss {

/// Waits for the agreement; does nothing itself but say again what may have come too early.
class Communicator::ShrinkCall final : public Operation {
 public:
  explicit ShrinkCall(Communicator& owner) : Operation(owner.operationHost(), Failure::alone), communicator_(owner) {}
  void startOnLoop() override {}
  void advanceOnLoop() override {}
  void withdrawOnLoop() override {}
  void remindOnLoop() override { communicator_.tellShrinkOnLoop(waitingForRanks()); }
  [[nodiscard]] bool outlivesFailure() const override { return true; }
  [[nodiscard]] std::string describe() const override { return "goss_comm_shrink"; }
  [[nodiscard]] std::vector<int> waitingForRanks() const override {
    const Agreement* agreement = communicator_.shrinking_.agreement.get();
    return agreement != nullptr ? agreement->awaited() : std::vector<int>();
  }

 private:
  Communicator& communicator_;
};

Result<std::unique_ptr<Communicator>> Communicator::shrink(std::int64_t timeout_ms) {
  ShrinkDecision decision;
  Origins origins;
  {
    auto lock = engine().enter();
    const BlockedCallGuard inside(blocked_calls_, lock);
    // Threads that shrink the same communicator take turns, as in any order of collectives.
    engine().driveUntil(lock, [this] { return shrinking_.waiting == nullptr || blocked_calls_.isClosing(); });
    if (blocked_calls_.isClosing()) return failure_;
    origins = {world_, ranks_, rank_};
    // Others may have gone on by what this rank has agreed to: it must not agree to anything else.
    auto last = shrinking_.decisions.find(shrinking_.attempt - 1);
    const bool binds = last != shrinking_.decisions.end() && (!last->second.goes_on || !last->second.delivered);
    if (!binds) {
      const std::uint64_t attempt = shrinking_.attempt;
      if (Status status = awaitShrink(lock, timeout_ms); !status.isOk()) return status;
      last = shrinking_.decisions.find(attempt);
    }
    last->second.delivered = true;
    decision = last->second;
  }
  return derive(origins, decision);
}

/// Returns when the attempt that is going on, or comes next, has ended.
Status Communicator::awaitShrink(Engine::Lock& lock, std::int64_t timeout_ms) {
  ShrinkCall call(*this);
  call.timeout_ms = timeout_ms > 0 ? timeout_ms : defaultTimeoutMs();
  failOnLoop(Status::error(GOSS_ERR_ABORTED, fmt::format("{} shrinks the communicator", nameOf(rank_)),
                           ErrorScope::communicator),
             Origin::elsewhere);
  call.sequence = shrinking_.attempt;
  if (Status status = startOnLoop(call); !status.isOk()) return status;
  shrinking_.waiting = &call;
  beginShrinkOnLoop();
  engine().driveUntil(lock, [&] { return call.state() == Operation::State::complete; });
  shrinking_.waiting = nullptr;
  engine().notify(lock);
  return call.status();
}

void Communicator::beginShrinkOnLoop() {
  if (shrinking_.agreement == nullptr) {
    shrinking_.agreement =
        std::make_unique<Agreement>(rank_, size(), [this, raised = 0U](std::uint32_t wanted) mutable {
          const std::uint32_t number = world_->contextsOnLoop().reserve(wanted, context_, raised);
          // Not when it was free: many ranks tell many numbers, and there are only kMaxContext to give.
          if (number != wanted) ++raised;
          return number;
        });
    for (const auto& [rank, view] : shrinking_.early)
      shrinking_.agreement->hear(rank, view);
    for (const auto& [rank, decision] : shrinking_.early_decisions)
      shrinking_.agreement->hearDecision(rank, decision);
    shrinking_.early.clear();
    shrinking_.early_decisions.clear();
  }
  for (int rank = 0; rank < size(); ++rank) {
    if (rank != rank_ && mesh().isLost(worldRank(rank)))
      shrinking_.agreement->accuse(rank, mesh().hasEnded(worldRank(rank)));
  }
  settleShrinkOnLoop();
}

/// Tells the others what is new, and ends the attempt when it is settled who goes on.
void Communicator::settleShrinkOnLoop() {
  Agreement& agreement = *shrinking_.agreement;
  std::vector<int> others;
  for (int rank = 0; rank < size(); ++rank)
    others.push_back(rank);
  std::erase(others, rank_);
  // The last view too: those who have not decided need it.
  if (agreement.takeChanged()) tellViewOnLoop(others);
  if (!agreement.decision().has_value()) return;
  if (shrinking_.decisions.try_emplace(shrinking_.attempt, ShrinkDecision{*agreement.decision()}).second) {
    for (const int rank : others)
      tellDecisionOnLoop(rank, shrinking_.attempt);
  }
  if (!agreement.isComplete()) return;
  ShrinkDecision& decision = shrinking_.decisions.at(shrinking_.attempt++);
  decision.goes_on = agreement.goesOn();
  const std::vector<bool> agreed = agreement.agreed();
  for (int rank = 0; rank < size(); ++rank)
    if (agreed[static_cast<std::size_t>(rank)]) decision.agreed.push_back(rank);
  shrinking_.agreement.reset();
  if (shrinking_.waiting != nullptr) completeOnLoop(*shrinking_.waiting, Status::ok());
}

void Communicator::tellShrinkOnLoop(const std::vector<int>& ranks) {
  if (!shrinking_.decisions.contains(shrinking_.attempt)) return tellViewOnLoop(ranks);
  for (const int rank : ranks)
    tellDecisionOnLoop(rank, shrinking_.attempt);
}

void Communicator::tellViewOnLoop(const std::vector<int>& ranks) {
  if (shrinking_.agreement == nullptr) return;
  ControlMessage message;
  message.type = ControlMessage::Type::view;
  message.context = context_;
  message.operation = shrinking_.attempt;
  message.text = shrinking_.agreement->view().encode();
  if (message.text.size() > ControlMessage::kMaxTextBytes) {
    const Status status = Status::error(
        GOSS_ERR_UNSUPPORTED,
        fmt::format("goss_comm_shrink: {} of {} ranks were lost, more than this version can agree on; start anew",
                    shrinking_.agreement->view().accused.size(), size()),
        ErrorScope::communicator);
    if (shrinking_.waiting != nullptr) completeOnLoop(*shrinking_.waiting, status);
    return;
  }
  for (const int rank : ranks)
    world_->control().sendOnLoop(worldRank(rank), message);
}

void Communicator::tellDecisionOnLoop(int rank, std::uint64_t attempt) {
  const auto decided = shrinking_.decisions.find(attempt);
  if (decided == shrinking_.decisions.end()) return;
  ControlMessage message;
  message.type = ControlMessage::Type::agreed;
  message.context = context_;
  message.operation = attempt;
  message.text = decided->second.view.encode();
  world_->control().sendOnLoop(worldRank(rank), message);
}

void Communicator::handleViewOnLoop(int rank, const ControlMessage& message) {
  // Without a view, its communicator is destroyed; and it has gone on, or not.
  const bool left = message.text.empty();
  const bool goes_on = left && message.type == ControlMessage::Type::agreed;
  const bool decided = !left && message.type == ControlMessage::Type::agreed;
  if (message.operation != shrinking_.attempt) {
    // A rank that is ahead says it again; one that is behind needs our decision, unless it has left.
    if (!decided && !left && message.operation < shrinking_.attempt) tellDecisionOnLoop(rank, message.operation);
    return;
  }
  AgreementView view;
  if (left) {
    view.accuse(rank, rank, !goes_on, size());
  } else {
    Result<AgreementView> read = AgreementView::decode(message.text, size());
    if (!read.isOk()) return world_->log().warn(fmt::format("{} sent {}", nameOf(rank), read.status().text()));
    view = read.take();
  }
  if (shrinking_.agreement == nullptr) {
    (decided ? shrinking_.early_decisions : shrinking_.early)[rank] = view;
    return;
  }
  if (decided) {
    shrinking_.agreement->hearDecision(rank, view);
  } else {
    if (!left) tellDecisionOnLoop(rank, shrinking_.attempt); // Once there is one.
    shrinking_.agreement->hear(rank, view);
  }
  settleShrinkOnLoop();
}

void Communicator::accuseOnLoop(int rank) {
  if (shrinking_.agreement == nullptr) return;
  shrinking_.agreement->accuse(rank, mesh().hasEnded(worldRank(rank)));
  settleShrinkOnLoop();
}

bool Communicator::goesOnOnLoop() const {
  return std::ranges::any_of(shrinking_.decisions, [](const auto& one) { return one.second.goes_on; });
}

/// Every rank that has this decision comes to the same result, but for those that are left out.
Result<std::unique_ptr<Communicator>> Communicator::derive(const Origins& origins, const ShrinkDecision& decision) {
  std::vector<int> members = remainingRanks(decision.view, static_cast<int>(origins.ranks.size()));
  const auto worldRankOf = [&](int rank) { return origins.ranks[static_cast<std::size_t>(rank)]; };
  if (!std::binary_search(members.begin(), members.end(), origins.rank)) {
    return Status::error(GOSS_ERR_PEER_LOST,
                         fmt::format("goss_comm_shrink: the others ({}) had lost {} and went on without it",
                                     fmt::join(members, ", "), nameOf(origins.rank, worldRankOf(origins.rank))),
                         ErrorScope::communicator, worldRankOf(origins.rank));
  }
  if (!decision.goes_on) {
    return Status::error(
        GOSS_ERR_PEER_LOST,
        fmt::format("goss_comm_shrink: only ranks {} are in reach, and those that are silent may go on "
                    "elsewhere; more than half of {} must be in reach",
                    fmt::join(decision.agreed, ", "), origins.ranks.size()),
        ErrorScope::communicator);
  }
  if (decision.view.context > kMaxContext) {
    return Status::error(GOSS_ERR_RESOURCE,
                         fmt::format("goss_comm_shrink: more than {} communicators were made", kMaxContext));
  }
  for (int& member : members)
    member = worldRankOf(member);
  return std::make_unique<Communicator>(origins.world, decision.view.context, std::move(members));
}

} // namespace goss
