// Compressed gossip through replicas that all neighbours keep alike.
//
// choco: Koloskova et al., "Decentralized Deep Learning with Arbitrary Communication Compression", ICLR 2020, algorithm
// 2, in the form of two vectors: this rank's replica x^_i, and its distance, sum_j w_ij x^_j - x^_i, from the weighted
// mean of its neighbours' replicas and itself. Both are kept to 48 bits: in each round x moves by gamma times the
// distance, so what the distance has lost by rounding would move the mean of the ranks again and again. dcd: Tang et
// al., "Communication Compression for Decentralized Training", NeurIPS 2018, algorithm 2, in which x itself is the
// replica; Bagua calls it low precision decentralized.
#include <algorithm>
#include <array>

#include "gossamer/gossip.h"
#include "sync/gossip/long_vector.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kChocoParameters = {kRingParameter, kGammaParameter, kCodecParameter};
constexpr std::array kDcdParameters = {kRingParameter, kCodecParameter};

constexpr std::size_t kVectorsOfARound = 4;

/// Each round of the topology's period has a replica and a distance of its own, which only its exchanges move: so
/// they are right although neighbours and weights change from round to round. Scalars: the replicas' versions, which
/// grow with each difference that a rank sends.
class Replicas : public Rule {
 public:
  explicit Replicas(std::string topology) : topology_(std::move(topology)) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.vectors = kVectorsOfARound;
    needs.scalars = 1;
    needs.topology = topology_;
    needs.properties = {GOSS_TOPOLOGY_DOUBLY_STOCHASTIC};
    needs.per_round = needs.begins_anew = needs.encodes = true;
    return needs;
  }
  /// All ranks begin with the same parameters, so that no replica differs from another.
  void begin(const Model& model) const override {
    for (std::vector<float>& vector : model.state) {
      std::fill(vector.begin(), vector.end(), 0.0f);
    }
    for (std::size_t round = 0; round < model.scalars.size(); ++round) {
      std::copy(model.x.begin(), model.x.end(), pairOfRound(model, round).replica.high.begin());
    }
    std::fill(model.scalars.begin(), model.scalars.end(), 0.0);
  }
  void rejoin(const Model& model) const override { begin(model); }

  /// Different versions mean that an exchange has reached only some of the ranks, so that neighbours hold different
  /// replicas of a rank. In that case all ranks send their whole replicas, as float32, and compute their distances from
  /// these. The new version is above all earlier ones, so that an older state is never taken for the present one.
  Status resume(GossipPeers& peers, const Model& model) const override {
    std::vector<double> change(model.x.size());
    for (std::size_t round = 0; round < model.scalars.size(); ++round) {
      const Result<bool> is_equal = peers.allEqual(static_cast<std::uint64_t>(model.scalars[round]));
      if (!is_equal.isOk()) {
        return is_equal.status();
      }
      if (is_equal.value()) {
        continue;
      }
      const Pair pair = pairOfRound(model, round);
      if (Status status = peers.differences(pair.replica.high, change, round); !status.isOk()) {
        return status;
      }
      std::fill(pair.replica.low.begin(), pair.replica.low.end(), 0.0f);
      for (std::size_t i = 0; i < change.size(); ++i) {
        pair.distance.set(i, change[i]);
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
    LongVector replica;
    LongVector distance; ///< sum_j w_ij x^_j - x^_i
  };
  /// What this rank keeps for the round of the current step.
  static Pair pairOf(const GossipPeers& peers, const Model& model) { return pairOfRound(model, roundOf(peers, model)); }

  /// Sends `difference`, encoded, and moves the replica and its distance. `contracts`: see GossipPeers::Encoded.
  static Status send(GossipPeers& peers, const Model& model, std::span<const float> difference, bool contracts) {
    std::vector<float> own(difference.size());
    std::vector<double> change(difference.size());
    const std::size_t round = roundOf(peers, model);
    if (Status status = peers.mixEncoded({difference, own, change, contracts}, round, model.step); !status.isOk()) {
      return status;
    }
    const Pair pair = pairOfRound(model, round);
    for (std::size_t i = 0; i < own.size(); ++i) {
      pair.replica.set(i, pair.replica.at(i) + static_cast<double>(own[i]));
      pair.distance.set(i, pair.distance.at(i) + change[i]);
    }
    model.scalars[round] += 1;
    return Status::ok();
  }

 private:
  static std::size_t roundOf(const GossipPeers& peers, const Model& model) {
    return static_cast<std::size_t>((model.step - 1) % peers.period());
  }
  static Pair pairOfRound(const Model& model, std::size_t round) {
    const auto of_round = model.state.subspan(kVectorsOfARound * round, kVectorsOfARound);
    return {{of_round[0], of_round[1]}, {of_round[2], of_round[3]}};
  }

  std::string topology_;
};

class Choco : public Replicas {
 public:
  Choco(std::string topology, double gamma) : Replicas(std::move(topology)), gamma_(gamma) {}

  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    const Pair pair = pairOf(peers, model);
    std::vector<float> difference(model.x.size());
    for (std::size_t i = 0; i < difference.size(); ++i) {
      difference[i] = static_cast<float>(static_cast<double>(model.x[i]) - pair.replica.at(i));
    }
    Status status = send(peers, model, difference, true);
    for (std::size_t i = 0; status.isOk() && i < difference.size(); ++i) {
      model.x[i] = static_cast<float>(static_cast<double>(model.x[i]) + gamma_ * pair.distance.at(i));
    }
    return status;
  }

 private:
  double gamma_;
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

  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    const Pair pair = pairOf(peers, model);
    std::vector<float> difference(model.x.size());
    for (std::size_t i = 0; i < difference.size(); ++i) { // sum_j w_ij x^_j - lr g - x^_i, with x = x^_i - lr g
      difference[i] = static_cast<float>(pair.distance.at(i) + (static_cast<double>(model.x[i]) - pair.replica.at(i)));
    }
    Status status = send(peers, model, difference, false); // whose codecs are unbiased
    std::copy(pair.replica.high.begin(), pair.replica.high.end(), model.x.begin());
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
