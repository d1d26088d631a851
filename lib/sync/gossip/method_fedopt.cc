// Federated averaging. fedavg: McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized
// Data", AISTATS 2017. fedopt: Reddi et al., "Adaptive Federated Optimization", ICLR 2021, algorithm 2 (FedAdam).
// fedprox: Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020, algorithm 2.
//
// In each round some of the ranks take part, drawn alike by all; with x the parameters of all at its beginning and x_i
// those of rank i after h steps, D = the mean over these of x_i - x, weighted by their samples. Ranks that do not take
// part drop their steps.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "sync/gossip/random_order.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr ParameterInfo kPart = {"part", "1", "share of the ranks that take part in a round"};
constexpr ParameterInfo kSeed = {"seed", "1", "of who takes part"};
constexpr ParameterInfo kSamples = {"samples", "equal", "samples of each rank's data, such as 60;20;10;10"};
constexpr std::array kAvgParameters = {
    kPeriodParameter, kPart, kSeed, kSamples, ParameterInfo{"lr", "1", "of the outer step"}, kCodecParameter};
constexpr std::array kProxParameters = {
    kPeriodParameter, kPart, kSeed, kSamples, ParameterInfo{"mu", "0.01", "pull to the model of all"}, kCodecParameter};
constexpr std::array kOptParameters = {kPeriodParameter,
                                       kPart,
                                       kSeed,
                                       kSamples,
                                       ParameterInfo{"lr", "0.01", "of the outer step"},
                                       ParameterInfo{"beta1", "0.9", "of the outer momentum"},
                                       ParameterInfo{"beta2", "0.99", "of its square"},
                                       ParameterInfo{"eps", "0.001", "tau of the paper"},
                                       kCodecParameter};

struct Part {
  std::uint64_t period = 1;
  double share = 1;
  std::uint64_t seed = 1;
  std::vector<double> samples; ///< Samples of each rank; empty: all have equally many.
};

/// The factor with which `rank` enters the mean over all ranks: 0 if it does not take part, else its share of the
/// samples of those that do, times the number of ranks. The first of a random order of the ranks take part.
float factorOf(const Part& part, int rank, int ranks, std::uint64_t round) {
  std::vector<int> takers = randomOrder(ranks, part.seed, round);
  takers.resize(static_cast<std::size_t>(std::max(1.0, std::round(part.share * ranks))));
  const auto samplesOf = [&](int of) {
    return part.samples.empty() ? 1.0 : part.samples[static_cast<std::size_t>(of)];
  };
  double sum = 0;
  for (const int taker : takers) {
    sum += samplesOf(taker);
  }
  const bool takes_part = std::find(takers.begin(), takers.end(), rank) != takers.end();
  return takes_part ? static_cast<float>(samplesOf(rank) * ranks / sum) : 0.0f;
}

class FedAvg : public Rule {
 public:
  FedAvg(Part part, double lr) : part_(std::move(part)), lr_(static_cast<float>(lr)) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.vectors = 1;
    needs.ranks = part_.samples.size();
    return needs;
  }
  void begin(const Model& model) const override { std::copy(model.x.begin(), model.x.end(), model.state[0].begin()); }
  [[nodiscard]] bool actsAfter(std::uint64_t step) const override { return step % part_.period == 0; }

  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    std::vector<float>& reference = model.state[0];
    const float factor = factorOf(part_, peers.rank(), peers.size(), model.step / part_.period);
    std::vector<float> difference(reference.size(), 0.0f);
    for (std::size_t i = 0; factor > 0 && i < difference.size(); ++i) {
      difference[i] = factor * (model.x[i] - reference[i]);
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
      : FedAvg(std::move(part), lr),
        beta1_(static_cast<float>(adam[0])),
        beta2_(static_cast<float>(adam[1])),
        eps_(static_cast<float>(adam[2])) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs = FedAvg::needs();
    needs.vectors = 3;
    return needs;
  }

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

/// Adds mu / 2 |x - reference|^2 to what the optimizer minimises: that term's step of plain descent.
class FedProx : public FedAvg {
 public:
  FedProx(Part part, double mu) : FedAvg(std::move(part), 1), mu_(static_cast<float>(mu)) {}

  [[nodiscard]] bool actsBefore(std::uint64_t) const override { return true; }

  Status beforeOptimizer(GossipPeers&, const Model& model) const override {
    const float pull = static_cast<float>(model.lr) * mu_;
    for (std::size_t i = 0; i < model.x.size(); ++i) {
      model.x[i] -= pull * (model.x[i] - model.state[0][i]);
    }
    return Status::ok();
  }

 private:
  float mu_;
};

std::vector<double> readSamples(SpecReader& reader) {
  const std::string text = reader.text("samples");
  std::vector<double> samples;
  for (std::string_view left = text; !left.empty() && text != "equal";) {
    const std::string_view word = left.substr(0, left.find(';'));
    double number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    const bool is_number = error == std::errc() && end == word.data() + word.size();
    if (!is_number || !std::isfinite(number) || number <= 0 || word.size() + 1 == left.size()) {
      reader.refuse("samples is neither equal nor numbers above 0 with ';' between them");
      return {};
    }
    samples.push_back(number);
    left.remove_prefix(std::min(left.size(), word.size() + 1));
  }
  return samples;
}

Part readPart(SpecReader& reader) {
  Part part;
  part.period = reader.integer("h", kPeriodRange);
  part.share = reader.number("part", kUnitRange);
  part.seed = reader.integer("seed", {0, 1e9});
  part.samples = readSamples(reader);
  return part;
}

Composition makeAvg(SpecReader& reader) {
  Part part = readPart(reader);
  const double lr = reader.number("lr", kRateRange);
  return composeRule(reader, std::make_unique<FedAvg>(std::move(part), lr));
}

Composition makeProx(SpecReader& reader) {
  Part part = readPart(reader);
  const double mu = reader.number("mu", kRateRange);
  return composeRule(reader, std::make_unique<FedProx>(std::move(part), mu));
}

Composition makeOpt(SpecReader& reader) {
  Part part = readPart(reader);
  const double lr = reader.number("lr", kRateRange);
  std::array<double, 3> adam{};
  adam[0] = reader.number("beta1", kUnitRange);
  adam[1] = reader.number("beta2", kUnitRange);
  adam[2] = reader.number("eps", kEpsRange);
  return composeRule(reader, std::make_unique<FedAdam>(std::move(part), lr, adam));
}

} // namespace

const Method& fedavgMethod() {
  static const Method kMethod = {"fedavg", "a part of the ranks, another in each round, moves the model of all",
                                 "McMahan et al., AISTATS 2017", kAvgParameters, makeAvg};
  return kMethod;
}

const Method& fedproxMethod() {
  static const Method kMethod = {"fedprox", "as `fedavg`, with a pull to the model of all in every step",
                                 "Li et al., MLSys 2020", kProxParameters, makeProx};
  return kMethod;
}

const Method& fedoptMethod() {
  static const Method kMethod = {"fedopt", "as `fedavg`, with Adam as the outer optimizer", "Reddi et al., ICLR 2021",
                                 kOptParameters, makeOpt};
  return kMethod;
}

} // namespace goss::sync
