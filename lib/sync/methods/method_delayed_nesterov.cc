// Delayed Nesterov: Liu et al., "Asynchronous Local-SGD Training for Language Modeling", arXiv 2401.09135, algorithm 3.
// In the paper a server takes the differences of single workers as they come; here, where all ranks exchange together,
// each round's mean is one arrival. Momentum acts on every `buffer`-th arrival only, with the mean of the last
// `buffer`.
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    kPeriodParameter,
    kStepsParameter,
    ParameterInfo{"lr", "0.7", "of the outer optimizer"},
    ParameterInfo{"momentum", "0.9", "beta, of the outer optimizer"},
    ParameterInfo{"buffer", "4", "N: arrivals for each use of the momentum"},
    ParameterInfo{"spread", "0", "c: share of the momentum that every arrival applies; at most 1 / buffer"},
    kIslandsParameter,
    kCodecParameter};

struct Settings {
  float lr, momentum, spread;
  std::uint64_t buffer;
};

class DelayedNesterov : public Applier {
 public:
  explicit DelayedNesterov(const Settings& settings) : s_(settings) {}
  [[nodiscard]] std::size_t vectors() const override { return 2; }

  /// state[0]: momentum; state[1]: sum of the arrivals since it was last used.
  void apply(const Round& round, std::span<std::vector<float>> state) const override {
    std::vector<float>& momentum = state[0];
    std::vector<float>& sum = state[1];
    const auto n = static_cast<float>(s_.buffer);
    const bool is_full = (round.number + 1) % s_.buffer == 0;
    const float factor = s_.momentum * (is_full ? 1 - s_.spread * n + s_.spread : s_.spread);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += round.mean[i];
      if (is_full) {
        momentum[i] = s_.momentum * momentum[i] + sum[i] / n;
        sum[i] = 0;
      }
      round.reference[i] -= s_.lr * (factor * momentum[i] + round.mean[i] / n);
    }
  }

 private:
  Settings s_;
};

Composition make(SpecReader& reader) {
  return composeLocalSteps(reader, [&reader](Composition& made) {
    Settings settings{};
    settings.lr = static_cast<float>(reader.number("lr", kRateRange));
    settings.momentum = static_cast<float>(reader.number("momentum", kUnitRange));
    settings.buffer = reader.integer("buffer", {1, 1e6});
    const double spread = reader.number("spread", kUnitRange);
    if (spread * static_cast<double>(settings.buffer) > 1) {
      reader.refuse("spread must be at most 1 / buffer");
    }
    settings.spread = static_cast<float>(spread);
    made.applier = std::make_unique<DelayedNesterov>(settings);
  });
}

} // namespace

const Method& delayedNesterovMethod() {
  static const Method kMethod = {"delayed-nesterov", "momentum acts on every `buffer`-th round",
                                 "Liu et al., arXiv 2401.09135", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
