// PAPA: Jolicoeur-Martineau et al., "PopulAtion Parameter Averaging", TMLR 2024: every h steps each rank moves a little
// to the mean, x = a x + (1 - a) mean(x), with 1 - a in proportion to the learning rate.
#include <array>

#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"h", "10", "steps between exchanges"}, ParameterInfo{"alpha", "0.99", "what a rank keeps of its own"},
    ParameterInfo{"lr0", "0", "learning rate for which alpha holds; 0: for every one"}, kCodecParameter};

class PopulationAveraging : public Rule {
 public:
  PopulationAveraging(std::uint64_t period, double alpha, double lr0) : period_(period), alpha_(alpha), lr0_(lr0) {}

  [[nodiscard]] Needs needs() const override { return {}; }
  /// Exchanges bring the ranks' models closer, whatever the steps they are of.
  Status resume(GossipPeers&, const Model&) const override { return Status::ok(); }
  [[nodiscard]] bool actsAfter(std::uint64_t step) const override { return step % period_ == 0; }

  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    const auto pull = static_cast<float>((1 - alpha_) * (lr0_ > 0 ? model.lr / lr0_ : 1));
    std::vector<float> mean(model.x.begin(), model.x.end());
    Status status = peers.mean(mean);
    for (std::size_t i = 0; status.isOk() && i < mean.size(); ++i) {
      model.x[i] += pull * (mean[i] - model.x[i]);
    }
    return status;
  }

 private:
  std::uint64_t period_;
  double alpha_, lr0_;
};

Composition make(SpecReader& reader) {
  const std::uint64_t period = reader.integer("h", kPeriodRange);
  const double alpha = reader.number("alpha", kUnitRange);
  const double lr0 = reader.number("lr0", kRateRange);
  return composeRule(reader, std::make_unique<PopulationAveraging>(period, alpha, lr0));
}

} // namespace

const Method& papaMethod() {
  static const Method kMethod = {"papa", "a population of models, each of which moves a little to their mean",
                                 "Jolicoeur-Martineau et al., TMLR 2024", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
