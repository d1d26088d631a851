// Compressed gossip through replicas that all neighbours keep alike.
//
// choco: Koloskova et al., "Decentralized Deep Learning with Arbitrary Communication Compression", ICLR 2020, algorithm
// 2, in the form of two vectors: x^ (this rank's replica) and s = sum_j w_ij x^_j. dcd: Tang et al., "Communication
// Compression for Decentralized Training", NeurIPS 2018, algorithm 2, in which x itself is the replica; Bagua calls it
// low precision decentralized.
#include <algorithm>
#include <array>

#include "gossamer/gossip.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kChocoParameters = {kRingParameter, kGammaParameter, kCodecParameter};
constexpr std::array kDcdParameters = {kRingParameter, kCodecParameter};

/// s is right only while the weights are, hence the constant topology.
class Replicas : public Rule {
 public:
  explicit Replicas(std::string topology) : topology_(std::move(topology)) {}

  [[nodiscard]] Needs needs() const override {
    return {2, false, false, topology_, {GOSS_TOPOLOGY_DOUBLY_STOCHASTIC, GOSS_TOPOLOGY_CONSTANT}};
  }
  /// Rows sum to 1, so that the sum over equal replicas is one of them.
  void begin(const Model& model) const override {
    for (std::vector<float>& vector : model.state) {
      std::copy(model.x.begin(), model.x.end(), vector.begin());
    }
  }
  void rejoin(const Model& model) const override { begin(model); }
  [[nodiscard]] bool actsAfter(std::uint64_t) const override { return true; }

 protected:
  /// Sends `difference`, encoded, and moves the replica and the sum.
  static Status send(Peers& peers, const Model& model, std::span<const float> difference) {
    std::vector<float> own(difference.size()), sum(difference.size());
    if (Status status = peers.mixEncoded({difference, own, sum}, 0, model.step); !status.isOk()) {
      return status;
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      model.state[0][i] += own[i];
      model.state[1][i] += sum[i];
    }
    return Status::ok();
  }

 private:
  std::string topology_;
};

class Choco : public Replicas {
 public:
  Choco(std::string topology, double gamma) : Replicas(std::move(topology)), gamma_(static_cast<float>(gamma)) {}

  Status afterOptimizer(Peers& peers, const Model& model) const override {
    std::vector<float> difference(model.x.size());
    for (std::size_t i = 0; i < difference.size(); ++i) {
      difference[i] = model.x[i] - model.state[0][i];
    }
    Status status = send(peers, model, difference);
    for (std::size_t i = 0; status.isOk() && i < difference.size(); ++i) {
      model.x[i] += gamma_ * (model.state[1][i] - model.state[0][i]);
    }
    return status;
  }

 private:
  float gamma_;
};

class Dcd : public Replicas {
 public:
  using Replicas::Replicas;

  Status afterOptimizer(Peers& peers, const Model& model) const override {
    std::vector<float> difference(model.x.size());
    for (std::size_t i = 0; i < difference.size(); ++i) { // sum_j w_ij x^_j - lr g - x^_i, with x = x^_i - lr g
      difference[i] = model.state[1][i] + (model.x[i] - model.state[0][i]) - model.state[0][i];
    }
    Status status = send(peers, model, difference);
    std::copy(model.state[0].begin(), model.state[0].end(), model.x.begin());
    return status;
  }
};

Composition makeChoco(SpecReader& reader) {
  std::string topology = reader.text("topology");
  const double gamma = reader.number("gamma", kUnitRange);
  return composeRule(reader, std::make_unique<Choco>(std::move(topology), gamma));
}

Composition makeDcd(SpecReader& reader) {
  std::string topology = reader.text("topology");
  return composeRule(reader, std::make_unique<Dcd>(std::move(topology)));
}

} // namespace

const Method& chocoMethod() {
  static const Method kMethod = {"choco", "neighbours follow replicas by compressed differences; the mean is kept",
                                 "Koloskova et al., ICLR 2020", kChocoParameters, makeChoco};
  return kMethod;
}

const Method& dcdMethod() {
  static const Method kMethod = {"dcd", "as `choco`, but the parameters are the replica: they drift with the losses",
                                 "Tang et al., NeurIPS 2018", kDcdParameters, makeDcd};
  return kMethod;
}

} // namespace goss::sync
