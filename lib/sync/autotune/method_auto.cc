// Which method, buckets, levels, codec and topology are fastest is measured while training goes on, as Bagua does (Gan
// et al., VLDB 2021) for bucket size and hierarchy.
#include <algorithm>
#include <array>

#include "sync/methods.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"budget", "0.01", "largest error of an exchange, relative to its exact result"},
    ParameterInfo{"steps", "10", "steps of a trial: half measure its error, the others its time"},
    ParameterInfo{"check", "100", "steps between two measurements of the error"},
    ParameterInfo{"seed", "1", "of the order of trials"},
    ParameterInfo{"gossip", "1", "0: gradients are averaged over all ranks, never parameters among neighbours"}};

Composition make(SpecReader& reader) {
  Composition made;
  Tuning tuning;
  tuning.budget = reader.number("budget", kUnitRange);
  tuning.steps = std::max<std::uint64_t>(4, reader.integer("steps", {4, 1e6}));
  tuning.check = std::max<std::uint64_t>(1, reader.integer("check", {1, 1e9}));
  tuning.seed = reader.integer("seed", {0, 1e9});
  tuning.may_gossip = reader.integer("gossip", {0, 1}) == 1;
  made.tuning = tuning;
  made.layout.codec = "none";
  return made;
}

} // namespace

const Method& autoMethod() {
  static const Method kMethod = {
      "auto",
      "tries bucket sizes, levels, codecs and topologies, and stays with the fastest within the budget",
      "after Gan et al., VLDB 2021 (Bagua)",
      kParameters,
      make,
      true};
  return kMethod;
}

} // namespace goss::sync
