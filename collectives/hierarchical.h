/// Two-level all-reduce from any two algorithms (M. Cho et al., "BlueConnect: Decomposing All-Reduce for Deep Learning
/// on Heterogeneous Network Hierarchy", MLSys 2019).
///
/// Ranks form groups of PlanRequest::group_size consecutive ranks, typically the ranks of one host. With L ranks a
/// group and G groups:
/// 1. Reduce-scatter inside each group: local rank l gets shard l, 1/L of the vector, summed over the group.
/// 2. All-reduce of shard l across the ranks l of all groups, which finishes it. Only this phase crosses hosts.
/// 3. All-gather inside each group.
///
/// Shard l is chunks l*w .. l*w+w-1, w being the blocks that the outer algorithm wants. Wire: 2 G (L - 1) * m elements
/// inside, plus the outer algorithm's for each shard.
#ifndef GOSS_COLLECTIVES_HIERARCHICAL_H_
#define GOSS_COLLECTIVES_HIERARCHICAL_H_

#include <memory>
#include <string>

#include "collectives/scheme.h"
#include "gossamer/algorithm.h"

namespace goss::collectives {

class Hierarchical final : public Algorithm {
 public:
  Hierarchical(std::unique_ptr<const ShardScheme> inner, std::unique_ptr<const AllReduceScheme> outer);

  /// "hier-INNER-OUTER".
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] AlgorithmTraits traits() const override {
    return {.pipelined = outer_->pipelined(), .takes_group = true};
  }
  /// Needs at least two groups of at least two ranks; group_size must divide the number of ranks.
  [[nodiscard]] bool supports(const PlanRequest& request) const override;
  [[nodiscard]] Symmetry symmetry(const PlanRequest& request) const override;
  [[nodiscard]] std::vector<CostRound> rounds(const PlanRequest& request) const override;
  [[nodiscard]] Schedule plan(const PlanRequest& request) const override;
  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override;

 private:
  std::unique_ptr<const ShardScheme> inner_;
  std::unique_ptr<const AllReduceScheme> outer_;
  std::string name_;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_HIERARCHICAL_H_
