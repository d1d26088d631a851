#include "pipeline/walk.h"

#include <fmt/format.h>

namespace goss::pipeline {

namespace {

using Kind = ActionKind;

class Walker {
 public:
  explicit Walker(const Schedule& schedule)
      : schedule_(schedule), places_(stagePlaces(schedule)), index_(schedule), done_(index_.size(), false) {}

  [[nodiscard]] bool isReady(const Action& action) const {
    const StagePlace& place = places_[action.stage];
    switch (action.kind) {
      case Kind::forward:
        return !isLocal(action.stage, place.previous) || isDone(Kind::forward, place.previous, action);
      case Kind::backward:
      case Kind::backwardInput:
        return !isLocal(action.stage, place.next) || isDone(Kind::backward, place.next, action) ||
               isDone(Kind::backwardInput, place.next, action);
      case Kind::recvForward:
        return place.previous >= 0 && isDone(Kind::sendForward, place.previous, action);
      case Kind::recvBackward:
        return place.next >= 0 && isDone(Kind::sendBackward, place.next, action);
      default:
        return true;
    }
  }
  void finish(const Action& action) { done_[index_.of(action.kind, action.stage, action.micro_batch)] = true; }

 private:
  [[nodiscard]] bool isLocal(int stage, int other) const {
    return other >= 0 && schedule_.stage_rank[static_cast<std::size_t>(stage)] ==
                             schedule_.stage_rank[static_cast<std::size_t>(other)];
  }
  [[nodiscard]] bool isDone(Kind kind, int stage, const Action& action) const {
    return done_[index_.of(kind, stage, action.micro_batch)];
  }

  const Schedule& schedule_;
  std::vector<StagePlace> places_;
  ActionIndex index_;
  std::vector<bool> done_;
};

} // namespace

Status walk(const Schedule& schedule, const std::function<void(int rank, const Action& action)>& visit) {
  Walker walker(schedule);
  std::vector<std::size_t> next(schedule.per_rank.size(), 0);
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t rank = 0; rank < next.size(); ++rank) {
      const std::vector<Action>& order = schedule.per_rank[rank];
      while (next[rank] < order.size() && walker.isReady(order[next[rank]])) {
        const Action& action = order[next[rank]++];
        walker.finish(action);
        visit(static_cast<int>(rank), action);
        progress = true;
      }
    }
  }
  for (std::size_t rank = 0; rank < next.size(); ++rank) {
    if (next[rank] == schedule.per_rank[rank].size()) continue;
    return Status::error(
        GOSS_ERR_INVALID_ARGUMENT,
        fmt::format("the schedule deadlocks: rank {} waits for ever at {}, its action {} of {}", rank,
                    toText(schedule.per_rank[rank][next[rank]]), next[rank], schedule.per_rank[rank].size()));
  }
  return Status::ok();
}

} // namespace goss::pipeline
