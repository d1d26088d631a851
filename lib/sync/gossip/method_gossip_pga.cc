// Gossip-PGA: Chen et al., "Accelerating Gossip SGD with Periodic Global Averaging", ICML 2021, algorithm 1.
#include <array>

#include "sync/gossip/mixing.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"topology", "one-peer-exponential", "who averages with whom (gossip.h), ';' for ','"},
    ParameterInfo{"h", "6", "steps between means over all ranks"}, kCodecParameter};

Composition make(SpecReader& reader) {
  MixingPlan plan;
  plan.topology = reader.text("topology");
  plan.global_period = reader.integer("h", kPeriodRange);
  return composeRule(reader, std::make_unique<Mixing>(std::move(plan)));
}

} // namespace

const Method& gossipPgaMethod() {
  static const Method kMethod = {"gossip-pga", "gossip behind each step, and the mean over all ranks every `h` steps",
                                 "Chen et al., ICML 2021", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
