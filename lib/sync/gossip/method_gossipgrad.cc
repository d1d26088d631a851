// GossipGraD: Daily et al., "GossipGraD: Scalable Deep Learning using Gossip Communication based Asynchronous Gradient
// Descent", 2018: one partner a batch, by the dissemination pattern. The shuffling of samples is the data loader's.
#include <array>

#include "sync/gossip/mixing.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"topology", "one-peer-exponential", "who averages with whom (gossip.h), ';' for ','"},
    kCodecParameter};

Composition make(SpecReader& reader) {
  MixingPlan plan;
  plan.topology = reader.text("topology");
  return composeRule(reader, std::make_unique<Mixing>(std::move(plan)));
}

} // namespace

const Method& gossipgradMethod() {
  static const Method kMethod = {"gossipgrad", "behind each step the mean with one partner, another in every step",
                                 "Daily et al., arXiv 1803.05880", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
