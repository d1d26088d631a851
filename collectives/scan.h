/// Inclusive and exclusive prefix reduction by distance doubling (W. D. Hillis, G. L. Steele, "Data parallel
/// algorithms", CACM 29, 1986).
///
/// For d = 1, 2, 4, .. < p: rank r sends its partial sum (of ranks r-d+1..r) to r+d, and adds what it gets from r-d.
/// The exclusive scan adds what it gets to a second sum too, which its own contribution never enters.
///
/// Latency ceil(log2 p) messages. Wire: m * sum over d of (p - d) elements.
#ifndef GOSS_COLLECTIVES_SCAN_H_
#define GOSS_COLLECTIVES_SCAN_H_

#include "gossamer/algorithm.h"

namespace goss::collectives {

class Scan final : public Algorithm {
 public:
  /// `collective` is scan or exscan.
  explicit Scan(Collective collective) : collective_(collective) {}

  [[nodiscard]] std::string_view name() const override { return "distance-doubling"; }
  [[nodiscard]] AlgorithmTraits traits() const override { return {}; }
  [[nodiscard]] bool supports(const PlanRequest& request) const override;
  [[nodiscard]] std::vector<CostRound> rounds(const PlanRequest& request) const override;
  [[nodiscard]] Schedule plan(const PlanRequest& request) const override;
  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override;

 private:
  Collective collective_;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_SCAN_H_
