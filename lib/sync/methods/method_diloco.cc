// DiLoCo: Douillard et al., arXiv 2311.08105. With codec=fp16 or codec=int8 the pseudo-gradients travel as in
// OpenDiLoCo (Jaghouar et al., arXiv 2407.07852) and INTELLECT-1 (arXiv 2412.01152).
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {kPeriodParameter,
                                    kStepsParameter,
                                    ParameterInfo{"lr", "0.7", "of the outer optimizer"},
                                    ParameterInfo{"momentum", "0.9", "Nesterov momentum of the outer optimizer"},
                                    kIslandsParameter,
                                    kCodecParameter};

Composition make(SpecReader& reader) {
  return composeLocalSteps(reader, [&reader](Composition& made) { made.applier = readOuterSgd(reader); });
}

} // namespace

const Method& dilocoMethod() {
  static const Method kMethod = {"diloco", "outer Nesterov SGD along the mean of what `h` steps changed",
                                 "Douillard et al., arXiv 2311.08105", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
