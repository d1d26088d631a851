// Federated averaging. fedavg: McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized
// Data", AISTATS 2017. fedopt: Reddi et al., "Adaptive Federated Optimization", ICLR 2021, algorithm 2 (FedAdam).
//
// In each round some of the ranks take part, drawn alike by all; with x the parameters of all at its beginning and x_i
// those of rank i after h steps, D = the mean over these of x_i - x. Ranks that do not take part drop their steps.
#include <algorithm>
#include <array>
#include <cmath>

#include "sync/gossip/random_order.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr ParameterInfo kPart = {"part", "1", "share of the ranks that take part in a round"};
constexpr ParameterInfo kSeed = {"seed", "1", "of who takes part"};
constexpr std::array kAvgParameters = {kPeriodParameter, kPart, kSeed, ParameterInfo{"lr", "1", "of the outer step"},
                                       kCodecParameter};
constexpr std::array kOptParameters = {kPeriodParameter,
                                       kPart,
                                       kSeed,
                                       ParameterInfo{"lr", "0.01", "of the outer step"},
                                       ParameterInfo{"beta1", "0.9", "of the outer momentum"},
                                       ParameterInfo{"beta2", "0.99", "of its square"},
                                       ParameterInfo{"eps", "0.001", "tau of the paper"},
                                       kCodecParameter};

struct Part {
  std::uint64_t period = 1;
  double share = 1;
  std::uint64_t seed = 1;
};

/// Whether `rank` is among the first part of a random order of the ranks.
bool takesPart(const Part& part, int rank, int ranks, std::uint64_t round) {
  const std::vector<int> order = randomOrder(ranks, part.seed, round);
  const double wanted = std::max(1.0, std::round(part.share * ranks));
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(wanted);
  return std::find(order.begin(), end, rank) != end;
}

class FedAvg : public Rule {
 public:
  FedAvg(Part part, double lr) : part_(part), lr_(static_cast<float>(lr)) {}

  [[nodiscard]] Needs needs() const override { return {1, false, false, "", {}}; }
  void begin(const Model& model) const override { std::copy(model.x.begin(), model.x.end(), model.state[0].begin()); }

  Status afterOptimizer(Peers& peers, const Model& model) const override {
    if (model.step % part_.period != 0) {
      return Status::ok();
    }
    std::vector<float>& reference = model.state[0];
    const std::uint64_t round = model.step / part_.period;
    int count = 0;
    for (int rank = 0; rank < peers.size(); ++rank) {
      count += takesPart(part_, rank, peers.size(), round) ? 1 : 0;
    }
    // The mean over all ranks, of which those that take part count `scale` times.
    const float scale = static_cast<float>(peers.size()) / static_cast<float>(count);
    std::vector<float> difference(reference.size(), 0.0f);
    for (std::size_t i = 0; takesPart(part_, peers.rank(), peers.size(), round) && i < difference.size(); ++i) {
      difference[i] = scale * (model.x[i] - reference[i]);
    }
    Status status = peers.mean(difference);
    if (status.isOk()) {
      outerStep(model, difference);
      std::copy(reference.begin(), reference.end(), model.x.begin());
    }
    return status;
  }

 protected:
  /// Moves the reference, state[0].
  virtual void outerStep(const Model& model, std::span<const float> difference) const {
    for (std::size_t i = 0; i < difference.size(); ++i) {
      model.state[0][i] += lr_ * difference[i];
    }
  }
  Part part_;
  float lr_;
};

class FedAdam : public FedAvg {
 public:
  FedAdam(Part part, double lr, std::array<double, 3> adam)
      : FedAvg(part, lr),
        beta1_(static_cast<float>(adam[0])),
        beta2_(static_cast<float>(adam[1])),
        eps_(static_cast<float>(adam[2])) {}

  [[nodiscard]] Needs needs() const override { return {3, false, false, "", {}}; }

 protected:
  void outerStep(const Model& model, std::span<const float> difference) const override {
    for (std::size_t i = 0; i < difference.size(); ++i) {
      float& m = model.state[1][i];
      float& v = model.state[2][i];
      m = beta1_ * m + (1 - beta1_) * difference[i];
      v = beta2_ * v + (1 - beta2_) * difference[i] * difference[i];
      model.state[0][i] += lr_ * m / (std::sqrt(v) + eps_);
    }
  }

 private:
  float beta1_, beta2_, eps_;
};

Part readPart(SpecReader& reader) {
  Part part;
  part.period = reader.integer("h", kPeriodRange);
  part.share = reader.number("part", kUnitRange);
  part.seed = reader.integer("seed", {0, 1e9});
  return part;
}

Composition makeAvg(SpecReader& reader) {
  const Part part = readPart(reader);
  const double lr = reader.number("lr", kRateRange);
  return composeRule(reader, std::make_unique<FedAvg>(part, lr));
}

Composition makeOpt(SpecReader& reader) {
  const Part part = readPart(reader);
  const double lr = reader.number("lr", kRateRange);
  std::array<double, 3> adam{};
  adam[0] = reader.number("beta1", kUnitRange);
  adam[1] = reader.number("beta2", kUnitRange);
  adam[2] = reader.number("eps", kRateRange);
  return composeRule(reader, std::make_unique<FedAdam>(part, lr, adam));
}

} // namespace

const Method& fedavgMethod() {
  static const Method kMethod = {"fedavg", "a part of the ranks, another in each round, moves the model of all",
                                 "McMahan et al., AISTATS 2017", kAvgParameters, makeAvg};
  return kMethod;
}

const Method& fedoptMethod() {
  static const Method kMethod = {"fedopt", "as `fedavg`, with Adam as the outer optimizer", "Reddi et al., ICLR 2021",
                                 kOptParameters, makeOpt};
  return kMethod;
}

} // namespace goss::sync
