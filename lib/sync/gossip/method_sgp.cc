// SGP and OSGP: Assran et al., "Stochastic Gradient Push for Distributed Deep Learning", ICML 2019, algorithms 1 and 2.
//
// The ranks mix x and a weight w by a column-stochastic matrix; the model computes with z = x / w. The optimizer moves
// z, and x moves by as much. The sum of x over the ranks is kept, and so is that of w. With osgp, whose exchanges
// arrive `tau` steps after they left, these are the sums of what the ranks hold and of what is under way.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "gossamer/gossip.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr ParameterInfo kPushTopology = {"topology", "one-peer-exponential",
                                         "who sends to whom (gossip.h); columns sum to 1"};
constexpr std::array kParameters = {
    kPushTopology,
    ParameterInfo{"wait", "1",
                  "0: a rank pushes into its neighbours' memory, and nobody waits; then there is no codec"},
    kCodecParameter};
constexpr std::array kOverlappedParameters = {
    kPushTopology, ParameterInfo{"tau", "1", "steps from an exchange to its arrival, and to the next exchange"}};

/// state[0] is x, scalars[0] is w.
class PushSum : public Rule {
 public:
  explicit PushSum(std::string topology) : topology_(std::move(topology)) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.vectors = needs.scalars = 1;
    needs.topology = topology_;
    needs.properties = {GOSS_TOPOLOGY_COLUMN_STOCHASTIC};
    return needs;
  }
  void begin(const Model& model) const override {
    std::copy(model.x.begin(), model.x.end(), model.state[0].begin());
    mass(model) = 1;
  }
  void rejoin(const Model& model) const override { begin(model); }
  [[nodiscard]] bool actsAfter(std::uint64_t) const override { return true; }

  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    takeStep(model);
    Status status = peers.mix(model.state[0], model.step - 1);
    if (status.isOk()) {
      status = peers.mixNumber(mass(model), model.step - 1);
    }
    return status.isOk() ? showQuotient(peers, model) : status;
  }

  /// The mean of x, whose sum is kept; that of z is another.
  Status finish(GossipPeers& peers, const Model& model) const override {
    takeStep(model);
    Status status = peers.exactMean(model.state[0]);
    mass(model) = 1;
    return status.isOk() ? showQuotient(peers, model) : status;
  }

 protected:
  static double& mass(const Model& model) { return model.scalars[0]; }

  /// Moves x by what the optimizer has moved z.
  static void takeStep(const Model& model) {
    std::vector<float>& x = model.state[0];
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] += model.x[i] - quotient(x[i], mass(model));
    }
  }
  [[nodiscard]] Status noWeight(const GossipPeers& peers, const Model& model, double weight) const {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("rank {} has a push-sum weight of {} after step {}: with topology '{}' it gives "
                                     "all of it away and gets none; every rank must keep a part, or get one",
                                     peers.rank(), weight, model.step, topology_));
  }
  Status showQuotient(const GossipPeers& peers, const Model& model) const {
    if (!(mass(model) > 0)) {
      return noWeight(peers, model, mass(model));
    }
    for (std::size_t i = 0; i < model.x.size(); ++i) {
      model.x[i] = quotient(model.state[0][i], mass(model));
    }
    return Status::ok();
  }

 private:
  [[nodiscard]] static float quotient(float x, double mass) { return static_cast<float>(x / mass); }

  std::string topology_;
};

/// state[1] and scalars[1]: what is under way to this rank.
class OverlappedPushSum : public PushSum {
 public:
  OverlappedPushSum(std::string topology, std::uint64_t overlap) : PushSum(std::move(topology)), overlap_(overlap) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs = PushSum::needs();
    needs.vectors = needs.scalars = 2;
    return needs;
  }
  void begin(const Model& model) const override {
    PushSum::begin(model);
    std::fill(model.state[1].begin(), model.state[1].end(), 0.0f);
    model.scalars[1] = 0;
  }
  void rejoin(const Model& model) const override { begin(model); }

  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    takeStep(model);
    if ((model.step - 1) % overlap_ != 0) {
      return showQuotient(peers, model);
    }
    if (Status status = peers.arrive(); !status.isOk()) {
      return status;
    }
    std::vector<float>& x = model.state[0];
    const std::vector<float> arrived = model.state[1];
    const double arrived_mass = model.scalars[1];
    std::copy(x.begin(), x.end(), model.state[1].begin()); // leaves, and is replaced by what arrives
    model.scalars[1] = mass(model);
    const Result<double> kept = peers.startPush(model.state[1], model.scalars[1], (model.step - 1) / overlap_);
    if (!kept.isOk()) {
      return kept.status();
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(kept.value() * x[i] + arrived[i]);
    }
    mass(model) = kept.value() * mass(model) + arrived_mass;
    return showQuotient(peers, model);
  }

  Status finish(GossipPeers& peers, const Model& model) const override {
    takeStep(model);
    if (Status status = peers.arrive(); !status.isOk()) {
      return status;
    }
    for (std::size_t i = 0; i < model.x.size(); ++i) {
      model.state[0][i] += std::exchange(model.state[1][i], 0.0f);
    }
    mass(model) += std::exchange(model.scalars[1], 0.0);
    Status status = showQuotient(peers, model);
    return status.isOk() ? PushSum::finish(peers, model) : status;
  }

 private:
  std::uint64_t overlap_;
};

/// A rank that makes steps while no other rank pushes to it would halve its weight w in each step, so that its updates,
/// which are added to x, would change x / w more and more. Below this weight the rank sends nothing.
constexpr float kMinWeight = 0.25F;

/// No rank waits for others: a rank adds what it sends to the receiver's x and w at any time, in the round of its own
/// step. Columns sum to 1 in every round, so the sums are kept in whatever rounds the ranks are. The window holds x and
/// then w, and accesses hold the owner's lock, because x and w are right only together. state[0] and scalars[0] are
/// saved from the window; state[1]: what the model computed with.
class UnwaitingPushSum : public PushSum {
 public:
  using PushSum::PushSum;

  [[nodiscard]] Needs needs() const override {
    Needs needs = PushSum::needs();
    needs.vectors = 2;
    needs.shared = needs.shared_scalars = 1;
    return needs;
  }
  void begin(const Model& model) const override {
    PushSum::begin(model);
    std::copy(model.x.begin(), model.x.end(), model.state[1].begin());
  }
  void rejoin(const Model& model) const override { begin(model); }

  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    const std::uint64_t round = model.step - 1;
    const Result<std::vector<int>> partners = peers.partners(round, peers.rank());
    if (!partners.isOk()) {
      return partners.status();
    }
    std::vector<std::pair<int, float>> parts; // rank, weight
    float kept = 1;
    for (const int to : partners.value()) {
      const Result<double> weight = peers.weight(round, to, peers.rank());
      if (!weight.isOk()) {
        return weight.status();
      }
      if (weight.value() > 0 && !peers.pairs().hasLeft(to)) {
        parts.emplace_back(to, static_cast<float>(weight.value()));
        kept -= parts.back().second;
      }
    }
    std::vector<float> own;
    Status status = takeStepAndKeep(peers, model, kept, own);
    if (status.isOk() && own.back() < kMinWeight) {
      return status;
    }
    for (const auto& [to, weight] : parts) {
      std::vector<float> part = own;
      for (float& value : part) {
        value *= weight;
      }
      const Result<bool> pushed = status.isOk() ? peers.pairs().push(to, part) : Result<bool>(status);
      status = pushed.status();
      if (pushed.isOk() && !pushed.value()) { // it has left: its part stays here
        status = peers.pairs().push(peers.rank(), part).status();
      }
    }
    return status;
  }

  /// After the barrier all pushes have arrived. The mean is reached by additions, so that later pushes of other ranks
  /// stay.
  Status finish(GossipPeers& peers, const Model& model) const override {
    std::vector<float> own;
    Status status = takeStepAndKeep(peers, model, 1, own);
    if (status.isOk()) {
      status = peers.pairs().settle();
    }
    if (status.isOk()) {
      status = peers.barrier();
    }
    if (status.isOk()) {
      status = peers.pairs().readAt(peers.rank(), own);
    }
    if (!status.isOk()) {
      return status;
    }
    std::copy_n(own.begin(), model.x.size(), model.x.begin());
    if (status = peers.exactMean(model.x); !status.isOk()) {
      return status;
    }
    std::copy(model.x.begin(), model.x.end(), model.state[1].begin());
    for (std::size_t i = 0; i < model.x.size(); ++i) {
      own[i] = model.x[i] - own[i];
    }
    own.back() = 1 - own.back();
    return peers.pairs().push(peers.rank(), own).status();
  }

 private:
  /// Adds what the optimizer has done, shows the quotient, and leaves the part `kept` of x and w; `own`: all of them.
  Status takeStepAndKeep(GossipPeers& peers, const Model& model, float kept, std::vector<float>& own) const {
    const std::size_t count = model.x.size();
    Status status = peers.pairs().change(peers.rank(), [&](std::span<float> memory) {
      for (std::size_t i = 0; i < count; ++i) {
        memory[i] += model.x[i] - model.state[1][i];
      }
      own.assign(memory.begin(), memory.end());
      for (float& value : memory) {
        value *= own[count] < kMinWeight ? 1 : kept;
      }
    });
    if (!status.isOk()) {
      return status;
    }
    for (std::size_t i = 0; i < count; ++i) {
      model.x[i] = own[i] / own[count];
    }
    std::copy(model.x.begin(), model.x.end(), model.state[1].begin());
    return own[count] > 0 ? Status::ok() : noWeight(peers, model, own[count]);
  }
};

Composition make(SpecReader& reader) {
  std::string topology = reader.text("topology");
  if (reader.choice("wait", "0")) {
    Composition made = composeRule(reader, std::make_unique<UnwaitingPushSum>(std::move(topology)));
    if (made.layout.codec != "none") {
      reader.refuse("with wait=0 there is no codec: what it loses would be missing from the sums");
    }
    return made;
  }
  return composeRule(reader, std::make_unique<PushSum>(std::move(topology)));
}

Composition makeOverlapped(SpecReader& reader) {
  Composition made;
  std::string topology = reader.text("topology");
  made.rule = std::make_unique<OverlappedPushSum>(std::move(topology), reader.integer("tau", kPeriodRange));
  made.layout.codec = "none"; // what a codec loses would be missing from the sum
  return made;
}

} // namespace

const Method& sgpMethod() {
  static const Method kMethod = {"sgp", "push-sum: directed gossip of parameters and of a weight that corrects them",
                                 "Assran et al., ICML 2019", kParameters, make};
  return kMethod;
}

const Method& osgpMethod() {
  static const Method kMethod = {"osgp", "`sgp` whose exchanges run in the background of `tau` steps",
                                 "Assran et al., ICML 2019", kOverlappedParameters, makeOverlapped};
  return kMethod;
}

} // namespace goss::sync
