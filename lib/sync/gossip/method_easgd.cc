// Synchronous EASGD: Zhang, Choromanska and LeCun, "Deep learning with Elastic Averaging SGD", NIPS 2015, equations 5
// and 6. Every rank holds the centre: x -= alpha (x - centre); centre += beta (mean(x) - centre), both from the old
// values.
#include <algorithm>
#include <array>

#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"h", "10", "steps between exchanges"}, ParameterInfo{"alpha", "0.1", "pull of the centre"},
    ParameterInfo{"beta", "0.9", "how far the centre moves to the mean"}, kCodecParameter};

class ElasticAveraging : public Rule {
 public:
  ElasticAveraging(std::uint64_t period, double alpha, double beta)
      : period_(period), alpha_(static_cast<float>(alpha)), beta_(static_cast<float>(beta)) {}

  [[nodiscard]] Needs needs() const override { return {1, false, false, "", {}}; }
  void begin(const Model& model) const override { std::copy(model.x.begin(), model.x.end(), model.state[0].begin()); }
  [[nodiscard]] bool actsAfter(std::uint64_t step) const override { return step % period_ == 0; }

  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    std::vector<float>& centre = model.state[0];
    std::vector<float> mean(model.x.begin(), model.x.end());
    Status status = peers.mean(mean);
    for (std::size_t i = 0; status.isOk() && i < mean.size(); ++i) {
      model.x[i] -= alpha_ * (model.x[i] - centre[i]);
      centre[i] += beta_ * (mean[i] - centre[i]);
    }
    return status;
  }
  /// The centre is the model.
  Status finish(GossipPeers&, const Model& model) const override {
    std::copy(model.state[0].begin(), model.state[0].end(), model.x.begin());
    return Status::ok();
  }

 private:
  std::uint64_t period_;
  float alpha_, beta_;
};

Composition make(SpecReader& reader) {
  const std::uint64_t period = reader.integer("h", kPeriodRange);
  const double alpha = reader.number("alpha", kUnitRange);
  const double beta = reader.number("beta", kUnitRange);
  return composeRule(reader, std::make_unique<ElasticAveraging>(period, alpha, beta));
}

} // namespace

const Method& easgdMethod() {
  static const Method kMethod = {"easgd", "an elastic force between each rank and a centre, which follows the mean",
                                 "Zhang et al., NIPS 2015", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
