/// Rules that replace parameters by weighted sums over neighbours.
#ifndef GOSS_LIB_SYNC_GOSSIP_MIXING_H_
#define GOSS_LIB_SYNC_GOSSIP_MIXING_H_

#include <string>

#include "gossamer/gossip.h"
#include "sync/rule.h"

namespace goss::sync {

/// When a Mixing mixes.
struct MixingPlan {
  std::string topology;
  bool before = false;             ///< Mixes x_t while the optimizer has not moved it yet: x_{t+1} = W x_t - lr g.
  std::uint64_t period = 1;        ///< Steps between exchanges.
  std::uint64_t rounds = 1;        ///< Rounds of the topology in an exchange; 0: a whole period of it.
  std::uint64_t global_period = 0; ///< Every so many steps the mean over all ranks instead; 0: never.
};

/// x = W x, W doubly stochastic, so that the mean over the ranks is kept.
class Mixing : public Rule {
 public:
  explicit Mixing(MixingPlan plan) : plan_(std::move(plan)) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.topology = plan_.topology;
    needs.properties = {GOSS_TOPOLOGY_DOUBLY_STOCHASTIC};
    return needs;
  }
  Status beforeOptimizer(Peers& peers, const Model& model) const override {
    return plan_.before ? exchange(peers, model) : Status::ok();
  }
  Status afterOptimizer(Peers& peers, const Model& model) const override {
    return plan_.before ? Status::ok() : exchange(peers, model);
  }

 private:
  Status exchange(Peers& peers, const Model& model) const {
    if (model.step % plan_.period != 0) {
      return Status::ok();
    }
    if (plan_.global_period > 0 && model.step % plan_.global_period == 0) {
      return peers.mean(model.x);
    }
    const std::uint64_t rounds = plan_.rounds > 0 ? plan_.rounds : peers.period();
    const std::uint64_t first = (model.step / plan_.period - 1) * rounds;
    for (std::uint64_t round = first; round < first + rounds; ++round) {
      if (Status status = peers.mix(model.x, round); !status.isOk()) {
        return status;
      }
    }
    return Status::ok();
  }

  MixingPlan plan_;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_GOSSIP_MIXING_H_
