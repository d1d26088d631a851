// Eager updates: Kale et al., arXiv 2502.12996, algorithm 3. The exchange of a round has the whole next round to
// arrive; a rank uses its own share of the newest difference at once and the others' of the round before:
//   step along own / M + (mean' - own' / M), where ' is the round before.
// Every rank therefore has its own reference and momentum.
#include <algorithm>
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {kPeriodParameter, ParameterInfo{"lr", "0.4", "of the outer optimizer"},
                                    ParameterInfo{"momentum", "0.9", "Nesterov momentum of the outer optimizer"},
                                    kIslandsParameter, kCodecParameter};

class EagerSgd : public Applier {
 public:
  EagerSgd(double lr, double momentum) : outer_(lr, momentum) {}
  [[nodiscard]] std::size_t vectors() const override { return 1 + outer_.vectors(); }
  [[nodiscard]] bool keepsRanksEqual() const override { return false; }

  /// state[0]: this rank's difference of the round before; state[1]: velocity.
  void apply(const Round& round, std::span<std::vector<float>> state) const override {
    const float share = 1.0f / static_cast<float>(round.ranks);
    std::vector<float>& step = state[0]; // holds the step, then the state for the next round
    for (std::size_t i = 0; i < step.size(); ++i) {
      const float others = round.mean.empty() ? 0.0f : round.mean[i] - share * step[i];
      step[i] = share * round.own[i] + others;
    }
    outer_.applyTo(round.reference, step, state.size() > 1 ? std::span<float>(state[1]) : std::span<float>());
    std::copy(round.own.begin(), round.own.end(), step.begin());
  }

 private:
  OuterSgd outer_;
};

Composition make(SpecReader& reader) {
  return composeLocalSteps(reader, [&reader](Composition& made) {
    made.timing.late = true;
    const double lr = reader.number("lr", kRateRange);
    made.applier = std::make_unique<EagerSgd>(lr, reader.number("momentum", kUnitRange));
  });
}

} // namespace

const Method& eagerMethod() {
  static const Method kMethod = {"eager", "own newest difference at once, the others' a round later",
                                 "Kale et al., arXiv 2502.12996", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
