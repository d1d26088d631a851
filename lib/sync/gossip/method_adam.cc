// Adam whose moments are exchanged. The optimizer is plain descent: it gets m / (sqrt(v) + eps).
//
// 1-bit-adam: Tang et al., "1-bit Adam: Communication Efficient Large-Scale Training with Adam's Convergence Speed",
// ICML 2021, without corrections of the moments' bias. qadam: Bagua's, which goes on to correct them. Both average
// gradients for `warmup` steps; then v stays, and what is averaged, compressed, is m = beta1 m + (1 - beta1) g of each
// rank's own gradient. dadam: Nazari, Tarzanagh and Michailidis, "DAdam", IEEE TSP 2022: Adam of each rank's own
// gradients, and gossip of parameters.
#include <array>
#include <cmath>

#include "gossamer/gossip.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr ParameterInfo kBeta1 = {"beta1", "0.9", "of the momentum"};
constexpr ParameterInfo kBeta2 = {"beta2", "0.999", "of its square"};
constexpr ParameterInfo kEps = {"eps", "1e-8", "added to the square root"};
constexpr ParameterInfo kWarmup = {"warmup", "100", "steps that average gradients uncompressed"};
constexpr std::array kOneBitParameters = {
    kBeta1, kBeta2, kEps, kWarmup,
    ParameterInfo{"codec", "sign:norm=l2+ef", "compressor of the momentum after the warm-up; comes last"}};
constexpr std::array kQadamParameters = {
    kBeta1, kBeta2, kEps, kWarmup,
    ParameterInfo{"codec", "minmaxuint8", "compressor of the momentum after the warm-up; comes last"}};
constexpr std::array kDadamParameters = {kRingParameter, kBeta1, kBeta2, kEps, kCodecParameter};

struct Adam {
  float beta1, beta2, eps;
  bool corrects_bias;

  void update(const Model& model) const {
    for (std::size_t i = 0; i < model.g.size(); ++i) {
      model.state[0][i] = beta1 * model.state[0][i] + (1 - beta1) * model.g[i];
      model.state[1][i] = beta2 * model.state[1][i] + (1 - beta2) * model.g[i] * model.g[i];
    }
  }
  void showDirection(const Model& model) const {
    const auto step = static_cast<double>(model.step);
    const auto first = static_cast<float>(corrects_bias ? 1 - std::pow(static_cast<double>(beta1), step) : 1.0);
    const auto second = static_cast<float>(corrects_bias ? 1 - std::pow(static_cast<double>(beta2), step) : 1.0);
    for (std::size_t i = 0; i < model.g.size(); ++i) {
      model.g[i] = model.state[0][i] / first / (std::sqrt(model.state[1][i] / second) + eps);
    }
  }
};

class FrozenAdam : public Rule {
 public:
  FrozenAdam(Adam adam, std::uint64_t warmup) : adam_(adam), warmup_(warmup) {}

  [[nodiscard]] Needs needs() const override { return {2, true, true, "", {}}; }

  Status beforeOptimizer(Peers& peers, const Model& model) const override {
    Status status;
    if (model.step <= warmup_) {
      status = peers.exactMean(model.g);
      adam_.update(model);
    } else {
      std::vector<float>& momentum = model.state[0];
      for (std::size_t i = 0; i < momentum.size(); ++i) {
        momentum[i] = adam_.beta1 * momentum[i] + (1 - adam_.beta1) * model.g[i];
      }
      status = peers.mean(momentum);
    }
    adam_.showDirection(model);
    return status;
  }

 private:
  Adam adam_;
  std::uint64_t warmup_;
};

class DecentralizedAdam : public Rule {
 public:
  DecentralizedAdam(std::string topology, Adam adam) : topology_(std::move(topology)), adam_(adam) {}

  [[nodiscard]] Needs needs() const override { return {2, true, true, topology_, {GOSS_TOPOLOGY_DOUBLY_STOCHASTIC}}; }
  /// x_{t+1} = W x_t - lr * direction of this rank.
  Status beforeOptimizer(Peers& peers, const Model& model) const override {
    adam_.update(model);
    adam_.showDirection(model);
    return peers.mix(model.x, model.step - 1);
  }

 private:
  std::string topology_;
  Adam adam_;
};

Adam readAdam(SpecReader& reader, bool corrects_bias) {
  Adam adam{};
  adam.beta1 = static_cast<float>(reader.number("beta1", {0, 0.999999}));
  adam.beta2 = static_cast<float>(reader.number("beta2", {0, 0.999999}));
  adam.eps = static_cast<float>(reader.number("eps", kRateRange));
  adam.corrects_bias = corrects_bias;
  return adam;
}

Composition makeOneBit(SpecReader& reader) {
  const Adam adam = readAdam(reader, false);
  const std::uint64_t warmup = reader.integer("warmup", {1, 1e9});
  return composeRule(reader, std::make_unique<FrozenAdam>(adam, warmup));
}

Composition makeQadam(SpecReader& reader) {
  const Adam adam = readAdam(reader, true);
  const std::uint64_t warmup = reader.integer("warmup", {1, 1e9});
  return composeRule(reader, std::make_unique<FrozenAdam>(adam, warmup));
}

Composition makeDadam(SpecReader& reader) {
  std::string topology = reader.text("topology");
  const Adam adam = readAdam(reader, true);
  return composeRule(reader, std::make_unique<DecentralizedAdam>(std::move(topology), adam));
}

} // namespace

const Method& oneBitAdamMethod() {
  static const Method kMethod = {"1-bit-adam",
                                 "Adam; after `warmup` steps its variance stays and momenta travel as signs",
                                 "Tang et al., ICML 2021", kOneBitParameters, makeOneBit};
  return kMethod;
}

const Method& qadamMethod() {
  static const Method kMethod = {"qadam", "as `1-bit-adam`, in 8 bits and with the moments' bias corrected",
                                 "Gan et al., VLDB 2021 (Bagua)", kQadamParameters, makeQadam};
  return kMethod;
}

const Method& dadamMethod() {
  static const Method kMethod = {"dadam", "Adam of a rank's own gradients, and gossip of parameters",
                                 "Nazari et al., 2022", kDadamParameters, makeDadam};
  return kMethod;
}

} // namespace goss::sync
