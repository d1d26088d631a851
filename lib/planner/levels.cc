#include "planner/levels.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>

namespace goss {

namespace {

using schedule::LinkPrice;
using schedule::Links;

/// Two levels are apart if the outer latency or the inner bandwidth is this many times that of the other level.
constexpr double kApart = 2.25;

/// Nodes of consecutive ranks.
struct Nodes {
  std::vector<int> first; ///< The first rank of each, and the number of all ranks.
  int common = 0;         ///< The largest number that divides the ranks of each.
  int pair = -1;          ///< This rank and the next are in one node; -1: none, or there are no two such nodes.

  [[nodiscard]] const LinkPrice& within(const Links& links) const { return links.price(pair, pair + 1); }
  [[nodiscard]] const LinkPrice& between(const Links& links) const { return links.price(0, first[1]); }
};

Nodes nodesOf(const Links& links) {
  Nodes nodes;
  std::vector<bool> seen(static_cast<std::size_t>(links.nodeCount()));
  for (int rank = 0; rank < links.size(); ++rank) {
    const auto node = static_cast<std::size_t>(links.nodeOf(rank));
    if (rank > 0 && links.nodeOf(rank) == links.nodeOf(rank - 1)) {
      if (nodes.pair < 0) nodes.pair = rank - 1;
      continue;
    }
    if (seen[node]) return {};
    seen[node] = true;
    nodes.first.push_back(rank);
  }
  nodes.first.push_back(links.size());
  for (std::size_t node = 0; node + 1 < nodes.first.size(); ++node)
    nodes.common = std::gcd(nodes.common, nodes.first[node + 1] - nodes.first[node]);
  if (nodes.first.size() < 3) nodes.pair = -1;
  return nodes;
}

bool areApart(const LinkPrice& within, const LinkPrice& between) {
  return between.latency_s >= kApart * within.latency_s ||
         within.bandwidth_bytes_per_s >= kApart * between.bandwidth_bytes_per_s;
}

/// The worse of two rates, of which 0 is none.
double slower(double one, double other) { return one <= 0 || other <= 0 ? one + other : std::min(one, other); }

LinkPrice worse(const LinkPrice& one, const LinkPrice& other) {
  return {std::max(one.latency_s, other.latency_s), std::min(one.bandwidth_bytes_per_s, other.bandwidth_bytes_per_s),
          std::max(one.overhead_s, other.overhead_s), std::min(one.eager_bytes, other.eager_bytes),
          slower(one.sender_bytes_per_s, other.sender_bytes_per_s)};
}

/// The worst price of pairs that were looked at.
class WorstPrice {
 public:
  explicit WorstPrice(const LinkPrice& first) : last_(&first), worst_(first) {}
  void lookAt(const LinkPrice& price) {
    if (&price == last_) return;
    last_ = &price;
    const LinkPrice both = worse(worst_, price);
    alike_ = alike_ && price == worst_;
    worst_ = both;
  }
  [[nodiscard]] const LinkPrice& price() const { return worst_; }
  [[nodiscard]] bool alike() const { return alike_; }

 private:
  const LinkPrice* last_;
  LinkPrice worst_;
  bool alike_ = true;
};

void lookAtPairs(const Links& links, WorstPrice& within, WorstPrice& between) {
  const std::vector<int> ranks = links.representatives();
  for (const int from : ranks) {
    for (const int to : ranks)
      if (to != from) (links.nodeOf(from) == links.nodeOf(to) ? within : between).lookAt(links.price(from, to));
  }
}

/// The number of the node's ranks whose message i leaves the node, where each rank sends to the distances d, 2 d, ..
int sendersOf(const CostRound& round, const Levels& levels, const Levels::Node& node, int i) {
  const auto far = static_cast<int>(static_cast<std::int64_t>(i) * round.distance % levels.size);
  const int distance = std::min(far, levels.size - far);
  const bool in_pairs = round.hops == Hops::exchange && distance > 0;
  if (in_pairs && distance < node.ranks && levels.common % (2 * distance) == 0) return 0;
  return std::min({distance, node.ranks, levels.size - node.ranks});
}

/// Each rank sends to all others, or to every distance-th of them.
Crossing crossingToAll(const CostRound& round, const Levels::Node& node) {
  Crossing crossing;
  crossing.within = std::min(round.messages, std::max(0, node.ranks / round.distance - 1));
  crossing.of_rank = round.messages - crossing.within;
  crossing.messages = node.ranks * crossing.of_rank;
  crossing.share = crossing.of_rank > 0 ? 1 : 0;
  return crossing;
}

Crossing crossingOfShift(const CostRound& round, const Levels& levels, const Levels::Node& node) {
  const std::int64_t last = (static_cast<std::int64_t>(round.messages) + 1) * round.distance;
  if (round.messages > 1 && last >= levels.size) return crossingToAll(round, node);
  Crossing crossing;
  for (int i = 1; i <= round.messages; ++i) {
    const int senders = sendersOf(round, levels, node, i);
    crossing.messages += senders;
    crossing.of_rank += senders > 0 ? 1 : 0;
    crossing.within += senders < node.ranks ? 1 : 0;
    crossing.share = std::max(crossing.share, static_cast<double>(senders) / node.ranks);
  }
  return crossing;
}

/// Only one rank of the node sends, or receives, in each lane.
Crossing crossingOfTree(const CostRound& round, const Levels& levels, const Levels::Node& node) {
  Crossing crossing;
  // If whole subtrees, side by side, fill the nodes, no message of the round leaves a node.
  const int subtree = static_cast<int>(std::bit_floor(static_cast<unsigned>(round.messages) + 1)) * round.distance;
  const bool chain = round.times > 1;
  if (!chain && levels.common % subtree == 0) return {.within = static_cast<double>(round.messages)};
  const int near = std::min(round.messages, (node.ranks - 1) / round.distance);
  crossing.of_rank = chain ? round.messages : round.messages - near;
  crossing.messages = crossing.of_rank * round.lanes;
  crossing.within = near;
  if (chain) {
    crossing.share = static_cast<double>(levels.node_count - 1) / (levels.size - 1);
  } else {
    const bool far = round.distance >= node.ranks || near < round.messages;
    crossing.share = far ? 1.0 : static_cast<double>(round.distance) / node.ranks;
  }
  return crossing;
}

/// The distances 1, 2, 4, .. of all ranks, on average.
Crossing crossingOfMixed(const CostRound& round, const Levels& levels, const Levels::Node& node) {
  double senders = 0;
  int distances = 0;
  for (int distance = 1; distance < levels.size; distance *= 2, ++distances)
    senders += std::min(distance, node.ranks);
  Crossing crossing;
  crossing.share = senders / distances / node.ranks;
  crossing.messages = round.messages * crossing.share * node.ranks;
  crossing.of_rank = round.messages;
  crossing.within = round.messages;
  return crossing;
}

} // namespace

int commonNodeSize(const Links& links) {
  const Nodes nodes = nodesOf(links);
  return nodes.pair >= 0 && areApart(nodes.within(links), nodes.between(links)) ? nodes.common : 0;
}

std::optional<Levels> Levels::of(const Links& links) {
  const Nodes nodes = nodesOf(links);
  if (nodes.pair < 0) return std::nullopt;
  WorstPrice within(nodes.within(links));
  WorstPrice between(nodes.between(links));
  lookAtPairs(links, within, between);
  if (!areApart(within.price(), between.price())) return std::nullopt;
  const int count = static_cast<int>(nodes.first.size()) - 1;
  Levels levels{within.price(), between.price(), within.alike() && between.alike(), {}, nodes.common, links.size(),
                count};
  for (std::size_t node = 0; node + 1 < nodes.first.size(); ++node) {
    const int first = nodes.first[node];
    const Node own{nodes.first[node + 1] - first, links.node(links.nodeOf(first))};
    const auto known = std::find_if(levels.nodes.begin(), levels.nodes.end(),
                                    [&](const Node& kind) { return kind.ranks == own.ranks && kind.port == own.port; });
    if (known == levels.nodes.end()) {
      levels.nodes.push_back(own);
    } else {
      ++known->count;
    }
  }
  return levels;
}

LinkStructure LinkStructure::of(const Links& links) {
  std::optional<Levels> levels = Levels::of(links);
  if (!levels.has_value()) return {links.period(), std::nullopt};
  const bool repeats = levels->alike && levels->nodes.size() == 1;
  return {repeats ? levels->nodes.front().ranks : links.size(), std::move(levels)};
}

Crossing crossingOf(const CostRound& round, const Levels& levels, const Levels::Node& node, const Crossing& earlier) {
  if (round.among > 0 && levels.common % round.among == 0) return {.within = static_cast<double>(round.messages)};
  switch (round.hops) {
    case Hops::tree:
      return crossingOfTree(round, levels, node);
    case Hops::mixed:
      return crossingOfMixed(round, levels, node);
    case Hops::earlier: {
      const double messages = std::min(earlier.messages, 2.0 * round.messages * round.lanes);
      const double of_rank = std::min<double>(earlier.of_rank, round.messages);
      return {messages, of_rank, round.messages - of_rank, messages > 0 ? 1.0 : 0.0};
    }
    default:
      return crossingOfShift(round, levels, node);
  }
}

} // namespace goss
