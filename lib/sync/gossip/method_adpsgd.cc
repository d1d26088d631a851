// Pair averages for which no rank waits.
//
// adpsgd: Lian et al., "Asynchronous Decentralized Parallel Stochastic Gradient Descent", ICML 2018: a rank's update is
// computed from parameters that others may have averaged with theirs meanwhile, and added to what they are now.
// acid: Nabli et al., "A2CiD2: Accelerating Asynchronous Communication in Decentralized Deep Learning", NeurIPS 2023:
// beside x a vector x~ of the same updates, which moves further in each average; both are mixed with each other all the
// time. Here time goes by steps, and a rank mixes at each of its own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/invalid.h"
#include "base/split_mix.h"
#include "sync/gossip/contact_rates.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"topology", "ring", "whom a rank may average with (gossip.h), ';' for ','"}, kEveryStepParameter,
    ParameterInfo{"seed", "1", "of the choice among them"},
    ParameterInfo{"wait", "0", "1: a step ends when its average has taken place"},
    ParameterInfo{"patience", "10", "seconds after which an average in the background is given up"}};

struct Meeting {
  std::string topology;
  std::uint64_t period = 1; ///< Steps between averages.
  std::uint64_t seed = 1;
  bool waits = false;
  std::int64_t patience_ms = 0;
};

using base::invalid;

/// state[0] is x, which others average; the last vector is what the model computed with, so that the optimizer's update
/// is known. With momentum state[1] is x~; scalars[0]: which part of their difference x and x~ exchange in a step, and
/// scalars[1]: how far x~ moves in an average, in units of x's way. Both 0: not known yet.
class PairwiseDescent : public Rule {
 public:
  PairwiseDescent(Meeting meeting, bool momentum) : meeting_(std::move(meeting)), momentum_(momentum) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.shared = momentum_ ? 2 : 1;
    needs.vectors = needs.shared + 1;
    needs.scalars = momentum_ ? 2 : 0;
    needs.topology = meeting_.topology;
    return needs;
  }
  void begin(const Model& model) const override {
    for (std::vector<float>& vector : model.state) {
      std::copy(model.x.begin(), model.x.end(), vector.begin());
    }
  }
  void rejoin(const Model& model) const override {
    std::copy(model.x.begin(), model.x.end(), model.state.back().begin());
  }
  [[nodiscard]] bool actsAfter(std::uint64_t) const override { return true; }

  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    Status status = momentum_ && model.scalars[0] == 0 ? findRates(peers, model) : Status::ok();
    if (status.isOk()) {
      status = addUpdate(peers, model);
    }
    if (status.isOk() && model.step % meeting_.period == 0) {
      status = meet(peers, model);
    }
    return status.isOk() ? show(peers, model) : status;
  }

  /// After the barrier no average is under way. The mean is reached by an addition, because other ranks may average
  /// with this rank again before it arrives here. The sum of x and x~ over the ranks stays the same, however many steps
  /// each rank has made.
  Status finish(GossipPeers& peers, const Model& model) const override {
    PairAverages& pairs = peers.pairs();
    Status status = addUpdate(peers, model);
    if (status.isOk()) {
      status = pairs.settle();
    }
    if (status.isOk()) {
      status = peers.barrier();
    }
    const std::size_t count = model.x.size();
    std::vector<float> own(needs().shared * count);
    if (status.isOk()) {
      status = pairs.read(own);
    }
    for (std::size_t i = 0; i < count; ++i) {
      model.x[i] = momentum_ ? (own[i] + own[count + i]) / 2 : own[i];
    }
    if (status.isOk()) {
      status = peers.exactMean(model.x);
    }
    if (!status.isOk()) {
      return status;
    }
    std::copy(model.x.begin(), model.x.end(), model.state.back().begin());
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i] = model.x[i % count] - own[i];
    }
    return pairs.add(own);
  }

 private:
  /// Adds what the optimizer has done since show(), and what x and x~ exchange.
  Status addUpdate(GossipPeers& peers, const Model& model) const {
    const std::size_t count = model.x.size();
    std::vector<float> change(needs().shared * count);
    if (momentum_) {
      if (Status status = peers.pairs().read(change); !status.isOk()) {
        return status;
      }
    }
    const auto part = static_cast<float>(momentum_ ? model.scalars[0] : 0);
    for (std::size_t i = 0; i < count; ++i) {
      const float update = model.x[i] - model.state.back()[i];
      const float exchanged = momentum_ ? part * (change[count + i] - change[i]) : 0;
      change[i] = update + exchanged;
      if (momentum_) {
        change[count + i] = update - exchanged;
      }
    }
    return peers.pairs().add(change);
  }

  static Status show(GossipPeers& peers, const Model& model) {
    Status status = peers.pairs().read(model.x);
    std::copy(model.x.begin(), model.x.end(), model.state.back().begin());
    return status;
  }

  Status meet(GossipPeers& peers, const Model& model) const {
    PairAverages& pairs = peers.pairs();
    const Result<bool> free = pairs.over(false);
    if (!free.isOk() || !free.value()) {
      return free.status();
    }
    Result<std::vector<int>> found = peers.partners(model.step / meeting_.period - 1, peers.rank());
    if (!found.isOk()) {
      return found.status();
    }
    std::vector<int> partners = found.take();
    std::erase_if(partners, [&](int rank) { return pairs.hasLeft(rank); });
    if (partners.empty()) {
      return Status::ok();
    }
    const auto ranks = static_cast<std::uint64_t>(peers.size());
    base::SplitMix64 random(meeting_.seed * 0x9e3779b97f4a7c15u + model.step * ranks +
                            static_cast<std::uint64_t>(peers.rank()));
    const int partner = partners[random.below(partners.size())];
    Status status = pairs.start({partner, momentum_ ? model.scalars[1] : 0, meeting_.waits ? 0 : meeting_.patience_ms});
    return status.isOk() && meeting_.waits ? pairs.settle() : status;
  }

  /// Time is a step; the ranks are expected to make steps equally fast.
  Status findRates(GossipPeers& peers, const Model& model) const {
    ContactRates rates(peers.size());
    for (std::uint64_t round = 0; round < peers.period(); ++round) {
      for (int rank = 0; rank < peers.size(); ++rank) {
        const Result<std::vector<int>> partners = peers.partners(round, rank);
        if (!partners.isOk()) {
          return partners.status();
        }
        for (const int partner : partners.value()) {
          rates.add(rank, partner,
                    1.0 / static_cast<double>(meeting_.period * peers.period() * partners.value().size()));
        }
      }
    }
    if (peers.size() == 1) {
      return Status::ok();
    }
    const auto times = rates.times();
    if (!times) {
      return invalid(fmt::format("acid: topology '{}' does not connect all {} ranks", meeting_.topology, peers.size()));
    }
    const double eta = 0.5 / std::sqrt(times->slowest * times->between_partners);
    model.scalars[0] = (1 - std::exp(-2 * eta)) / 2;
    model.scalars[1] = std::sqrt(times->slowest / times->between_partners);
    return Status::ok();
  }

  Meeting meeting_;
  bool momentum_;
};

Composition read(SpecReader& reader, bool momentum) {
  Meeting meeting;
  meeting.topology = reader.text("topology");
  meeting.period = reader.integer("h", kPeriodRange);
  meeting.seed = reader.integer("seed", {0, 1e9});
  meeting.waits = reader.integer("wait", {0, 1}) == 1;
  meeting.patience_ms = static_cast<std::int64_t>(1e3 * reader.number("patience", {1e-3, 1e6}));
  Composition made;
  made.rule = std::make_unique<PairwiseDescent>(std::move(meeting), momentum);
  made.layout.codec = "none";
  return made;
}

Composition makeAdpsgd(SpecReader& reader) { return read(reader, false); }
Composition makeAcid(SpecReader& reader) { return read(reader, true); }

} // namespace

const Method& adpsgdMethod() {
  static const Method kMethod = {
      "adpsgd",
      "in the background of the next step the mean with one neighbour, which need not be in a call",
      "Lian et al., ICML 2018",
      kParameters,
      makeAdpsgd,
      true};
  return kMethod;
}

const Method& acidMethod() {
  static const Method kMethod = {"acid",
                                 "as `adpsgd`, with a second vector whose momentum brings ranks together sooner",
                                 "Nabli et al., NeurIPS 2023 (A2CiD2)",
                                 kParameters,
                                 makeAcid,
                                 true};
  return kMethod;
}

} // namespace goss::sync
