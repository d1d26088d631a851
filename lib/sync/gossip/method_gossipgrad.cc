// GossipGraD: Daily et al., "GossipGraD: Scalable Deep Learning using Gossip Communication based Asynchronous Gradient
// Descent", 2018: one partner a batch, by the dissemination pattern, and after log2(ranks) batches the same among ranks
// in another order. The shuffling of samples is the data loader's.
#include <array>

#include "sync/gossip/mixing.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"topology", "one-peer-exponential", "who averages with whom (gossip.h), ';' for ','"},
    ParameterInfo{"seed", "1", "of the orders that the ranks take after each period of the topology"}, kCodecParameter};

Composition make(SpecReader& reader) {
  MixingPlan plan;
  plan.topology = reader.text("topology");
  plan.rotation = reader.integer("seed", {0, 1e9});
  return composeRule(reader, std::make_unique<Mixing>(std::move(plan)));
}

} // namespace

const Method& gossipgradMethod() {
  static const Method kMethod = {"gossipgrad", "behind each step the mean with one partner, by turns all of them",
                                 "Daily et al., arXiv 1803.05880", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
