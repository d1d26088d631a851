// Moshpit SGD: Ryabinin et al., "Moshpit SGD: Communication-Efficient Decentralized Training on Heterogeneous
// Unreliable Devices", NeurIPS 2021: ranks form a grid, and each round averages along one of its dimensions.
#include <fmt/format.h>

#include <array>

#include "sync/gossip/mixing.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"dims", "auto", "the grid, such as 4x4x4; places without a rank are missing from their groups"},
    kEveryStepParameter,
    ParameterInfo{"rounds", "0", "dimensions of an exchange; 0: all, which is exact on a full grid"}, kCodecParameter};

Composition make(SpecReader& reader) {
  MixingPlan plan;
  const std::string dims = reader.text("dims");
  plan.topology = dims == "auto" ? "grid" : fmt::format("grid:{}", dims);
  plan.period = reader.integer("h", kPeriodRange);
  plan.rounds = reader.integer("rounds", {0, 1e6});
  return composeRule(reader, std::make_unique<Mixing>(std::move(plan)));
}

} // namespace

const Method& moshpitMethod() {
  static const Method kMethod = {"moshpit", "means within groups that change from round to round",
                                 "Ryabinin et al., NeurIPS 2021", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
