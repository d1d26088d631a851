#include "bench/sim/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/invalid.h"
#include "base/split_mix.h"
#include "builtins/builtins.h"
#include "planner/candidates.h"
#include "planner/planned_ranks.h"
#include "schedule/simulator.h"

namespace goss::bench::sim {

namespace {

using schedule::Links;

/// Schedules of more steps are not simulated: the planner's own price, for about as many bytes, is taken.
constexpr std::uint64_t kMaxSteps = 2'000'000;

using base::invalid;

schedule::NodePrice shared(schedule::NodePrice port, int among) {
  port.up_bytes_per_s /= among;
  port.down_bytes_per_s /= among;
  return port;
}

/// The cost of the planner's choice at the planner's own price, without a simulation.
Cost unsimulated(const Candidate& taken, int size) {
  Cost cost;
  cost.time_s = taken.price_s;
  cost.busy_s = std::min(taken.least_s, taken.price_s);
  cost.bytes = static_cast<double>(taken.most_bytes_sent) * size;
  return cost;
}

Cost simulated(const Question& question, const Candidate& taken, std::span<const Schedule> schedules,
               const Links& links) {
  const auto result =
      schedule::simulate(schedules, shapeFor(question, taken, links.size()), links, optionsFor(question, taken));
  if (!result.isOk()) return unsimulated(taken, links.size());
  Cost cost;
  cost.time_s = result.value().finish_s;
  cost.busy_s = std::min(result.value().least_s, cost.time_s);
  for (const schedule::RankTraffic& rank : result.value().ranks)
    cost.bytes += static_cast<double>(rank.bytes_sent);
  return cost;
}

} // namespace

int Spread::size() const {
  return std::accumulate(ranks_of_site.begin(), ranks_of_site.end(), 0,
                         [](int sum, const auto& site) { return sum + site.second; });
}

Network::Network(Sites sites, std::uint64_t seed)
    : sites_(std::move(sites)), seed_(seed), catalogue_(makeCatalogue()) {}

Result<std::shared_ptr<const CodecPair>> Network::codec(std::string_view spec) {
  auto found = codecs_.find(spec, {});
  if (found.isOk() && found.value()->multiPhase())
    return invalid(fmt::format("codec '{}' works in phases, which goss-sim does not simulate", spec));
  return found;
}

JitteryPrice Network::link(int from, int to, int sharing) const {
  const int site = sites_.siteOf(from);
  const int other = sites_.siteOf(to);
  if (site == other) return sites_.within();
  JitteryPrice link = sites_.between(site, other);
  for (const double rate : {sites_.port(site).up_bytes_per_s, sites_.port(other).down_bytes_per_s})
    if (rate > 0) link.price.bandwidth_bytes_per_s = std::min(link.price.bandwidth_bytes_per_s, rate / sharing);
  return link;
}

Links Network::linksOf(const std::vector<int>& site_of_rank, int sharing, std::uint64_t draw,
                       const Spread* spread) const {
  const int size = static_cast<int>(site_of_rank.size());
  const auto site = [&](int rank) { return site_of_rank[static_cast<std::size_t>(rank)]; };
  Links links(size, sites_.within().price);
  base::SplitMix64 random(seed_ + draw);
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      if (from == to) continue;
      const bool same = site(from) == site(to);
      JitteryPrice way = same ? sites_.within() : sites_.between(site(from), site(to));
      // Each rank of a site has a flow of its own.
      if (spread != nullptr)
        way.price.bandwidth_bytes_per_s *=
            std::min(spread->ranks_of_site.at(site(from)), spread->ranks_of_site.at(site(to)));
      if (draw > 0) way.price.latency_s += way.jitter_s * random.unit();
      links.setPrice(from, to, way.price);
    }
  }
  std::map<int, std::vector<int>> members;
  for (int rank = 0; rank < size; ++rank)
    members[site(rank)].push_back(rank);
  if (members.size() < 2) return links;
  for (const auto& [number, ranks] : members)
    links.setNode(ranks, shared(sites_.port(number), sharing));
  return links;
}

Network::Level& Network::levelOf(const Spread& spread, bool by_site) {
  Level& level = levels_[{spread, by_site}];
  if (level.planner != nullptr) return level;
  std::vector<int> site_of_rank;
  bool jitters = sites_.within().jitter_s > 0 && !by_site;
  for (const auto& [site, ranks] : spread.ranks_of_site) {
    site_of_rank.insert(site_of_rank.end(), by_site ? 1 : static_cast<std::size_t>(ranks), site);
    for (const auto& other : spread.ranks_of_site)
      jitters = jitters || (site != other.first && sites_.between(site, other.first).jitter_s > 0);
  }
  const Spread* sites = by_site ? &spread : nullptr;
  const Links links = linksOf(site_of_rank, spread.sharing, 0, sites);
  level.planner = std::make_unique<Planner>(0, links, catalogue_);
  if (!jitters) level.drawn.push_back(links);
  for (std::uint64_t draw = 1; jitters && draw <= kDraws; ++draw)
    level.drawn.push_back(linksOf(site_of_rank, spread.sharing, draw, sites));
  return level;
}

Network::Level& Network::levelWithin(int ranks) {
  Level& level = within_[ranks];
  if (level.planner != nullptr) return level;
  const Links links(ranks, sites_.within().price);
  level.planner = std::make_unique<Planner>(0, links, catalogue_);
  level.drawn.push_back(links);
  return level;
}

Result<Network::Costs> Network::costsOn(Level& level, const Exchange& exchange) {
  PlanKey key;
  key.collective = exchange.collective;
  key.count = exchange.bytes;
  key.algorithm = exchange.algorithm;
  std::shared_ptr<const CodecPair> pair;
  if (!exchange.codec.empty()) {
    const auto found = codec(exchange.codec);
    if (!found.isOk()) return found.status();
    pair = found.value();
    key.codecs = pair.get();
    key.element_bytes = sizeof(float);
    key.count = exchange.bytes / sizeof(float);
  }
  const Result<Candidate> choice = level.planner->choice(key);
  if (!choice.isOk()) return choice.status();
  Candidate taken = choice.value();
  const Question question = level.planner->questionOf(key, exchange.bytes);
  const int size = level.planner->size();
  const bool simulates = size <= 2 * kWhole;
  const std::vector<Schedule> schedules =
      simulates ? planAll(question, taken, level.drawn.front()) : std::vector<Schedule>();
  Costs costs;
  for (const Links& links : level.drawn) {
    if (schedules.empty() || stepsOf(schedules) > kMaxSteps) {
      priceAgain(question, taken, links);
      costs.push_back(unsimulated(taken, size));
    } else {
      costs.push_back(simulated(question, taken, schedules, links));
    }
    costs.back().plan = taken.algorithm->name();
  }
  return costs;
}

/// Adds what a collective takes within the largest site. `bytes`: as in Exchange.
Status Network::addWithin(Costs& costs, const Spread& spread, Collective collective, std::uint64_t bytes) {
  int most = 0;
  for (const auto& [site, ranks] : spread.ranks_of_site)
    most = std::max(most, ranks);
  if (most < 2) return Status::ok();
  const bool blocks = collective == Collective::reduceScatter || collective == Collective::allGather;
  const std::uint64_t each = blocks ? bytes / static_cast<std::uint64_t>(most) : bytes;
  const Result<Costs> within = costsOn(levelWithin(most), {collective, each});
  if (!within.isOk()) return within.status();
  const Cost& add = within.value().front();
  for (Cost& cost : costs) {
    cost.time_s += add.time_s + sites_.within().jitter_s;
    cost.busy_s = std::max(cost.busy_s, add.busy_s);
    cost.bytes += add.bytes / most * spread.size();
    cost.plan = cost.plan.empty() ? add.plan : fmt::format("{}, {}", add.plan, cost.plan);
  }
  return Status::ok();
}

/// As hier-INNER-OUTER (collectives/hierarchical.h) with a group for each site does it: reduce-scatter within sites,
/// all-reduce of the shards between them, all-gather within.
Result<Network::Costs> Network::costsByLevel(const Spread& spread, const Exchange& exchange) {
  const bool sums = exchange.collective == Collective::allReduce;
  Costs costs(1);
  if (spread.ranks_of_site.size() > 1) {
    Exchange between = exchange;
    if (exchange.collective == Collective::allGather)
      between.bytes *= static_cast<std::uint64_t>(spread.size()) / spread.ranks_of_site.size();
    Result<Costs> found = costsOn(levelOf(spread, true), between);
    if (!found.isOk()) return found;
    costs = found.take();
  }
  Status status;
  if (sums && spread.ranks_of_site.size() == 1 && exchange.codec.empty()) {
    status = addWithin(costs, spread, Collective::allReduce, exchange.bytes);
  } else if (sums) {
    std::uint64_t bytes = exchange.bytes;
    if (spread.ranks_of_site.size() == 1) {
      // One level, compressed: payloads travel, and values are encoded and decoded once each way.
      const auto pair = codec(exchange.codec);
      if (!pair.isOk()) return pair.status();
      const schedule::CodecPrice price = pair.value()->price(sizeof(float));
      costs[0].time_s = 2 * static_cast<double>(bytes) * (1 / price.encode_bytes_per_s + 1 / price.add_bytes_per_s);
      bytes = static_cast<std::uint64_t>(static_cast<double>(bytes) * price.payload_ratio);
    }
    status = addWithin(costs, spread, Collective::reduceScatter, bytes);
    if (status.isOk()) status = addWithin(costs, spread, Collective::allGather, bytes);
  } else {
    const bool gathers = exchange.collective == Collective::allGather;
    const std::uint64_t all = gathers ? exchange.bytes * static_cast<std::uint64_t>(spread.size()) : exchange.bytes;
    status = addWithin(costs, spread, exchange.collective, all);
  }
  if (!status.isOk()) return status;
  return costs;
}

Result<Cost> Network::cost(const Spread& spread, const Exchange& exchange, std::uint64_t draw) {
  auto found = costs_.find({spread, exchange});
  if (found == costs_.end()) {
    Result<Costs> costs = spread.size() == 1        ? Result<Costs>(Costs(1))
                          : spread.size() <= kWhole ? costsOn(levelOf(spread, false), exchange)
                                                    : costsByLevel(spread, exchange);
    if (!costs.isOk()) return costs.status();
    found = costs_.emplace(std::pair(spread, exchange), costs.take()).first;
  }
  const Costs& drawn = found->second;
  return drawn[draw % drawn.size()];
}

} // namespace goss::bench::sim
