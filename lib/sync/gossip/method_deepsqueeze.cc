// DeepSqueeze: Tang et al., "DeepSqueeze: Decentralization Meets Error-Compensated Compression", 2019, algorithm 1:
// v = x + e, e = v - Q(v), x += gamma (sum_j w_ij Q(v_j) - Q(v_i)).
#include <array>

#include "gossamer/gossip.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {kRingParameter, kGammaParameter, kCodecParameter};

class DeepSqueeze : public Rule {
 public:
  DeepSqueeze(std::string topology, double gamma) : topology_(std::move(topology)), gamma_(gamma) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.vectors = 1;
    needs.topology = topology_;
    needs.properties = {GOSS_TOPOLOGY_DOUBLY_STOCHASTIC};
    needs.encodes = true;
    return needs;
  }

  [[nodiscard]] bool actsAfter(std::uint64_t) const override { return true; }
  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    std::vector<float>& lost = model.state[0];
    std::vector<float> sent = lost, own(lost.size());
    std::vector<double> change(lost.size());
    for (std::size_t i = 0; i < lost.size(); ++i) {
      sent[i] += model.x[i];
    }
    if (Status status = peers.mixEncoded({sent, own, change, true}, model.step - 1, model.step); !status.isOk()) {
      return status;
    }
    for (std::size_t i = 0; i < lost.size(); ++i) {
      lost[i] = sent[i] - own[i];
      model.x[i] = static_cast<float>(static_cast<double>(model.x[i]) + gamma_ * change[i]);
    }
    return Status::ok();
  }

 private:
  std::string topology_;
  double gamma_;
};

Composition make(SpecReader& reader) {
  std::string topology = reader.text("topology");
  const double gamma = reader.number("gamma", kUnitRange);
  return composeRule(reader, std::make_unique<DeepSqueeze>(std::move(topology), gamma));
}

} // namespace

const Method& deepsqueezeMethod() {
  static const Method kMethod = {"deepsqueeze", "compressed gossip of parameters with error feedback",
                                 "Tang et al., arXiv 1907.07346", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
