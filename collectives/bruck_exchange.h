/// Bruck all-to-all for small blocks of equal size (J. Bruck et al., IEEE TPDS 8, 1997).
///
/// A block for the rank x ahead travels by the powers of two in x: for d = 1, 2, 4, .. < p rank r sends all blocks
/// whose x has bit d to r+d, where they wait in scratch or, if x has no higher bit, have arrived. Blocks of different
/// sizes are not supported: a rank that passes blocks on would have to know the sizes of others.
///
/// Latency ceil(log2 p) messages instead of p - 1 messages per rank. Wire: p * (sum over x < p of the one bits in x)
/// blocks.
#ifndef GOSS_COLLECTIVES_BRUCK_EXCHANGE_H_
#define GOSS_COLLECTIVES_BRUCK_EXCHANGE_H_

#include "gossamer/algorithm.h"

namespace goss::collectives {

class BruckExchange final : public Algorithm {
 public:
  [[nodiscard]] std::string_view name() const override { return "bruck"; }
  [[nodiscard]] AlgorithmTraits traits() const override { return {}; }
  [[nodiscard]] bool supports(const PlanRequest& request) const override;
  [[nodiscard]] std::vector<CostRound> rounds(const PlanRequest& request) const override;
  [[nodiscard]] Schedule plan(const PlanRequest& request) const override;
  [[nodiscard]] Symmetry symmetry(const PlanRequest& /*request*/) const override { return {.period = 1}; }
  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_BRUCK_EXCHANGE_H_
