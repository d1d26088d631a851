// CocktailSGD: Wang et al., ICML 2023. After every step the ranks exchange how far they went from the common model:
// random blocks, of these the largest, in 4 bits, with error feedback on both sides. What a rank's encoding lost stays
// in that rank's parameters, as in the published code: it computes on the common model and its own steps not yet sent.
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"h", "1", "steps between exchanges"}, kIslandsParameter,
    ParameterInfo{"codec", "cocktail+ef", "compressor of what is exchanged; comes last"}};

Composition make(SpecReader& reader) {
  Composition made =
      composeLocalSteps(reader, [](Composition& filled) { filled.applier = std::make_unique<OuterSgd>(1, 0); });
  made.keeps_lost = made.layout.codec.find("+ef") != std::string::npos;
  return made;
}

} // namespace

const Method& cocktailMethod() {
  static const Method kMethod = {"cocktail", "steps are exchanged as random blocks, their largest elements, in 4 bits",
                                 "Wang et al., ICML 2023", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
