/// How an exchange is applied: the seam between the moving of differences and the outer optimizers.
#ifndef GOSS_LIB_SYNC_APPLIER_H_
#define GOSS_LIB_SYNC_APPLIER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace goss::sync {

/// One application. All vectors are one fragment's, equally long. A *difference* is reference - parameter, what DiLoCo
/// calls a pseudo-gradient.
struct Round {
  std::span<float> reference;  ///< In and out: the parameters that the ranks last agreed on.
  std::span<const float> mean; ///< Of the ranks' differences; empty in a late method's first round.
  std::span<const float> own;  ///< Late methods: this rank's difference of this round, not yet exchanged. Else empty.
  std::uint64_t number = 0;    ///< Rounds applied before.
  double lr = 1;               ///< The learning rate of the inner optimizer.
  double ranks = 1;            ///< How many took part.
};

/// Immutable; what lasts from round to round is in `state`, so that it is saved with a checkpoint. Computes in float32,
/// in the order of operations of the published code where there is one.
class Applier {
 public:
  virtual ~Applier() = default;
  /// Vectors of a fragment's length that `state` has; zero at first.
  [[nodiscard]] virtual std::size_t vectors() const = 0;
  virtual void apply(const Round& round, std::span<std::vector<float>> state) const = 0;
  /// Whether equal references stay equal: not when a rank's own difference is used.
  [[nodiscard]] virtual bool keepsRanksEqual() const { return true; }
};

/// SGD with Nesterov momentum in PyTorch's form: u = momentum * u + mean; reference -= lr * (mean + momentum * u).
class OuterSgd : public Applier {
 public:
  OuterSgd(double lr, double momentum) : lr_(static_cast<float>(lr)), momentum_(static_cast<float>(momentum)) {}
  [[nodiscard]] std::size_t vectors() const override { return momentum_ == 0 ? 0 : 1; }
  void apply(const Round& round, std::span<std::vector<float>> state) const override;
  /// The same for a difference that is not the mean.
  void applyTo(std::span<float> reference, std::span<const float> difference, std::span<float> velocity) const;

 private:
  float lr_;
  float momentum_;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_APPLIER_H_
