// Derives sends and receives from the computations.
#include <fmt/format.h>

#include "pipeline/generate.h"
#include "pipeline/walk.h"

namespace goss::pipeline {

namespace {

using Kind = ActionKind;

class MessageAdder {
 public:
  explicit MessageAdder(Schedule& schedule)
      : schedule_(schedule),
        places_(stagePlaces(schedule)),
        index_(schedule),
        arrived_(index_.size(), false),
        next_(schedule.per_rank.size(), 0),
        result_(schedule.per_rank.size()) {}

  Status run() {
    for (bool progress = true; progress;) {
      progress = false;
      // One action of each rank in turn: actions that run at the same time stay close together, and so do the receives.
      for (std::size_t rank = 0; rank < next_.size(); ++rank)
        progress = advance(rank) || progress;
    }
    for (std::size_t rank = 0; rank < next_.size(); ++rank) {
      if (next_[rank] == schedule_.per_rank[rank].size()) continue;
      return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                           fmt::format("the computations wait for each other: rank {} never gets what {} needs", rank,
                                       toText(schedule_.per_rank[rank][next_[rank]])));
    }
    schedule_.per_rank = std::move(result_);
    return Status::ok();
  }

 private:
  bool advance(std::size_t rank) {
    if (next_[rank] == schedule_.per_rank[rank].size()) return false;
    const Action action = schedule_.per_rank[rank][next_[rank]];
    const StagePlace& place = places_[action.stage];
    const bool is_forward = action.kind == Kind::forward;
    const bool is_backward = action.kind == Kind::backward || action.kind == Kind::backwardInput;
    if (is_forward && place.previous >= 0 && !hasArrived(Kind::forward, action)) return false;
    if (is_backward && place.next >= 0 && !hasArrived(Kind::backward, action)) return false;
    ++next_[rank];
    result_[rank].push_back(action);
    if (is_forward && place.next >= 0) deliver(rank, action, place.next, true);
    if (is_backward && place.previous >= 0) deliver(rank, action, place.previous, false);
    return true;
  }
  [[nodiscard]] bool hasArrived(Kind kind, const Action& action) const {
    return arrived_[index_.of(kind, action.stage, action.micro_batch)];
  }
  void deliver(std::size_t rank, const Action& action, int to, bool is_forward) {
    arrived_[index_.of(is_forward ? Kind::forward : Kind::backward, to, action.micro_batch)] = true;
    const auto to_rank = static_cast<std::size_t>(schedule_.stage_rank[static_cast<std::size_t>(to)]);
    if (to_rank == rank) return;
    const Kind send = is_forward ? Kind::sendForward : Kind::sendBackward;
    const Kind recv = is_forward ? Kind::recvForward : Kind::recvBackward;
    result_[rank].push_back({send, action.chain, action.stage, action.micro_batch, 0});
    result_[to_rank].push_back({recv, action.chain, static_cast<std::uint16_t>(to), action.micro_batch, 0});
  }

  Schedule& schedule_;
  std::vector<StagePlace> places_;
  ActionIndex index_;
  /// By (forward or backward, stage, micro-batch): the data that the stage needs from its neighbour.
  std::vector<bool> arrived_;
  std::vector<std::size_t> next_;
  std::vector<std::vector<Action>> result_;
};

} // namespace

Status addMessages(Schedule& schedule) { return MessageAdder(schedule).run(); }

} // namespace goss::pipeline
