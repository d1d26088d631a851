/// How an exchange is applied: the seam between the exchange of differences and the outer optimizers.
#ifndef GOSS_LIB_SYNC_APPLIER_H_
#define GOSS_LIB_SYNC_APPLIER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace goss::sync {

/// One application of an exchange. All vectors are one fragment's, equally long. A *difference* is reference -
/// parameter, which DiLoCo calls a pseudo-gradient.
struct Round {
  std::span<float> reference;  ///< In and out: the parameters on which the ranks last agreed.
  std::span<const float> mean; ///< Mean of the ranks' differences; empty in a late method's first round.
  std::span<const float> own;  ///< Late methods: this rank's difference of this round, not yet exchanged. Else empty.
  std::uint64_t number = 0;    ///< Number of rounds applied before.
  double lr = 1;               ///< The learning rate of the inner optimizer.
  double ranks = 1;            ///< Number of ranks that took part.
};

/// Immutable; `state` holds what lasts from round to round, so that checkpoints can save it. Computes in float32, in
/// the order of operations of the published code where there is one.
class Applier {
 public:
  virtual ~Applier() = default;
  /// Number of vectors of a fragment's length in `state`; zero at first.
  [[nodiscard]] virtual std::size_t vectors() const = 0;
  virtual void apply(const Round& round, std::span<std::vector<float>> state) const = 0;
  /// Whether equal references stay equal; not so when a rank's own difference is used.
  [[nodiscard]] virtual bool keepsRanksEqual() const { return true; }
};

/// SGD with Nesterov momentum in PyTorch's form: u = momentum * u + mean; reference -= lr * (mean + momentum * u).
class OuterSgd : public Applier {
 public:
  OuterSgd(double lr, double momentum) : lr_(static_cast<float>(lr)), momentum_(static_cast<float>(momentum)) {}
  [[nodiscard]] std::size_t vectors() const override { return momentum_ == 0 ? 0 : 1; }
  void apply(const Round& round, std::span<std::vector<float>> state) const override;
  /// apply() for a difference that is not the mean.
  void applyTo(std::span<float> reference, std::span<const float> difference, std::span<float> velocity) const;

 private:
  float lr_;
  float momentum_;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_APPLIER_H_
