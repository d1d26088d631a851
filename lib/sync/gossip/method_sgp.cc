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
constexpr std::array kParameters = {kPushTopology, kCodecParameter};
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

  Status afterOptimizer(Peers& peers, const Model& model) const override {
    takeStep(model);
    Status status = peers.mix(model.state[0], model.step - 1);
    if (status.isOk()) {
      status = peers.mixNumber(mass(model), model.step - 1);
    }
    return status.isOk() ? showQuotient(peers, model) : status;
  }

  /// The mean of x, whose sum is kept; that of z is another.
  Status finish(Peers& peers, const Model& model) const override {
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
  Status showQuotient(const Peers& peers, const Model& model) const {
    if (!(mass(model) > 0)) {
      return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                           fmt::format("rank {} has a push-sum weight of {} after step {}: with topology '{}' it gives "
                                       "all of it away and gets none; every rank must keep a part, or get one",
                                       peers.rank(), mass(model), model.step, topology_));
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

  Status afterOptimizer(Peers& peers, const Model& model) const override {
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

  Status finish(Peers& peers, const Model& model) const override {
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

Composition make(SpecReader& reader) {
  std::string topology = reader.text("topology");
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
