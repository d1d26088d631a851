// SPARTA: Baioumy and Cheema, "Sparse Parameter Averaging", EXO 2025: in every step the ranks average a random part of
// the parameters, the same one on all of them.
#include <array>

#include "gossamer/random.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {ParameterInfo{"part", "0.005", "share of the parameters that a step averages"},
                                    ParameterInfo{"seed", "1", "of the choice"}, kCodecParameter};

class Sparta : public Rule {
 public:
  Sparta(double part, std::uint64_t seed) : below_(part * 0x1p64), whole_(part >= 1), seed_(seed) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.same_elements = false;
    return needs;
  }
  /// Exchanges bring the ranks' models closer, whatever the steps they are of.
  Status resume(GossipPeers&, const Model&) const override { return Status::ok(); }
  [[nodiscard]] bool actsAfter(std::uint64_t) const override { return true; }

  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    std::vector<std::size_t> places;
    std::vector<float> chosen;
    for (std::size_t i = 0; i < model.x.size(); ++i) {
      if (isChosen(model.step, i)) {
        places.push_back(i);
        chosen.push_back(model.x[i]);
      }
    }
    Status status = peers.mean(chosen);
    for (std::size_t k = 0; status.isOk() && k < places.size(); ++k) {
      model.x[places[k]] = chosen[k];
    }
    return status;
  }

 private:
  /// A hash of step and element, the same on all ranks (splitmix64).
  [[nodiscard]] bool isChosen(std::uint64_t step, std::uint64_t element) const {
    const std::uint64_t x = (seed_ * 0x94d049bb133111ebu + step) * 0xd1342543de82ef95u + element * 0x9e3779b97f4a7c15u;
    return whole_ || static_cast<double>(detail::mix64(x)) < below_;
  }

  double below_;
  bool whole_;
  std::uint64_t seed_;
};

Composition make(SpecReader& reader) {
  const double part = reader.number("part", kUnitRange);
  const std::uint64_t seed = reader.integer("seed", {0, 1e9});
  return composeRule(reader, std::make_unique<Sparta>(part, seed));
}

} // namespace

const Method& spartaMethod() {
  static const Method kMethod = {"sparta", "in every step the mean of a random part of the parameters",
                                 "Baioumy and Cheema, EXO 2025", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
