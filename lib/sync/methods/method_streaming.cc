// Streaming DiLoCo: Douillard et al., arXiv 2501.18512. Each fragment of the model is exchanged once in h steps, at its
// own offset, in the background of tau steps; 4-bit differences are codec=e3m0. As in the paper, the next difference is
// taken against the reference, not against the mixed parameters.
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    kPeriodParameter,
    kStepsParameter,
    ParameterInfo{"fragments", "2", "parts of the model; must divide h"},
    ParameterInfo{"strided", "1", "1: layer l is in fragment l mod fragments; 0: fragments of consecutive layers"},
    ParameterInfo{"tau", "0", "steps from the start of an exchange to its application; below h / fragments"},
    ParameterInfo{"alpha", "0.5", "share of the local parameters that stays"},
    ParameterInfo{"lr", "0.7", "of the outer optimizer"},
    ParameterInfo{"momentum", "0.9", "Nesterov momentum of the outer optimizer"},
    kIslandsParameter,
    kCodecParameter};

Composition make(SpecReader& reader) {
  Composition made = composeLocalSteps(reader, [&reader](Composition& part) {
    part.layout.fragments = reader.integer("fragments", {1, 1e6});
    part.layout.strided = reader.integer("strided", kUnitRange) == 1;
    part.timing.overlap = reader.integer("tau", {0, kPeriodRange.high});
    part.mixing = reader.number("alpha", kUnitRange);
    part.applier = readOuterSgd(reader);
  });
  if (made.layout.fragments == 0 || made.timing.period % made.layout.fragments != 0) {
    reader.refuse("fragments must divide h");
  } else if (made.timing.overlap >= made.timing.period / made.layout.fragments) {
    reader.refuse("tau must be below h / fragments");
  }
  return made;
}

} // namespace

const Method& streamingMethod() {
  static const Method kMethod = {"streaming",
                                 "each fragment once in `h` steps at its own offset, applied `tau` steps after it "
                                 "left, mixed with the local parameters",
                                 "Douillard et al., arXiv 2501.18512", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
