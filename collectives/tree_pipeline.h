/// Broadcast and reduce along a tree, the vector cut into blocks that follow one another down or up (k-nomial: J. Bruck
/// et al., IEEE TPDS 8, 1997; chain and pipelining: J. Watts, R. van de Geijn, "A pipelined broadcast for
/// multidimensional meshes", 1995).
///
/// Positions are ranks counted from the root. Broadcast, block by block: receive from the parent, send to the children,
/// largest subtree first. Reduce, block by block: receive from the children, smallest subtree first, and add; send to
/// the parent; the root finishes.
///
/// Latency: depth + (blocks - 1) * (children of the busiest position) messages. Wire: (p - 1) * m elements.
#ifndef GOSS_COLLECTIVES_TREE_PIPELINE_H_
#define GOSS_COLLECTIVES_TREE_PIPELINE_H_

#include "collectives/tree.h"
#include "gossamer/algorithm.h"

namespace goss::collectives {

class TreePipeline final : public Algorithm {
 public:
  enum class Shape { binomial, knomial4, knomial8, binary, chain, linear };
  /// `collective` is broadcast or reduce.
  TreePipeline(Collective collective, Shape shape) : collective_(collective), shape_(shape) {}

  [[nodiscard]] std::string_view name() const override;
  [[nodiscard]] AlgorithmTraits traits() const override { return {.pipelined = true}; }
  [[nodiscard]] bool supports(const PlanRequest& request) const override;
  [[nodiscard]] std::vector<CostRound> rounds(const PlanRequest& request) const override;
  [[nodiscard]] Schedule plan(const PlanRequest& request) const override;
  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override;

 private:
  [[nodiscard]] std::vector<CostRound> firstBlock(int n) const;
  [[nodiscard]] TreeNode nodeOf(int n, int position) const;
  Collective collective_;
  Shape shape_;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_TREE_PIPELINE_H_
