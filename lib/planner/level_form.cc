#include "planner/level_form.h"

#include <algorithm>
#include <cmath>

namespace goss {

namespace {

using schedule::LinkPrice;

constexpr double kRounding = 1e-9;

/// Seconds that a byte takes through a node's port; 0: the node has none.
double portSeconds(const schedule::NodePrice& port) {
  const double up_s = port.up_bytes_per_s > 0 ? 1 / port.up_bytes_per_s : 0;
  const double down_s = port.down_bytes_per_s > 0 ? 1 / port.down_bytes_per_s : 0;
  return std::max(up_s, down_s);
}

} // namespace

bool waitsForReceive(const LinkPrice& price, const CostRound& round, double bytes) {
  const bool eager = price.eager_bytes > 0 && bytes <= price.eager_bytes;
  return round.sums > 0 && !eager;
}

LevelForm::LevelForm(const Levels& levels, const schedule::CpuPrice& cpu)
    : levels_(levels),
      add_s_(cpu.reduce_bytes_per_s > 0 ? 1 / cpu.reduce_bytes_per_s : 0),
      earlier_(levels.nodes.size()) {}

/// From one message of a rank to the next, in a port of its own.
double LevelForm::eachSeconds(const LinkPrice& price, const CostRound& round, double bytes) const {
  const double add_s = round.sums * bytes * add_s_;
  const double flow_s = bytes / price.bandwidth_bytes_per_s;
  if (round.waits && round.messages > 1 && waitsForReceive(price, round, bytes))
    return price.latency_s + flow_s + add_s;
  return flow_s + (round.enters ? 0 : price.overhead_s);
}

LevelForm::Leaving LevelForm::leavingAt(const CostRound& round, const Crossing& crossing, const Levels::Node& node,
                                        double bytes) const {
  if (crossing.messages <= 0) return {};
  const double flow_s = bytes / levels_.between.bandwidth_bytes_per_s;
  const double shared_s = bytes * portSeconds(node.port);
  if (shared_s <= 0) {
    const double port_s = std::max(crossing.of_rank * eachSeconds(levels_.between, round, bytes), flow_s);
    return {port_s, port_s};
  }
  // Flows to other peers overlap in a port that is faster than one of them.
  const double overhead_s = round.enters ? 0 : levels_.between.overhead_s;
  const double all_s = crossing.messages * shared_s;
  const double others = crossing.of_rank > 0 ? crossing.messages / crossing.of_rank - 1 : 0;
  const double alone_s = crossing.of_rank * (shared_s + overhead_s) - overhead_s;
  return {std::max({all_s, alone_s + overhead_s, flow_s}), std::max({all_s - others * shared_s, alone_s, flow_s})};
}

LevelForm::Cost LevelForm::costAt(const CostRound& round, const Crossing& crossing, const Levels::Node& node,
                                  double bytes) const {
  const double add_s = round.sums * bytes * add_s_;
  const auto senderSeconds = [&](const LinkPrice& price) {
    return price.sender_bytes_per_s > 0 && !round.enters ? bytes / price.sender_bytes_per_s + price.overhead_s : 0;
  };
  Cost cost;
  cost.processor_s = round.messages * add_s + crossing.within * senderSeconds(levels_.within) +
                     crossing.of_rank * senderSeconds(levels_.between);
  const double inner_each_s = eachSeconds(levels_.within, round, bytes);
  cost.inner_port_s = crossing.within * inner_each_s;
  const auto [port_s, own_s] = leavingAt(round, crossing, node, bytes);
  cost.port_s = port_s;
  if (!round.waits) {
    cost.path_s = std::max({port_s, cost.inner_port_s, cost.processor_s});
    return cost;
  }
  double inner_path_s = 0;
  if (crossing.within > 0) {
    const double flow_s = bytes / levels_.within.bandwidth_bytes_per_s;
    inner_path_s = levels_.within.latency_s + flow_s + (crossing.within - 1) * inner_each_s;
  }
  const double outer_path_s = crossing.messages > 0 ? levels_.between.latency_s + own_s : 0;
  const double longer_s = std::max(0.0, outer_path_s - inner_path_s);
  cost.path_s = std::max(inner_path_s + crossing.share * longer_s + add_s, cost.processor_s);
  // Each hop of a tree's path passes another rank's port.
  if (round.hops == Hops::tree) cost.port_s *= crossing.share;
  if (crossing.messages > 0 && round.hops != Hops::tree)
    cost.tail_s = cost.path_s >= port_s ? port_s - own_s : levels_.between.latency_s + add_s;
  return cost;
}

bool LevelForm::add(const CostRound& round, const FragmentedRun& run) {
  if (round.hops == Hops::unknown) return false;
  const double bytes = round.part * run.bytes;
  for (const LinkPrice* price : {&levels_.within, &levels_.between}) {
    const bool brief = bytes / price->bandwidth_bytes_per_s < kLatenciesOfTurn * price->latency_s;
    if (round.messages > 1 && brief && waitsForReceive(*price, round, bytes)) return false;
  }
  Cost cost;
  // Paths lead through nodes of all kinds.
  double crosses = 0;
  std::vector<Crossing> crossings;
  for (std::size_t kind = 0; kind < levels_.nodes.size(); ++kind) {
    const Levels::Node& node = levels_.nodes[kind];
    crossings.push_back(crossingOf(round, levels_, node, earlier_[kind]));
    crosses += std::min(1.0, crossings.back().share) * node.count * node.ranks / levels_.size;
  }
  for (std::size_t kind = 0; kind < levels_.nodes.size(); ++kind) {
    Crossing& crossing = crossings[kind];
    crossing.share = crosses;
    const Cost at = costAt(round, crossing, levels_.nodes[kind], bytes);
    cost.path_s = std::max(cost.path_s, at.path_s);
    cost.port_s = std::max(cost.port_s, at.port_s);
    cost.inner_port_s = std::max(cost.inner_port_s, at.inner_port_s);
    cost.processor_s = std::max(cost.processor_s, at.processor_s);
    cost.tail_s = std::max(cost.tail_s, at.tail_s);
    earlier_[kind].messages += crossing.messages;
    earlier_[kind].of_rank += crossing.of_rank;
  }
  const double times = round.times;
  const double busy_s = std::max({cost.port_s, cost.inner_port_s, cost.processor_s});
  const bool stays = cost.port_s <= 0;
  (stays ? inner_path_s_ : outer_path_s_) += times * cost.path_s;
  if (stays) {
    inner_window_s_ += times * std::max(cost.path_s, run.window * cost.inner_port_s);
  } else {
    inner_window_s_ += times * run.window * cost.inner_port_s;
    outer_window_s_ += times * std::max(cost.path_s, run.window * cost.port_s);
  }
  if (crosses < 1 - kRounding && round.waits) crossings_ += times * crosses;
  processor_s_ += times * cost.processor_s;
  inner_port_s_ += times * cost.inner_port_s;
  port_s_ += times * cost.port_s;
  tail_s_ = std::max({tail_s_, cost.tail_s, std::min((run.window - 1) * busy_s, cost.path_s - busy_s)});
  return true;
}

double LevelForm::price_s(const FragmentedRun& run) const {
  const double windows = run.fragments / run.window;
  // A path crosses a boundary as a whole, or not at all.
  const double rest_s = (std::ceil(crossings_ - kRounding) - crossings_) * levels_.between.latency_s;
  const double path_s = inner_path_s_ + outer_path_s_ + rest_s;
  return std::max({windows * path_s, windows * inner_window_s_ + outer_path_s_ + rest_s,
                   windows * outer_window_s_ + inner_path_s_ + rest_s, run.fragments * processor_s_}) +
         std::max(tail_s_, 0.0);
}

double LevelForm::busy_s(const FragmentedRun& run) const {
  return run.fragments * std::max({processor_s_, inner_port_s_, port_s_});
}

} // namespace goss
