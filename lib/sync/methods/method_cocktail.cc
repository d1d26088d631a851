// CocktailSGD: Wang et al., ICML 2023. After every step the ranks exchange their differences to the common model:
// random blocks, of these the largest elements, in 4 bits, with error feedback on both sides. The exchange of a step
// runs while the next ones compute. What a rank's encoding lost stays in that rank's parameters, as in the published
// code: it computes with the common model plus its own steps that have not reached the other ranks.
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"h", "1", "steps between exchanges"},
    ParameterInfo{"tau", "1", "steps from the start of an exchange to its application; at most h"}, kIslandsParameter,
    ParameterInfo{"codec", "cocktail+ef", "compressor of what is exchanged; comes last"}};

Composition make(SpecReader& reader) {
  Composition made = composeLocalSteps(reader, [&reader](Composition& part) {
    part.timing.overlap = reader.integer("tau", {0, kPeriodRange.high});
    part.applier = std::make_unique<OuterSgd>(1, 0);
  });
  if (made.timing.overlap > made.timing.period) {
    reader.refuse("tau must be at most h");
  }
  made.keeps_lost = true;
  made.keeps_newer = made.timing.overlap > 0;
  return made;
}

} // namespace

const Method& cocktailMethod() {
  static const Method kMethod = {
      "cocktail",
      "how far a step went: random blocks, of these the largest, in 4 bits; applied `tau` steps after it left",
      "Wang et al., ICML 2023", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
