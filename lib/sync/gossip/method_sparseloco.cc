// SparseLoCo: Sarfi et al., "Communication Efficient LLM Pre-training with SparseLoCo", 2025: DiLoCo whose differences
// are cut to their largest elements in 2 bits, with an error feedback that decays in place of the outer momentum.
#include <fmt/format.h>

#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {kPeriodParameter, ParameterInfo{"lr", "1", "of the outer step"},
                                    ParameterInfo{"ratio", "0.03125", "share of the elements that are sent"},
                                    ParameterInfo{"decay", "0.95", "of the error feedback"}};

Composition make(SpecReader& reader) {
  Composition made;
  made.timing.period = reader.integer("h", kPeriodRange);
  made.applier = std::make_unique<OuterSgd>(reader.number("lr", kRateRange), 0);
  const double ratio = reader.number("ratio", {1e-6, 1});
  made.layout.codec =
      fmt::format("topk:ratio={}+int2+ef:decay={},at=worker", ratio, reader.number("decay", kUnitRange));
  return made;
}

} // namespace

const Method& sparselocoMethod() {
  static const Method kMethod = {"sparseloco",
                                 "DiLoCo with the largest differences in 2 bits, and feedback for momentum",
                                 "Sarfi et al., arXiv 2508.15706", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
