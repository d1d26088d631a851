// Adam whose moments are exchanged. The optimizer is plain descent: it gets m / (sqrt(v) + eps).
//
// 1-bit-adam: Tang et al., "1-bit Adam: Communication Efficient Large-Scale Training with Adam's Convergence Speed",
// ICML 2021, without corrections of the moments' bias. qadam: Bagua's, which goes on to correct them. Both average
// gradients for `warmup` steps; then v stays, and what is averaged, compressed, is m = beta1 m + (1 - beta1) g of each
// rank's own gradient. 0-1-adam: Lu et al., "Maximizing Communication Efficiency for Large-scale Training via 0/1
// Adam", ICLR 2023, with DeepSpeed's schedules. dadam: Nazari, Tarzanagh and Michailidis, "DAdam", IEEE TSP 2022: Adam
// of each rank's own gradients, and gossip of parameters.
//
// An element whose gradients were all 0, such as the embedding of a token that no text has, has the variance 0. A codec
// gives its moment some noise, of which eps would make a giant step; so such elements do not move, as under Adam. An
// element whose first gradient comes after the variance is frozen does not move either, so the first `warmup` steps (or
// `freeze`) should include a gradient of every element.
#include <algorithm>
#include <array>
#include <cmath>

#include "gossamer/gossip.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr ParameterInfo kBeta1 = {"beta1", "0.9", "of the momentum"};
constexpr ParameterInfo kBeta2 = {"beta2", "0.999", "of its square"};
constexpr ParameterInfo kEps = {"eps", "1e-8", "added to the square root"};
constexpr ParameterInfo kWarmup = {"warmup", "100",
                                   "steps that average gradients uncompressed; elements without gradients there stay"};
constexpr std::array kOneBitParameters = {
    kBeta1, kBeta2, kEps, kWarmup,
    ParameterInfo{"codec", "sign:norm=l2+ef", "compressor of the momentum after the warm-up; comes last"}};
constexpr std::array kQadamParameters = {
    kBeta1, kBeta2, kEps, kWarmup,
    ParameterInfo{"codec", "minmaxuint8", "compressor of the momentum after the warm-up; comes last"}};
constexpr std::array kZeroOneParameters = {
    kBeta1,
    kBeta2,
    kEps,
    ParameterInfo{"freeze", "100000", "the last step that may update the variance"},
    ParameterInfo{"kappa", "16", "updates of the variance before the steps between two of them double"},
    ParameterInfo{"double_every", "32768", "steps after which the local steps of an exchange double"},
    ParameterInfo{"longest", "16", "most local steps of an exchange"},
    ParameterInfo{"codec", "sign:norm=l2+ef", "compressor of gradients and of exchanges of local steps; comes last"}};
constexpr std::array kDadamParameters = {kRingParameter, kBeta1, kBeta2, kEps, kCodecParameter};

struct Adam {
  float beta1, beta2, eps;
  bool corrects_bias;

  void updateMomentum(const Model& model) const {
    for (std::size_t i = 0; i < model.g.size(); ++i) {
      model.state[0][i] = beta1 * model.state[0][i] + (1 - beta1) * model.g[i];
    }
  }
  void update(const Model& model) const {
    updateMomentum(model);
    for (std::size_t i = 0; i < model.g.size(); ++i) {
      model.state[1][i] = beta2 * model.state[1][i] + (1 - beta2) * model.g[i] * model.g[i];
    }
  }
  void showDirection(const Model& model) const {
    const auto step = static_cast<double>(model.step);
    const auto first = static_cast<float>(corrects_bias ? 1 - std::pow(static_cast<double>(beta1), step) : 1.0);
    const auto second = static_cast<float>(corrects_bias ? 1 - std::pow(static_cast<double>(beta2), step) : 1.0);
    for (std::size_t i = 0; i < model.g.size(); ++i) {
      model.g[i] = divided(model.state[0][i] / first, model.state[1][i] / second);
    }
  }
  /// By the root of the variance.
  [[nodiscard]] float divided(float moment, float variance) const {
    return variance == 0 ? 0.0f : moment / (std::sqrt(variance) + eps);
  }
};

class FrozenAdam : public Rule {
 public:
  FrozenAdam(Adam adam, std::uint64_t warmup) : adam_(adam), warmup_(warmup) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.vectors = 2;
    needs.gradients = needs.descent = needs.equal = true;
    return needs;
  }
  [[nodiscard]] bool actsBefore(std::uint64_t) const override { return true; }

  Status beforeOptimizer(GossipPeers& peers, const Model& model) const override {
    Status status;
    if (model.step <= warmup_) {
      status = peers.exactMean(model.g);
      adam_.update(model);
    } else {
      adam_.updateMomentum(model);
      status = peers.mean(model.state[0]);
    }
    adam_.showDirection(model);
    return status;
  }

 private:
  Adam adam_;
  std::uint64_t warmup_;
};

struct ZeroOneSchedule {
  std::uint64_t freeze, kappa, double_every, longest;

  /// Whether a step up to `freeze` updates the variance: the first `kappa` do, then `kappa` at distance 2, and so on.
  [[nodiscard]] bool updatesVariance(std::uint64_t step) const {
    std::uint64_t distance = 1;
    for (std::uint64_t last = kappa; step > last; last = (last / distance + kappa) * distance) {
      distance *= 2;
    }
    return step % distance == 0;
  }
  /// Whether a step after `freeze` exchanges: each does at first, then every second one, every fourth, and so on.
  [[nodiscard]] bool exchanges(std::uint64_t step) const {
    std::uint64_t distance = 1;
    for (std::uint64_t past = (step - freeze - 1) / double_every; past > 0 && distance < longest; --past) {
      distance = std::min(2 * distance, longest);
    }
    return step % distance == 0;
  }
};

/// state[2]: what the local steps since the last exchange have moved x; scalars[0]: the sum of their learning rates.
class ZeroOneAdam : public Rule {
 public:
  ZeroOneAdam(Adam adam, ZeroOneSchedule schedule) : adam_(adam), schedule_(schedule) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.vectors = 3;
    needs.scalars = 1;
    needs.gradients = needs.descent = true;
    return needs;
  }
  [[nodiscard]] bool actsBefore(std::uint64_t) const override { return true; }
  [[nodiscard]] bool actsAfter(std::uint64_t step) const override {
    return step > schedule_.freeze && schedule_.exchanges(step);
  }

  Status beforeOptimizer(GossipPeers& peers, const Model& model) const override {
    Status status;
    if (model.step > schedule_.freeze) {
      adam_.updateMomentum(model);
    } else if (schedule_.updatesVariance(model.step)) {
      status = peers.exactMean(model.g);
      adam_.update(model);
    } else {
      status = peers.mean(model.g);
      adam_.updateMomentum(model);
    }
    adam_.showDirection(model);
    if (model.step > schedule_.freeze) {
      for (std::size_t i = 0; i < model.g.size(); ++i) {
        model.state[2][i] += static_cast<float>(model.lr) * model.g[i];
      }
      model.scalars[0] += model.lr;
    }
    return status;
  }

  /// Replaces this rank's local steps by the mean of all ranks' steps, and the momentum by one that explains that mean.
  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    std::vector<float>& moved = model.state[2];
    for (std::size_t i = 0; i < moved.size(); ++i) {
      model.x[i] += moved[i];
      moved[i] *= std::sqrt(model.state[1][i]) + adam_.eps;
    }
    Status status = peers.mean(moved, true);
    const auto rates = static_cast<float>(model.scalars[0]);
    for (std::size_t i = 0; status.isOk() && i < moved.size(); ++i) {
      model.state[0][i] = rates == 0 ? model.state[0][i] : moved[i] / rates; // steps of rate 0 explain no momentum
      model.x[i] -= adam_.divided(moved[i], model.state[1][i]);
    }
    forgetLocalSteps(model);
    return status;
  }
  Status finish(GossipPeers& peers, const Model& model) const override {
    forgetLocalSteps(model);
    return peers.exactMean(model.x);
  }
  void rejoin(const Model& model) const override { forgetLocalSteps(model); }

 private:
  static void forgetLocalSteps(const Model& model) {
    std::fill(model.state[2].begin(), model.state[2].end(), 0.0f);
    model.scalars[0] = 0;
  }

  Adam adam_;
  ZeroOneSchedule schedule_;
};

class DecentralizedAdam : public Rule {
 public:
  DecentralizedAdam(std::string topology, Adam adam) : topology_(std::move(topology)), adam_(adam) {}

  [[nodiscard]] Needs needs() const override { return {2, true, true, topology_, {GOSS_TOPOLOGY_DOUBLY_STOCHASTIC}}; }
  [[nodiscard]] bool actsBefore(std::uint64_t) const override { return true; }
  /// x_{t+1} = W x_t - lr * direction of this rank.
  Status beforeOptimizer(GossipPeers& peers, const Model& model) const override {
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
  adam.eps = static_cast<float>(reader.number("eps", kEpsRange));
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

Composition makeZeroOne(SpecReader& reader) {
  const Adam adam = readAdam(reader, false);
  ZeroOneSchedule schedule{};
  schedule.freeze = reader.integer("freeze", {1, 1e9});
  schedule.kappa = std::max<std::uint64_t>(1, reader.integer("kappa", {1, 1e9}));
  schedule.double_every = std::max<std::uint64_t>(1, reader.integer("double_every", {1, 1e9}));
  schedule.longest = reader.integer("longest", {1, 1e6});
  return composeRule(reader, std::make_unique<ZeroOneAdam>(adam, schedule));
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

const Method& zeroOneAdamMethod() {
  static const Method kMethod = {
      "0-1-adam",
      "Adam; its variance changes ever more seldom, gradients travel as signs, later only local steps' sums",
      "Lu et al., ICLR 2023", kZeroOneParameters, makeZeroOne};
  return kMethod;
}

const Method& dadamMethod() {
  static const Method kMethod = {"dadam", "Adam of a rank's own gradients, and gossip of parameters",
                                 "Nazari et al., 2022", kDadamParameters, makeDadam};
  return kMethod;
}

} // namespace goss::sync
