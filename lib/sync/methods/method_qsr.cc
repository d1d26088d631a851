// The Quadratic Synchronization Rule: Gu et al., ICLR 2024, arXiv 2310.14423. Local SGD whose period grows as the
// learning rate falls: H = max(h, floor((growth / lr)^2)), recomputed after each exchange. While the learning rate
// rises, in the warm-up, that would be far too long.
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"h", "4", "the shortest period"},
    ParameterInfo{"growth", "0.02", "alpha of the paper; the period is at least (growth / lr)^2"},
    ParameterInfo{"warmup", "0", "steps in which the learning rate rises and periods have init_h steps"},
    ParameterInfo{"init_h", "0", "the period of the warm-up; 0: h"},
    ParameterInfo{"total", "0", "steps of the run, so that the last exchange ends it; 0: unknown"},
    kIslandsParameter,
    kCodecParameter};

Composition make(SpecReader& reader) {
  return composeLocalSteps(reader, [&reader](Composition& made) {
    made.timing.growth = reader.number("growth", {1e-9, 1e6});
    made.timing.warmup = reader.integer("warmup", {0, 1e15});
    made.timing.first_period = reader.integer("init_h", {0, 1e15});
    made.timing.total = reader.integer("total", {0, 1e15});
    made.applier = std::make_unique<OuterSgd>(1, 0);
  });
}

} // namespace

const Method& qsrMethod() {
  static const Method kMethod = {"qsr",
                                 "periods of max(`h`, floor((`growth` / lr)^2)) steps, those that begin in the first "
                                 "`warmup` steps of `init_h` (0: `h`); goss-train gives its `--warmup` and `--steps`",
                                 "Gu et al., arXiv 2310.14423", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
