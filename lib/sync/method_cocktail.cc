// CocktailSGD: Wang et al., ICML 2023. After every step the ranks exchange how far they went from the common model:
// random blocks, of these the largest, in 4 bits, with error feedback on both sides. In the published code what a
// rank's encoding lost stays in that rank's parameters; here it is kept beside them, so that all ranks compute on the
// same model.
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"h", "1", "steps between exchanges"}, kIslandsParameter,
    ParameterInfo{"codec", "cocktail+ef", "compressor of what is exchanged; comes last"}};

Composition make(SpecReader& reader) {
  return composeLocalSteps(reader, [](Composition& made) { made.applier = std::make_unique<OuterSgd>(1, 0); });
}

} // namespace

const Method& cocktailMethod() {
  static const Method kMethod = {"cocktail", "steps are exchanged as random blocks, their largest elements, in 4 bits",
                                 "Wang et al., ICML 2023", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
