/// Recursive doubling all-reduce of whole vectors, for any number of ranks (R. Thakur, R. Rabenseifner, W. Gropp,
/// "Optimization of Collective Communication Operations in MPICH", IJHPCA 19, 2005, section 4.5.1).
///
/// With q the largest power of two <= n and e = n - q:
/// 1. Fold: even positions below 2e send their vector to the next position, which adds it. q survivors remain.
/// 2. For d = 1, 2, 4, .. q/2: survivor w exchanges its whole vector with survivor w xor d and adds. Both partners
///    compute the same bits, because addition commutes.
/// 3. Unfold: the odd positions below 2e return the result.
///
/// Latency log2(q) messages, plus 2 if n is not a power of two. Wire: (q log2(q) + 2e) * m elements over all positions.
#ifndef GOSS_COLLECTIVES_RECURSIVE_DOUBLING_H_
#define GOSS_COLLECTIVES_RECURSIVE_DOUBLING_H_

#include "collectives/scheme.h"

namespace goss::collectives {

class RecursiveDoubling final : public AllReduceScheme {
 public:
  [[nodiscard]] std::string_view name() const override { return "recursive-doubling"; }
  [[nodiscard]] std::uint32_t blockCount(int, std::uint32_t) const override { return 1; }
  /// Empty unless the number of positions is a power of two: otherwise step 1 folds some of them.
  [[nodiscard]] Symmetry symmetry(int group_size) const override;
  [[nodiscard]] std::vector<CostRound> rounds(int group_size, std::uint32_t pipeline_blocks) const override;
  void emit(const GroupPhase& phase) const override;
  [[nodiscard]] std::uint64_t wireElements(int group_size, std::span<const std::uint64_t> block_elems) const override;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_RECURSIVE_DOUBLING_H_
