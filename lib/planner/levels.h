/// Links of two levels: nodes (hosts or sites) of consecutive ranks, within which all pairs of ranks cost about the
/// same, and between which all pairs cost about the same and much more.
#ifndef GOSS_LIB_PLANNER_LEVELS_H_
#define GOSS_LIB_PLANNER_LEVELS_H_

#include <optional>
#include <vector>

#include "gossamer/algorithm.h"
#include "schedule/links.h"

namespace goss {

/// A value.
struct Levels {
  struct Node {
    int ranks = 0;
    schedule::NodePrice port;
    int count = 1; ///< Nodes of this kind.
  };
  schedule::LinkPrice within;  ///< The worst of all pairs within nodes.
  schedule::LinkPrice between; ///< The worst of all pairs of different nodes.
  bool alike = true;           ///< All pairs of a level cost the same.
  std::vector<Node> nodes;     ///< Each kind once.
  int common = 1;              ///< The largest number that divides the ranks of each node.
  int size = 0;                ///< Ranks of all nodes.
  int node_count = 0;

  /// nullopt where links are not of two levels. The packages of one host are not, because they are too near to each
  /// other: which algorithm is the cheapest depends there on what the formulas neglect.
  [[nodiscard]] static std::optional<Levels> of(const schedule::Links& links);
};

/// Properties of links that one pass over all pairs of ranks finds.
struct LinkStructure {
  int period = 0;               ///< Links::period().
  std::optional<Levels> levels; ///< Levels::of().

  [[nodiscard]] static LinkStructure of(const schedule::Links& links);
};

/// The largest number that divides the ranks of each of several nodes; 0: nodes do not hold consecutive ranks, or the
/// first two are not far apart.
[[nodiscard]] int commonNodeSize(const schedule::Links& links);

/// The messages of a CostRound that leave nodes of one kind.
struct Crossing {
  double messages = 0; ///< Messages of all ranks of a node, which pass its port each way.
  double of_rank = 0;  ///< Messages of the rank that sends most of them.
  double within = 0;   ///< Messages of one rank that stay in the node.
  double share = 0;    ///< The part of the hops of a longest path that leave the node; below 1 where few ranks' do.
};

/// What `round` sends out of a node of this kind; `earlier` is the sum of the rounds before, for Hops::earlier.
[[nodiscard]] Crossing crossingOf(const CostRound& round, const Levels& levels, const Levels::Node& node,
                                  const Crossing& earlier);

} // namespace goss

#endif // GOSS_LIB_PLANNER_LEVELS_H_
