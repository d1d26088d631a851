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

/// Each round of the topology's period has a replica and a sum of its own, which only its exchanges move: so they are
/// right although neighbours and weights change from round to round. Scalars: the replicas' versions, which grow with
/// each difference that a rank sends.
class Replicas : public Rule {
 public:
  explicit Replicas(std::string topology) : topology_(std::move(topology)) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.vectors = 2;
    needs.scalars = 1;
    needs.topology = topology_;
    needs.properties = {GOSS_TOPOLOGY_DOUBLY_STOCHASTIC};
    needs.per_round = needs.begins_anew = true;
    return needs;
  }
  /// Rows sum to 1, so that the sum over equal replicas is one of them.
  void begin(const Model& model) const override {
    for (std::vector<float>& vector : model.state) {
      std::copy(model.x.begin(), model.x.end(), vector.begin());
    }
    std::fill(model.scalars.begin(), model.scalars.end(), 0.0);
  }
  void rejoin(const Model& model) const override { begin(model); }

  /// Where versions differ a difference is lost: a rank has sent it, or has not, and its neighbours know another
  /// replica. Then all send theirs whole, and the sums are made anew. What all have then gets a version above all that
  /// there were: a state from before it must not look as if it were of now.
  Status resume(Peers& peers, const Model& model) const override {
    for (std::size_t round = 0; round < model.scalars.size(); ++round) {
      const Result<bool> is_equal = peers.allEqual(static_cast<std::uint64_t>(model.scalars[round]));
      if (!is_equal.isOk()) {
        return is_equal.status();
      }
      if (is_equal.value()) {
        continue;
      }
      model.state[2 * round + 1] = model.state[2 * round];
      if (Status status = peers.mixExactly(model.state[2 * round + 1], round); !status.isOk()) {
        return status;
      }
      const Result<double> latest = peers.largest(model.scalars[round]);
      if (!latest.isOk()) {
        return latest.status();
      }
      model.scalars[round] = latest.value() + 1;
    }
    return Status::ok();
  }
  [[nodiscard]] bool actsAfter(std::uint64_t) const override { return true; }

 protected:
  struct Pair {
    std::vector<float>& replica;
    std::vector<float>& sum;
  };
  /// The replica and the sum that this rank keeps for the round of the current step.
  static Pair pairOf(const Peers& peers, const Model& model) {
    const std::size_t round = roundOf(peers, model);
    return {model.state[2 * round], model.state[2 * round + 1]};
  }

  /// Sends `difference`, encoded, and moves the replica and the sum.
  static Status send(Peers& peers, const Model& model, std::span<const float> difference) {
    std::vector<float> own(difference.size()), sum(difference.size());
    const std::size_t round = roundOf(peers, model);
    if (Status status = peers.mixEncoded({difference, own, sum}, round, model.step); !status.isOk()) {
      return status;
    }
    const Pair pair = pairOf(peers, model);
    for (std::size_t i = 0; i < own.size(); ++i) {
      pair.replica[i] += own[i];
      pair.sum[i] += sum[i];
    }
    model.scalars[round] += 1;
    return Status::ok();
  }

 private:
  static std::size_t roundOf(const Peers& peers, const Model& model) {
    return static_cast<std::size_t>((model.step - 1) % peers.period());
  }

  std::string topology_;
};

class Choco : public Replicas {
 public:
  Choco(std::string topology, double gamma) : Replicas(std::move(topology)), gamma_(static_cast<float>(gamma)) {}

  Status afterOptimizer(Peers& peers, const Model& model) const override {
    const Pair pair = pairOf(peers, model);
    std::vector<float> difference(model.x.size());
    for (std::size_t i = 0; i < difference.size(); ++i) {
      difference[i] = model.x[i] - pair.replica[i];
    }
    Status status = send(peers, model, difference);
    for (std::size_t i = 0; status.isOk() && i < difference.size(); ++i) {
      model.x[i] += gamma_ * (pair.sum[i] - pair.replica[i]);
    }
    return status;
  }

 private:
  float gamma_;
};

class Dcd : public Replicas {
 public:
  using Replicas::Replicas;

  /// The parameters can be the replica of but one round.
  [[nodiscard]] Needs needs() const override {
    Needs needs = Replicas::needs();
    needs.properties.push_back(GOSS_TOPOLOGY_CONSTANT);
    return needs;
  }

  Status afterOptimizer(Peers& peers, const Model& model) const override {
    const Pair pair = pairOf(peers, model);
    std::vector<float> difference(model.x.size());
    for (std::size_t i = 0; i < difference.size(); ++i) { // sum_j w_ij x^_j - lr g - x^_i, with x = x^_i - lr g
      difference[i] = pair.sum[i] + (model.x[i] - pair.replica[i]) - pair.replica[i];
    }
    Status status = send(peers, model, difference);
    std::copy(pair.replica.begin(), pair.replica.end(), model.x.begin());
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
