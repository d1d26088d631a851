/// Dissemination barrier (D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", IJPP 17,
/// 1988).
///
/// For d = 1, 2, 4, .. < p: rank r sends a token to r+d and receives one from r-d; a token goes out when all earlier
/// ones are in, so it confirms that its sender, and all ranks whose tokens have reached the sender, are in the barrier.
/// Tokens are chunks of zero elements: a barrier is called with count 0.
///
/// Latency ceil(log2 p) messages. Wire: p * ceil(log2 p) empty messages.
#ifndef GOSS_COLLECTIVES_BARRIER_H_
#define GOSS_COLLECTIVES_BARRIER_H_

#include "gossamer/algorithm.h"

namespace goss::collectives {

class DisseminationBarrier final : public Algorithm {
 public:
  [[nodiscard]] std::string_view name() const override { return "dissemination"; }
  [[nodiscard]] AlgorithmTraits traits() const override { return {}; }
  [[nodiscard]] bool supports(const PlanRequest& request) const override;
  [[nodiscard]] std::vector<CostRound> rounds(const PlanRequest& request) const override;
  [[nodiscard]] Schedule plan(const PlanRequest& request) const override;
  [[nodiscard]] Symmetry symmetry(const PlanRequest& /*request*/) const override { return {.period = 1}; }
  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_BARRIER_H_
