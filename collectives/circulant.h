/// The circulant family: one generator of reduce-scatter and all-gather for any number of ranks and blocks of any sizes
/// (J. L. Traff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv:2410.14234; the doubling form
/// is J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems", IEEE
/// TPDS 8, 1997).
///
/// A skip list n = s_0 > s_1 > ... > s_q = 1 with s_k - s_{k+1} <= s_{k+1} gives q rounds; positions and blocks are
/// taken mod n:
///
/// - Reduce-scatter, k = 0..q-1, S = s_k, s = s_{k+1}: position v sends blocks v+s .. v+S-1 to v+s, receives S-s
///   blocks from v-s and adds them to blocks v .. v+S-s-1. The two sets are disjoint: no receive waits for a send.
/// - All-gather, k = q-1..0: position v sends blocks v .. v+S-s-1 to v-s and receives blocks v+s .. v+S-1 from v+s.
///
/// The skip list makes the algorithm:
///
/// | skips | next skip after s | rounds | known as |
/// |---|---|---|---|
/// | unit | s - 1 | 1: all messages are independent | direct exchange, pairwise |
/// | radix r | ceil(s / r) in steps of ceil(s / r) | ceil(log_r n), r - 1 messages each | |
/// | halving | ceil(s / 2) | ceil(log2 n) | Rabenseifner's all-reduce, for any n |
/// | doubling | the largest power of two below s | ceil(log2 n) | Bruck |
///
/// Each message is at most two contiguous runs of blocks. Wire: (n - 1) * m elements each way, over all positions.
#ifndef GOSS_COLLECTIVES_CIRCULANT_H_
#define GOSS_COLLECTIVES_CIRCULANT_H_

#include <string>
#include <vector>

#include "collectives/scheme.h"

namespace goss::collectives {

/// Skip lists, each from n down to 1.
std::vector<int> unitSkips(int n);
std::vector<int> radixSkips(int n, int radix);
std::vector<int> halvingSkips(int n);
std::vector<int> doublingSkips(int n);

class Circulant final : public ShardScheme {
 public:
  enum class Skips { unit, halving, doubling, radix4, radix8 };
  explicit Circulant(Skips skips) : skips_(skips) {}
  [[nodiscard]] std::string_view name() const override;
  [[nodiscard]] std::vector<CostRound> rounds(int group_size) const override;
  void emitReduceScatter(const GroupPhase& phase) const override;
  void emitAllGather(const GroupPhase& phase) const override;

 private:
  [[nodiscard]] std::vector<int> skipsFor(int group_size) const;
  Skips skips_;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_CIRCULANT_H_
