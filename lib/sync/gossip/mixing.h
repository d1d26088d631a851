/// Rules that replace parameters by weighted sums over neighbours.
#ifndef GOSS_LIB_SYNC_GOSSIP_MIXING_H_
#define GOSS_LIB_SYNC_GOSSIP_MIXING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gossamer/gossip.h"
#include "sync/gossip/random_order.h"
#include "sync/rule.h"

namespace goss::sync {

/// The steps and rounds in which a Mixing exchanges.
struct MixingPlan {
  std::string topology;
  bool before = false;             ///< Mixes x_t while the optimizer has not moved it yet: x_{t+1} = W x_t - lr g.
  std::uint64_t period = 1;        ///< Steps between exchanges.
  std::uint64_t rounds = 1;        ///< Rounds of the topology in an exchange; 0: a whole period of it.
  std::uint64_t global_period = 0; ///< Every so many steps the mean over all ranks instead; 0: never.
  /// After each period of the topology the ranks take other places in it: first their own, then those of as many random
  /// orders of this seed as there are ranks.
  std::optional<std::uint64_t> rotation = std::nullopt;
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
  [[nodiscard]] bool actsBefore(std::uint64_t step) const override { return plan_.before && step % plan_.period == 0; }
  [[nodiscard]] bool actsAfter(std::uint64_t step) const override { return !plan_.before && step % plan_.period == 0; }
  Status beforeOptimizer(GossipPeers& peers, const Model& model) const override { return exchange(peers, model); }
  Status afterOptimizer(GossipPeers& peers, const Model& model) const override { return exchange(peers, model); }

 private:
  Status exchange(GossipPeers& peers, const Model& model) const {
    if (plan_.global_period > 0 && model.step % plan_.global_period == 0) {
      return peers.mean(model.x);
    }
    const std::uint64_t rounds = plan_.rounds > 0 ? plan_.rounds : peers.period();
    const std::uint64_t first = (model.step / plan_.period - 1) * rounds;
    for (std::uint64_t round = first; round < first + rounds; ++round) {
      if (Status status = peers.mix(model.x, round, orderIn(peers, round)); !status.isOk()) {
        return status;
      }
    }
    return Status::ok();
  }
  [[nodiscard]] std::vector<int> orderIn(const GossipPeers& peers, std::uint64_t round) const {
    const std::uint64_t number = round / peers.period() % (static_cast<std::uint64_t>(peers.size()) + 1);
    return plan_.rotation && number > 0 ? randomOrder(peers.size(), *plan_.rotation, number) : std::vector<int>();
  }

  MixingPlan plan_;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_GOSSIP_MIXING_H_
