/// Broadcast as a scatter and an all-gather, and its mirror, reduce as a reduce-scatter and a gather (M. Barnett et
/// al., "Interprocessor collective communication library (InterCom)", 1994; R. Thakur et al., IJHPCA 19, 2005,
/// sections 4.2 and 4.4).
///
/// Every rank sends little more than twice the vector, also without pipelining, where a tree's inner ranks send it to
/// every child. The vector has one chunk for each rank, in the order of ranks counted from the root. In the reduce each
/// rank finishes its chunk before the gather. Wire: (p - 1) * m elements for the all-gather or reduce-scatter, plus the
/// scatter's or gather's (rooted.h).
#ifndef GOSS_COLLECTIVES_SCATTER_ALL_GATHER_H_
#define GOSS_COLLECTIVES_SCATTER_ALL_GATHER_H_

#include <memory>
#include <string>

#include "collectives/rooted.h"
#include "collectives/scheme.h"
#include "gossamer/algorithm.h"

namespace goss::collectives {

class ScatterAllGather final : public Algorithm {
 public:
  /// `collective` is broadcast ("scatter-SHARDED") or reduce ("SHARDED-gather").
  ScatterAllGather(Collective collective, std::unique_ptr<const RootedScheme> rooted,
                   std::unique_ptr<const ShardScheme> sharded);

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] AlgorithmTraits traits() const override { return {}; }
  [[nodiscard]] bool supports(const PlanRequest& request) const override;
  [[nodiscard]] std::vector<CostRound> rounds(const PlanRequest& request) const override;
  [[nodiscard]] Schedule plan(const PlanRequest& request) const override;
  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override;

 private:
  Collective collective_;
  std::unique_ptr<const RootedScheme> rooted_;
  std::unique_ptr<const ShardScheme> sharded_;
  std::string name_;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_SCATTER_ALL_GATHER_H_
