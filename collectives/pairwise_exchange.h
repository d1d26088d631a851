/// Pairwise all-to-all (R. Thakur et al., IJHPCA 19, 2005, section 4.3): for t = 1..p-1 rank r sends its block for r+t
/// to r+t and receives from r-t. All messages are independent; their order keeps all ranks from sending to the same one
/// at once. Works for uneven blocks.
///
/// Latency 1 message. Wire: every block but those that stay; with equal blocks of m_c elements, (p - 1) * sum(m_c).
#ifndef GOSS_COLLECTIVES_PAIRWISE_EXCHANGE_H_
#define GOSS_COLLECTIVES_PAIRWISE_EXCHANGE_H_

#include "gossamer/algorithm.h"

namespace goss::collectives {

class PairwiseExchange final : public Algorithm {
 public:
  [[nodiscard]] std::string_view name() const override { return "pairwise"; }
  [[nodiscard]] AlgorithmTraits traits() const override { return {}; }
  [[nodiscard]] bool supports(const PlanRequest& request) const override;
  [[nodiscard]] std::vector<CostRound> rounds(const PlanRequest& request) const override;
  [[nodiscard]] Schedule plan(const PlanRequest& request) const override;
  [[nodiscard]] Symmetry symmetry(const PlanRequest& /*request*/) const override { return {.period = 1}; }
  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_PAIRWISE_EXCHANGE_H_
