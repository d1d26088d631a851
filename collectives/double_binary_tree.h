/// Double binary tree all-reduce (P. Sanders, J. Speck, J. L. Traff, "Two-tree algorithms for full bandwidth broadcast,
/// reduction and scan", Parallel Computing 35, 2009).
///
/// Half of the vector goes over each of two binary trees, in which no position is an inner one twice, so that both
/// links of every position are busy. Blocks 0..b-1 belong to the first tree, b..2b-1 to the second. Up, block by block,
/// the trees in turn: receive from the children and add, send to the parent; the root finishes. Then down: receive from
/// the parent, send to the children.
///
/// Latency about 2 log2(n) + 2 (b - 1) messages. Wire: 2 (n - 1) * m elements over all positions.
#ifndef GOSS_COLLECTIVES_DOUBLE_BINARY_TREE_H_
#define GOSS_COLLECTIVES_DOUBLE_BINARY_TREE_H_

#include "collectives/scheme.h"

namespace goss::collectives {

class DoubleBinaryTree final : public AllReduceScheme {
 public:
  [[nodiscard]] std::string_view name() const override { return "double-binary-tree"; }
  [[nodiscard]] bool pipelined() const override { return true; }
  [[nodiscard]] std::uint32_t blockCount(int, std::uint32_t pipeline_blocks) const override {
    return 2 * pipeline_blocks;
  }
  [[nodiscard]] std::vector<CostRound> rounds(int group_size, std::uint32_t pipeline_blocks) const override;
  void emit(const GroupPhase& phase) const override;
  [[nodiscard]] std::uint64_t wireElements(int group_size, std::span<const std::uint64_t> block_elems) const override;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_DOUBLE_BINARY_TREE_H_
