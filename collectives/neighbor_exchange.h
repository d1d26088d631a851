/// The collectives among the neighbours of a round of gossip: every rank sends to its destinations and receives from
/// its sources at once, and nobody else.
///
/// Latency 1 message. Wire: for each arc the vector (neighbor_all_reduce: D-PSGD, Lian et al., NIPS 2017), or the
/// block.
#ifndef GOSS_COLLECTIVES_NEIGHBOR_EXCHANGE_H_
#define GOSS_COLLECTIVES_NEIGHBOR_EXCHANGE_H_

#include "gossamer/algorithm.h"

namespace goss::collectives {

/// PlanRequest::neighborhood is the rank's own; null: it has no neighbours. Ranks whose lists do not match wait for
/// each other.
class NeighborExchange final : public Algorithm {
 public:
  explicit NeighborExchange(Collective collective) : collective_(collective) {}
  [[nodiscard]] std::string_view name() const override { return "neighbors"; }
  [[nodiscard]] AlgorithmTraits traits() const override { return {}; }
  [[nodiscard]] bool supports(const PlanRequest& request) const override;
  [[nodiscard]] Schedule plan(const PlanRequest& request) const override;
  /// What the request's rank sends: unlike other collectives, no rank knows the arcs of the others.
  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override;

 private:
  Collective collective_;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_NEIGHBOR_EXCHANGE_H_
