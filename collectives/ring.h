/// Ring reduce-scatter and all-gather (P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
/// workstations", J. Parallel Distrib. Comput. 69, 2009); together the ring all-reduce.
///
/// Positions follow the group's order, so a given order of the ranks is a given ring. Needs only n links, each in one
/// direction.
///
/// - Reduce-scatter, step t = 0..n-2: position v sends block v-1-t to v+1, receives block v-2-t from v-1 and adds it.
///   Block v ends on position v after n-1 additions along the ring.
/// - All-gather, step t = 0..n-2: position v sends block v-t to v+1 and receives block v-1-t from v-1.
///
/// Latency n-1 messages each way. Wire: (n - 1) * m elements each way, over all positions.
#ifndef GOSS_COLLECTIVES_RING_H_
#define GOSS_COLLECTIVES_RING_H_

#include "collectives/scheme.h"

namespace goss::collectives {

class Ring final : public ShardScheme {
 public:
  [[nodiscard]] std::string_view name() const override { return "ring"; }
  [[nodiscard]] bool takesOrder() const override { return true; }
  [[nodiscard]] std::vector<CostRound> rounds(int group_size) const override;
  void emitReduceScatter(const GroupPhase& phase) const override;
  void emitAllGather(const GroupPhase& phase) const override;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_RING_H_
