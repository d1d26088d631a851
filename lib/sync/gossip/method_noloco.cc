// NoLoCo: Kolehmainen et al., "NoLoCo: No-all-reduce Low Communication Training Method for Large Models", 2025: the
// outer step of DiLoCo with one random partner a round. With phi the slow parameters and Delta = theta - phi,
//   delta = alpha delta + beta mean(Delta) - gamma (phi - mean(phi));  phi += delta;  theta = phi
// where the means are over the rank and its partner.
#include <algorithm>
#include <array>

#include "sync/gossip/random_order.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {kPeriodParameter,
                                    ParameterInfo{"alpha", "0.5", "outer momentum"},
                                    ParameterInfo{"beta", "0.7", "outer learning rate"},
                                    ParameterInfo{"gamma", "1", "pull to the partners' mean"},
                                    ParameterInfo{"seed", "1", "of the pairs"},
                                    kCodecParameter};

struct Factors {
  float alpha, beta, gamma;
};

/// The partner of `rank` in a random pairing that all ranks draw alike; with an odd number one rank is its own.
int partnerOf(int rank, int ranks, std::uint64_t seed, std::uint64_t round) {
  const std::vector<int> order = randomOrder(ranks, seed, round);
  const auto place = static_cast<std::size_t>(std::find(order.begin(), order.end(), rank) - order.begin());
  const std::size_t other = place ^ 1u;
  return other < order.size() ? order[other] : rank;
}

class NoLoCo : public Rule {
 public:
  NoLoCo(std::uint64_t period, Factors factors, std::uint64_t seed) : period_(period), factors_(factors), seed_(seed) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.vectors = 2; // phi, delta
    needs.same_elements = false;
    return needs;
  }
  /// Exchanges bring the ranks' models closer, whatever the steps they are of.
  Status resume(GossipPeers&, const Model&) const override { return Status::ok(); }
  [[nodiscard]] bool actsAfter(std::uint64_t step) const override { return step % period_ == 0; }

  void begin(const Model& model) const override { std::copy(model.x.begin(), model.x.end(), model.state[0].begin()); }

  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    std::vector<float>& phi = model.state[0];
    std::vector<float>& delta = model.state[1];
    const int partner = partnerOf(peers.rank(), peers.size(), seed_, model.step / period_);
    std::vector<float> moved(phi.size()), slow = phi;
    for (std::size_t i = 0; i < phi.size(); ++i) {
      moved[i] = model.x[i] - phi[i];
    }
    Status status = peers.meet(partner, moved);
    if (status.isOk()) {
      status = peers.meet(partner, slow);
    }
    for (std::size_t i = 0; status.isOk() && i < phi.size(); ++i) {
      delta[i] = factors_.alpha * delta[i] + factors_.beta * moved[i] - factors_.gamma * (phi[i] - slow[i]);
      phi[i] += delta[i];
      model.x[i] = phi[i];
    }
    return status;
  }

 private:
  std::uint64_t period_;
  Factors factors_;
  std::uint64_t seed_;
};

Composition make(SpecReader& reader) {
  const std::uint64_t period = reader.integer("h", kPeriodRange);
  Factors factors{};
  factors.alpha = static_cast<float>(reader.number("alpha", kUnitRange));
  factors.beta = static_cast<float>(reader.number("beta", kRateRange));
  factors.gamma = static_cast<float>(reader.number("gamma", kRateRange));
  const std::uint64_t seed = reader.integer("seed", {0, 1e9});
  return composeRule(reader, std::make_unique<NoLoCo>(period, factors, seed));
}

} // namespace

const Method& nolocoMethod() {
  static const Method kMethod = {"noloco", "DiLoCo's outer step with one random partner a round, no all-reduce",
                                 "Kolehmainen et al., arXiv 2506.10911", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
