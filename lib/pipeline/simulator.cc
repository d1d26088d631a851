#include "pipeline/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipeline/walk.h"

namespace goss::pipeline {

namespace {

using Kind = ActionKind;

Status checkCosts(const Schedule& schedule, const PipelineCosts& costs) {
  if (costs.stages.size() != 1 && costs.stages.size() != schedule.stage_rank.size()) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("{} stage costs are neither one for all nor one for each of {} stages",
                                     costs.stages.size(), schedule.stage_rank.size()));
  }
  bool is_fine = true;
  const auto look = [&is_fine](double value) { is_fine = is_fine && std::isfinite(value) && value >= 0; };
  for (const StageCost& c : costs.stages) {
    for (const double value : {c.forward_s, c.input_s, c.weight_s, c.recompute_s, c.reduce_s, c.step_s,
                               c.activation_bytes, c.boundary_bytes})
      look(value);
  }
  look(costs.link.latency_s);
  look(costs.link.bandwidth_bytes_per_s);
  if (!is_fine) return Status::error(GOSS_ERR_INVALID_ARGUMENT, "costs must be finite and not negative");
  return Status::ok();
}

class Simulator {
 public:
  Simulator(const Schedule& schedule, const PipelineCosts& costs)
      : s_(schedule),
        costs_(costs),
        places_(stagePlaces(schedule)),
        index_(schedule),
        done_s_(index_.size(), 0.0),
        recomputed_(index_.size(), false),
        now_s_(schedule.per_rank.size(), 0.0),
        held_(schedule.per_rank.size(), 0.0) {
    result_.events.resize(now_s_.size());
    result_.span_s.assign(now_s_.size(), 0.0);
    result_.busy_s.assign(now_s_.size(), 0.0);
    result_.peak_bytes.assign(now_s_.size(), 0.0);
    for (const auto& order : schedule.per_rank) {
      for (const Action& a : order) {
        if (a.kind == Kind::recompute) recomputed_[index_.of(Kind::forward, a.stage, a.micro_batch)] = true;
      }
    }
  }

  Result<Simulation> run() {
    if (Status status = walk(s_, [this](int rank, const Action& a) { visit(static_cast<std::size_t>(rank), a); });
        !status.isOk()) {
      return status;
    }
    for (std::size_t rank = 0; rank < result_.events.size(); ++rank)
      summarise(rank);
    return std::move(result_);
  }

 private:
  [[nodiscard]] const StageCost& cost(int stage) const {
    return costs_.stages[costs_.stages.size() == 1 ? 0 : static_cast<std::size_t>(stage)];
  }
  double& doneAt(Kind kind, int stage, int micro_batch) { return done_s_[index_.of(kind, stage, micro_batch)]; }

  [[nodiscard]] double duration(const Action& a) const {
    const StageCost& c = cost(a.stage);
    switch (a.kind) {
      case Kind::forward:
        return c.forward_s;
      case Kind::backward:
        return c.input_s + c.weight_s;
      case Kind::backwardInput:
        return c.input_s;
      case Kind::backwardWeight:
        return c.weight_s;
      case Kind::recompute:
        return c.recompute_s;
      case Kind::reduce:
        return c.reduce_s;
      default:
        return c.step_s;
    }
  }

  /// Time at which the data that a computation needs from its neighbour stage has arrived; 0 when it needs none.
  double inputsReady(const Action& a) {
    const StagePlace& place = places_[a.stage];
    if (a.kind == Kind::forward && place.previous >= 0) return arrival(a, place.previous, Kind::forward);
    const bool is_backward = a.kind == Kind::backward || a.kind == Kind::backwardInput;
    if (is_backward && place.next >= 0) return arrival(a, place.next, Kind::backward);
    return 0;
  }
  double arrival(const Action& a, int from, Kind kind) {
    const bool is_local = s_.stage_rank[a.stage] == s_.stage_rank[static_cast<std::size_t>(from)];
    if (is_local) return doneAt(kind, from, a.micro_batch);
    return doneAt(kind == Kind::forward ? Kind::recvForward : Kind::recvBackward, a.stage, a.micro_batch);
  }

  void visit(std::size_t rank, const Action& a) {
    if (isRecv(a.kind)) return;
    if (isSend(a.kind)) return send(rank, a);
    const double start = std::max(now_s_[rank], inputsReady(a));
    const double end = start + duration(a);
    now_s_[rank] = end;
    const Kind kind = a.kind == Kind::backwardInput ? Kind::backward : a.kind;
    doneAt(kind, a.stage, a.micro_batch) = end;
    result_.events[rank].push_back({a, start, end});
    result_.makespan_s = std::max(result_.makespan_s, end);
    account(rank, a);
  }

  void send(std::size_t rank, const Action& a) {
    const StagePlace& place = places_[a.stage];
    const bool is_forward = a.kind == Kind::sendForward;
    const int to = is_forward ? place.next : place.previous;
    // A boundary is the input of its later stage, in both directions.
    const double bytes = cost(is_forward ? to : a.stage).boundary_bytes;
    const std::pair<int, int> link(static_cast<int>(rank), s_.stage_rank[static_cast<std::size_t>(to)]);
    const double ready = doneAt(is_forward ? Kind::forward : Kind::backward, a.stage, a.micro_batch);
    const double rate = costs_.link.bandwidth_bytes_per_s;
    double& free = link_free_s_[link];
    free = std::max(free, ready) + (rate > 0 ? bytes / rate : 0);
    doneAt(is_forward ? Kind::recvForward : Kind::recvBackward, to, a.micro_batch) = free + costs_.link.latency_s;
    result_.link_bytes[link] += bytes;
  }

  void account(std::size_t rank, const Action& a) {
    const StageCost& c = cost(a.stage);
    const bool is_recomputed = recomputed_[index_.of(Kind::forward, a.stage, a.micro_batch)];
    double& held = held_[rank];
    if (a.kind == Kind::forward) held += is_recomputed ? c.boundary_bytes : c.activation_bytes;
    if (a.kind == Kind::recompute) held += c.activation_bytes - c.boundary_bytes;
    if (a.kind == Kind::backward || a.kind == Kind::backwardWeight) held -= c.activation_bytes;
    result_.peak_bytes[rank] = std::max(result_.peak_bytes[rank], held);
  }

  void summarise(std::size_t rank) {
    double first = -1;
    double last = 0;
    for (const Event& event : result_.events[rank]) {
      if (!isCompute(event.action.kind)) continue;
      if (first < 0) first = event.start_s;
      last = event.end_s;
      result_.busy_s[rank] += event.end_s - event.start_s;
    }
    result_.span_s[rank] = first < 0 ? 0 : last - first;
    result_.bubble_s = std::max(result_.bubble_s, result_.span_s[rank] - result_.busy_s[rank]);
  }

  const Schedule& s_;
  const PipelineCosts& costs_;
  std::vector<StagePlace> places_;
  ActionIndex index_;
  std::vector<double> done_s_; ///< By action: its end; for receives the arrival; B and I share an entry.
  std::vector<bool> recomputed_;
  std::vector<double> now_s_;
  std::vector<double> held_;
  std::map<std::pair<int, int>, double> link_free_s_;
  Simulation result_;
};

} // namespace

Result<Simulation> simulate(const Schedule& schedule, const PipelineCosts& costs) {
  if (Status status = checkCosts(schedule, costs); !status.isOk()) return status;
  return Simulator(schedule, costs).run();
}

} // namespace goss::pipeline
