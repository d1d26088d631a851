// D-PSGD: Lian et al., "Can Decentralized Algorithms Outperform Centralized Algorithms?", NIPS 2017, algorithm 1.
#include <array>

#include "sync/gossip/mixing.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {kRingParameter, kEveryStepParameter, kCodecParameter};

Composition make(SpecReader& reader) {
  MixingPlan plan;
  plan.before = true;
  plan.topology = reader.text("topology");
  plan.period = reader.integer("h", kPeriodRange);
  return composeRule(reader, std::make_unique<Mixing>(std::move(plan)));
}

} // namespace

const Method& dpsgdMethod() {
  static const Method kMethod = {"dpsgd",
                                 "parameters become the weighted mean over neighbours, then the optimizer steps",
                                 "Lian et al., NIPS 2017", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
