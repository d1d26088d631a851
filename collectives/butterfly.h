/// Butterfly reduce-scatter and all-gather for a power of two of ranks, with a partner function that fits the network.
///
/// In step k = 0..log2(n)-1 of the reduce-scatter position v sends its partner pi(v, k) the blocks that the partner
/// sums from then on, receives those that v itself sums from then on, and adds them. The all-gather runs the steps
/// backwards.
///
/// - Rabenseifner ("Optimization of Collective Reduction Operations", ICCS 2004): pi(v, k) = v xor (n / 2^(k+1)).
/// - Swing (D. De Sensi et al., "Swing: Short-cutting Rings for Higher Bandwidth Allreduce", arXiv:2401.09356):
///   pi(v, k) = v + rho(k) for even v and v - rho(k) for odd v, rho = 1, -1, 3, -5, 11, ..: partners stay near on a
///   ring or torus.
///
/// Latency log2(n) messages each way. Wire: (n - 1) * m elements each way, over all positions.
#ifndef GOSS_COLLECTIVES_BUTTERFLY_H_
#define GOSS_COLLECTIVES_BUTTERFLY_H_

#include <memory>

#include "collectives/scheme.h"

namespace goss::collectives {

class Butterfly final : public ShardScheme {
 public:
  /// The partner of `position` among n in step `step`: an involution for each step.
  using Partner = int (*)(int n, int position, int step);
  /// `name` must outlive the scheme. `symmetry` is that of the partners among enough positions.
  Butterfly(std::string_view name, Partner partner, Symmetry symmetry)
      : name_(name), partner_(partner), symmetry_(symmetry) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] bool supports(int group_size) const override;
  [[nodiscard]] Symmetry symmetry(int group_size) const override;
  [[nodiscard]] std::vector<CostRound> rounds(int group_size) const override;
  void emitReduceScatter(const GroupPhase& phase) const override;
  void emitAllGather(const GroupPhase& phase) const override;

 private:
  [[nodiscard]] std::vector<int> answersFor(int n, int position, int from_step) const;
  std::string_view name_;
  Partner partner_;
  Symmetry symmetry_;
};

/// The butterfly of each name.
std::unique_ptr<Butterfly> makeRabenseifner();
std::unique_ptr<Butterfly> makeSwing();

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_BUTTERFLY_H_
