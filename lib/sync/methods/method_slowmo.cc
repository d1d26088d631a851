// SlowMo: Wang et al., ICLR 2020, arXiv 1910.00643: u = beta u + (x_old - mean x) / lr; x_old -= alpha lr u.
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {kPeriodParameter,
                                    kStepsParameter,
                                    ParameterInfo{"alpha", "1", "the slow learning rate"},
                                    ParameterInfo{"beta", "0.7", "the slow momentum"},
                                    kIslandsParameter,
                                    kCodecParameter};

class SlowMomentum : public Applier {
 public:
  SlowMomentum(double alpha, double beta) : alpha_(alpha), beta_(static_cast<float>(beta)) {}
  [[nodiscard]] std::size_t vectors() const override { return 1; }

  void apply(const Round& round, std::span<std::vector<float>> state) const override {
    std::vector<float>& u = state[0];
    const auto lr = static_cast<float>(round.lr);
    const auto step = static_cast<float>(alpha_ * round.lr);
    if (lr == 0) { // schedules begin or end so: the step's limit; u, which has none, stays
      for (std::size_t i = 0; i < u.size(); ++i) {
        round.reference[i] -= static_cast<float>(alpha_) * round.mean[i];
      }
      return;
    }
    for (std::size_t i = 0; i < u.size(); ++i) {
      u[i] = beta_ * u[i] + round.mean[i] / lr;
      round.reference[i] -= step * u[i];
    }
  }

 private:
  double alpha_;
  float beta_;
};

Composition make(SpecReader& reader) {
  return composeLocalSteps(reader, [&reader](Composition& made) {
    const double alpha = reader.number("alpha", kRateRange);
    made.applier = std::make_unique<SlowMomentum>(alpha, reader.number("beta", kUnitRange));
  });
}

} // namespace

const Method& slowmoMethod() {
  static const Method kMethod = {"slowmo", "slow momentum in units of the learning rate",
                                 "Wang et al., arXiv 1910.00643", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
