// SGP: Assran et al., "Stochastic Gradient Push for Distributed Deep Learning", ICML 2019, algorithm 1.
//
// The ranks mix x and a weight w by a column-stochastic matrix; the model computes with z = x / w. The optimizer moves
// z, and x moves by as much. The sum of x over the ranks is kept, and so is that of w.
#include <algorithm>
#include <array>
#include <cmath>

#include "gossamer/gossip.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"topology", "one-peer-exponential", "who sends to whom (gossip.h); columns sum to 1"},
    kCodecParameter};

class PushSum : public Rule {
 public:
  explicit PushSum(std::string topology) : topology_(std::move(topology)) {}

  [[nodiscard]] Needs needs() const override { return {1, false, false, topology_, {GOSS_TOPOLOGY_COLUMN_STOCHASTIC}}; }

  void begin(const Model& model) const override {
    std::copy(model.x.begin(), model.x.end(), model.state[0].begin());
    model.mass = 1;
  }
  void rejoin(const Model& model) const override { begin(model); }

  Status afterOptimizer(Peers& peers, const Model& model) const override {
    std::vector<float>& x = model.state[0];
    takeStep(model);
    Status status = peers.mix(x, model.step - 1);
    if (status.isOk()) {
      status = peers.mixNumber(model.mass, model.step - 1);
    }
    showQuotient(model);
    return status;
  }

  /// The mean of x, whose sum is kept; that of z is another.
  Status finish(Peers& peers, const Model& model) const override {
    takeStep(model);
    Status status = peers.exactMean(model.state[0]);
    model.mass = 1;
    showQuotient(model);
    return status;
  }

 private:
  [[nodiscard]] static float quotient(float x, double mass) { return static_cast<float>(x / mass); }

  /// Moves x by what the optimizer has moved z.
  static void takeStep(const Model& model) {
    std::vector<float>& x = model.state[0];
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] += model.x[i] - quotient(x[i], model.mass);
    }
  }
  static void showQuotient(const Model& model) {
    for (std::size_t i = 0; i < model.x.size(); ++i) {
      model.x[i] = quotient(model.state[0][i], model.mass);
    }
  }

  std::string topology_;
};

Composition make(SpecReader& reader) {
  std::string topology = reader.text("topology");
  return composeRule(reader, std::make_unique<PushSum>(std::move(topology)));
}

} // namespace

const Method& sgpMethod() {
  static const Method kMethod = {"sgp", "push-sum: directed gossip of parameters and of a weight that corrects them",
                                 "Assran et al., ICML 2019", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
