// Majority votes. lion: Liu et al., "Communication Efficient Distributed Training with Distributed Lion", NeurIPS 2024
// (MaVo). signum: Bernstein et al., "signSGD with Majority Vote is Communication Efficient And Fault Tolerant", ICLR
// 2019. A rank whose candidate is 0 abstains, as sign(0) = 0 in both, and a tie gives no step. Weight decay is the
// optimizer's.
#include <array>

#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kLionParameters = {ParameterInfo{"beta1", "0.9", "of what is voted on"},
                                        ParameterInfo{"beta2", "0.99", "of the momentum"}};
constexpr std::array kSignumParameters = {ParameterInfo{"beta", "0.9", "of the momentum"}};

/// Votes on c = beta1 m + (1 - beta1) g; then m = beta2 m + (1 - beta2) g. With equal betas c is the new momentum.
class MajorityVote : public Rule {
 public:
  MajorityVote(double beta1, double beta2) : beta1_(static_cast<float>(beta1)), beta2_(static_cast<float>(beta2)) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.vectors = 1;
    needs.gradients = needs.descent = needs.equal = true;
    return needs;
  }
  [[nodiscard]] bool actsBefore(std::uint64_t) const override { return true; }

  Status beforeOptimizer(GossipPeers& peers, const Model& model) const override {
    std::vector<float>& momentum = model.state[0];
    std::vector<float> candidate(momentum.size());
    for (std::size_t i = 0; i < momentum.size(); ++i) {
      candidate[i] = beta1_ * momentum[i] + (1 - beta1_) * model.g[i];
      momentum[i] = beta2_ * momentum[i] + (1 - beta2_) * model.g[i];
    }
    Status status = peers.votes(candidate, model.g, model.step);
    for (float& votes : model.g) {
      votes = votes > 0 ? 1.0f : votes < 0 ? -1.0f : 0.0f;
    }
    return status;
  }

 private:
  float beta1_, beta2_;
};

Composition makeLion(SpecReader& reader) {
  const double beta1 = reader.number("beta1", kUnitRange);
  Composition made;
  made.layout.codec = "none"; // votes are bits already
  made.rule = std::make_unique<MajorityVote>(beta1, reader.number("beta2", kUnitRange));
  return made;
}

Composition makeSignum(SpecReader& reader) {
  const double beta = reader.number("beta", kUnitRange);
  Composition made;
  made.layout.codec = "none"; // votes are bits already
  made.rule = std::make_unique<MajorityVote>(beta, beta);
  return made;
}

} // namespace

const Method& lionMethod() {
  static const Method kMethod = {"lion",
                                 "Distributed Lion: one bit an element, by majority; the optimizer is plain descent",
                                 "Liu et al., NeurIPS 2024", kLionParameters, makeLion};
  return kMethod;
}

const Method& signumMethod() {
  static const Method kMethod = {"signum", "signs of momenta by majority; the optimizer is plain descent",
                                 "Bernstein et al., ICLR 2019", kSignumParameters, makeSignum};
  return kMethod;
}

} // namespace goss::sync
