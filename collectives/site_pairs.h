/// Two-level all-reduce of two groups whose ranks are all paired with each other, for two sites where every pair of
/// ranks has a network path of its own: unlike Hierarchical's outer phase, it uses all these paths, each in proportion
/// to its bandwidth.
///
/// The ranks 0..L-1 are one group, L..2L-1 the other. Chunk i * L + j belongs to rank i of the first group and rank j
/// of the second; Shape::weights make it as large as their path is fast.
/// 1. Reduce-scatter inside each group: rank i of the first gets the chunks i * L + j of all j, rank j of the second
///    those of all i.
/// 2. The two ranks of each chunk exchange it whole and add: two operands, whose sum has the same bits at both.
/// 3. All-gather inside each group.
///
/// Wire: 4 (L - 1) m elements inside and 2 m across, m in either direction: each group needs the other's whole sum.
#ifndef GOSS_COLLECTIVES_SITE_PAIRS_H_
#define GOSS_COLLECTIVES_SITE_PAIRS_H_

#include <vector>

#include "gossamer/algorithm.h"

namespace goss::collectives {

class SitePairs final : public Algorithm {
 public:
  [[nodiscard]] std::string_view name() const override { return "site-pairs"; }
  [[nodiscard]] AlgorithmTraits traits() const override { return {.takes_group = true, .pairs_groups = true}; }
  /// Needs two groups of at least two ranks.
  [[nodiscard]] bool supports(const PlanRequest& request) const override;
  [[nodiscard]] Schedule plan(const PlanRequest& request) const override;
  [[nodiscard]] std::vector<CostRound> rounds(const PlanRequest& request) const override;
  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_SITE_PAIRS_H_
