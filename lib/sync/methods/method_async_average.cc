// Bagua's asynchronous model averaging: Gan et al., VLDB 2021. A copy of the parameters is averaged in the background;
// when the mean has arrived, x += mean - copy, so that the steps made meanwhile stay. Bagua counts milliseconds between
// averages; here they are steps, so that a run can be repeated.
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"h", "10", "steps between averages"},
    ParameterInfo{"tau", "0", "steps from a copy to the application of its mean, at most h; 0: h"}, kIslandsParameter,
    kCodecParameter};

Composition make(SpecReader& reader) {
  Composition made = composeLocalSteps(reader, [&reader](Composition& part) {
    const std::uint64_t tau = reader.integer("tau", {0, kPeriodRange.high});
    part.timing.overlap = tau > 0 ? tau : part.timing.period;
    part.applier = std::make_unique<OuterSgd>(1, 0);
  });
  if (made.timing.overlap > made.timing.period) {
    reader.refuse("tau must be at most h");
  }
  made.keeps_newer = true;
  return made;
}

} // namespace

const Method& asyncAverageMethod() {
  static const Method kMethod = {"async-average", "parameters are averaged in the background of `tau` steps",
                                 "Gan et al., VLDB 2021 (Bagua)", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
