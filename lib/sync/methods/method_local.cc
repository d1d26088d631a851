// Local SGD: Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019. Parameters are averaged every h
// steps. The mean of differences is subtracted from the reference, which is the mean of parameters but for rounding.
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {kPeriodParameter, kStepsParameter, kIslandsParameter, kCodecParameter};

Composition make(SpecReader& reader) {
  return composeLocalSteps(reader, [](Composition& made) { made.applier = std::make_unique<OuterSgd>(1, 0); });
}

} // namespace

const Method& localMethod() {
  static const Method kMethod = {"local", "parameters are averaged every `h` steps", "Stich, ICLR 2019", kParameters,
                                 make};
  return kMethod;
}

} // namespace goss::sync
