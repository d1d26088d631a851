// CO2: Sun et al., ICLR 2024, arXiv 2401.16265. The all-reduce of a round overlaps the whole next one; the outer step
// goes from the current reference x towards the mean of the round before:
//   u = clip(beta u + (x - stale mean) / lambda, +-clip); x -= alpha u.
// lambda, the staleness penalty, is a constant as in the published code; the clip is applied, as in the paper.
#include <algorithm>
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    kPeriodParameter,
    ParameterInfo{"alpha", "1", "the outer learning rate"},
    ParameterInfo{"beta", "0.2", "the outer momentum"},
    ParameterInfo{"lambda", "1", "staleness penalty: what a difference is divided by"},
    ParameterInfo{"clip", "0", "largest magnitude of an element of the momentum; 0: none"},
    kIslandsParameter,
    kCodecParameter};

struct Settings {
  float alpha, beta, lambda, clip;
};

class StaleMomentum : public Applier {
 public:
  explicit StaleMomentum(const Settings& settings) : s_(settings) {}
  [[nodiscard]] std::size_t vectors() const override { return 2; }

  /// state[0]: momentum; state[1]: the reference against which the arriving differences were taken.
  void apply(const Round& round, std::span<std::vector<float>> state) const override {
    std::vector<float>& u = state[0];
    std::vector<float>& then = state[1];
    for (std::size_t i = 0; i < u.size(); ++i) {
      const float stale_mean = round.mean.empty() ? round.reference[i] : then[i] - round.mean[i];
      u[i] = s_.beta * u[i] + (round.reference[i] - stale_mean) / s_.lambda;
      if (s_.clip > 0) {
        u[i] = std::clamp(u[i], -s_.clip, s_.clip);
      }
      then[i] = round.reference[i];
      round.reference[i] -= s_.alpha * u[i];
    }
  }

 private:
  Settings s_;
};

Composition make(SpecReader& reader) {
  return composeLocalSteps(reader, [&reader](Composition& made) {
    made.timing.late = true;
    Settings settings{};
    settings.alpha = static_cast<float>(reader.number("alpha", kRateRange));
    settings.beta = static_cast<float>(reader.number("beta", kUnitRange));
    settings.lambda = static_cast<float>(reader.number("lambda", {1e-3, 1e6}));
    settings.clip = static_cast<float>(reader.number("clip", {0, 1e6}));
    made.applier = std::make_unique<StaleMomentum>(settings);
  });
}

} // namespace

const Method& co2Method() {
  static const Method kMethod = {"co2", "the exchange of a round overlaps all of the next",
                                 "Sun et al., arXiv 2401.16265", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
