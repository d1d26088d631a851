/// What a topology's matrices do to vectors: how fast ranks agree, and on what.
#ifndef GOSS_LIB_TOPOLOGY_ANALYSIS_H_
#define GOSS_LIB_TOPOLOGY_ANALYSIS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "topology/topology.h"

namespace goss::topology {

struct Analysis {
  int min_degree = 0; ///< Fewest destinations of a rank in a round.
  int max_degree = 0;
  bool row_stochastic = false; ///< In every round, as the next two.
  bool column_stochastic = false;
  bool symmetric = false;
  bool connected = false; ///< Along the arcs of one period.
  /// 1 - |lambda_2|^(1 / period), where lambda_2 is the second largest eigenvalue of the product of a period: what is
  /// left of the ranks' differences after a round is 1 - gap times what was. Empty: more than kMaxAnalysed ranks, or
  /// neither rows nor columns sum to 1.
  std::optional<double> spectral_gap;
  /// Rounds, from round 0 and at most one period, after which every rank holds the mean to 1e-12; empty: more.
  std::optional<std::uint64_t> exact_after;
};

/// Eigenvalues are computed for so many ranks and fewer.
inline constexpr int kMaxAnalysed = 256;

/// Deterministic; O(ranks^3) with some forty matrix products.
Analysis analyse(const Topology& topology);

/// The analysis as JSON text (goss_topology_describe).
std::string describe(const Topology& topology);

/// The graph as SVG: ranks on a circle, the arcs of `round`, or with round -1 those of a period, a colour each.
std::string draw(const Topology& topology, std::int64_t round);

} // namespace goss::topology

#endif // GOSS_LIB_TOPOLOGY_ANALYSIS_H_
