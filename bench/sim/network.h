/// What exchanges cost between simulated ranks. The plans and their prices are the library's own: its planner chooses
/// over the links, and its simulator (schedule/simulator.h) runs the chosen schedules.
#ifndef GOSS_BENCH_SIM_NETWORK_H_
#define GOSS_BENCH_SIM_NETWORK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/sim/sites.h"
#include "call/codec_pair.h"
#include "gossamer/algorithm.h"
#include "gossamer/status.h"
#include "planner/planner.h"

namespace goss::bench::sim {

/// The ranks of a communicator by site, as far as prices depend on them.
struct Spread {
  std::map<int, int> ranks_of_site;
  /// So many communicators spread like this use the ports of their sites at the same time.
  int sharing = 1;
  auto operator<=>(const Spread&) const = default;
  [[nodiscard]] int size() const;
};

/// A collective as the network sees it. Bytes as in PlanKey: of the vector, or of one rank's block.
struct Exchange {
  Collective collective = Collective::allReduce;
  std::uint64_t bytes = 0;
  std::string codec = {};     ///< "": none.
  std::string algorithm = {}; ///< "": the planner's choice.
  auto operator<=>(const Exchange&) const = default;
};

struct Cost {
  double time_s = 0; ///< From the last rank's call to the end.
  double busy_s = 0; ///< Time of the busiest port or processor, before which the same ranks begin no next exchange.
  double bytes = 0;  ///< Sent by all ranks together.
  std::string plan = {};
};

/// Up to kWhole ranks the schedules of all ranks are simulated over the links between all of them. More ranks are
/// priced level by level: within a site, whose ranks are alike, and between the sites, each of which then counts as one
/// rank behind its port; and a codec encodes only what leaves a site. One thread.
class Network {
 public:
  static constexpr int kWhole = 64;

  Network(Sites sites, std::uint64_t seed);

  [[nodiscard]] const Sites& sites() const { return sites_; }
  /// Errors: invalidArgument for an unknown codec, or one that works in phases.
  Result<std::shared_ptr<const CodecPair>> codec(std::string_view spec);
  /// `draw` selects one of a few draws of the jitter. Errors: those of codec() and of Planner::choice.
  Result<Cost> cost(const Spread& spread, const Exchange& exchange, std::uint64_t draw);
  /// The link from one rank to another of a communicator in which `sharing` ranks of a site send at the same time.
  [[nodiscard]] JitteryPrice link(int from, int to, int sharing) const;

 private:
  static constexpr std::uint64_t kDraws = 8;
  /// A planner over links, and the links with each draw of the jitter.
  struct Level {
    std::unique_ptr<Planner> planner;
    std::vector<schedule::Links> drawn;
  };
  using Costs = std::vector<Cost>; ///< By draw.

  /// Sites of ranks, which `sharing` communicators share; with `spread`, of sites that count as a rank each.
  [[nodiscard]] schedule::Links linksOf(const std::vector<int>& site_of_rank, int sharing, std::uint64_t draw,
                                        const Spread* spread) const;
  Level& levelOf(const Spread& spread, bool by_site);
  Level& levelWithin(int ranks);
  Result<Costs> costsOn(Level& level, const Exchange& exchange);
  Result<Costs> costsByLevel(const Spread& spread, const Exchange& exchange);
  Status addWithin(Costs& costs, const Spread& spread, Collective collective, std::uint64_t bytes);

  Sites sites_;
  std::uint64_t seed_;
  Catalogue catalogue_;
  CodecRegistry codecs_;
  std::map<std::pair<Spread, bool>, Level> levels_; ///< By spread, and whether sites count as ranks.
  std::map<int, Level> within_;                     ///< By ranks of a site.
  std::map<std::pair<Spread, Exchange>, Costs> costs_;
};

} // namespace goss::bench::sim

#endif // GOSS_BENCH_SIM_NETWORK_H_
