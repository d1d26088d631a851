/// Circulant n-block broadcast and reduce: round-optimal for any number of ranks (J. L. Traff, "Optimal Broadcast
/// Schedules in Logarithmic Time with Applications to Broadcast, All-Broadcast, Reduction and All-Reduction",
/// arXiv:2407.18004).
///
/// Positions are ranks counted from the root. With q = ceil(log2 p) and the halving skips 1 = s_0 < s_1 < .. < s_q = p
/// there are n - 1 + q rounds; in a round of kind k every position receives one block from s_k behind and sends one to
/// s_k ahead. The position's receive schedule R says which block that is: q numbers, one of which is a block of the
/// first q rounds (R >= 0) while the others name blocks of earlier rounds (R < 0, counted back by q). With x = (q - (n
/// - 1) mod q) mod q, round i = x .. n - 2 + q + x has kind k = i mod q and moves block min(R[k] + q * floor(i / q) -
/// x, n - 1), or nothing where that is negative. What a position sends is its receiver's R. The reduce runs the rounds
/// backwards, with the directions turned; the root finishes.
///
/// Latency n - 1 + ceil(log2 p) messages. Every rank but the root gets every block exactly once: wire (p - 1) * m
/// elements.
#ifndef GOSS_COLLECTIVES_CIRCULANT_PIPELINE_H_
#define GOSS_COLLECTIVES_CIRCULANT_PIPELINE_H_

#include <vector>

#include "gossamer/algorithm.h"

namespace goss::collectives {

/// The receive schedule of one position among n, n >= 2: entry k is in [-q, q), q = ceil(log2 n).
std::vector<int> circulantReceiveSchedule(int n, int position);

class CirculantPipeline final : public Algorithm {
 public:
  /// `collective` is broadcast or reduce.
  explicit CirculantPipeline(Collective collective) : collective_(collective) {}

  [[nodiscard]] std::string_view name() const override { return "circulant-pipeline"; }
  [[nodiscard]] AlgorithmTraits traits() const override { return {.pipelined = true}; }
  [[nodiscard]] bool supports(const PlanRequest& request) const override;
  [[nodiscard]] std::vector<CostRound> rounds(const PlanRequest& request) const override;
  [[nodiscard]] Schedule plan(const PlanRequest& request) const override;
  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override;

 private:
  Collective collective_;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_CIRCULANT_PIPELINE_H_
