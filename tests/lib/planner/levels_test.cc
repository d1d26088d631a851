// Prices among many ranks of several hosts or sites, held against simulations of all ranks.
#include "planner/levels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "collectives/catalogue.h"
#include "planner/candidates.h"
#include "planner/closed_form.h"
#include "planner/planner.h"
#include "schedule/contract.h"
#include "tests/lib/planner/plan_keys.h"
#include "tests/support/quick.h"

namespace goss {
namespace {

using schedule::LinkPrice;
using schedule::Links;
using schedule::NodePrice;
using test::fullOr;

LinkPrice builtIn(std::string_view name) { return Links::builtIn(name, 2).value().price(0, 1); }

/// Nodes of so many consecutive ranks each.
Links nodesOf(const std::vector<int>& ranks_of_node, const LinkPrice& within, const LinkPrice& between,
              NodePrice port) {
  std::vector<int> node_of_rank;
  for (std::size_t node = 0; node < ranks_of_node.size(); ++node)
    node_of_rank.insert(node_of_rank.end(), static_cast<std::size_t>(ranks_of_node[node]), static_cast<int>(node));
  Links links(static_cast<int>(node_of_rank.size()), between);
  const auto node_of = [&](int rank) { return node_of_rank[static_cast<std::size_t>(rank)]; };
  links.setPrices(node_of_rank, [&](int from, int to) { return node_of(from) == node_of(to) ? within : between; });
  for (int first = 0; const int count : ranks_of_node) {
    std::vector<int> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), first);
    links.setNode(ranks, port);
    first += count;
  }
  return links;
}

Links hostsOf(const std::vector<int>& ranks_of_host) {
  const LinkPrice network = builtIn("lan10g");
  return nodesOf(ranks_of_host, builtIn("shm"), network,
                 {network.bandwidth_bytes_per_s, network.bandwidth_bytes_per_s});
}
/// With ports through which several flows fit.
Links sitesOf(const std::vector<int>& ranks_of_site) {
  return nodesOf(ranks_of_site, builtIn("lan10g"), builtIn("wan"), {1.25e9, 1.25e9});
}

class LevelsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<const Algorithm*> algorithms(Collective collective) const {
    std::vector<const Algorithm*> all = catalogue_.of(collective);
    std::erase_if(all, [](const Algorithm* one) { return one->name() == "flat" || !one->traits().identical_bits; });
    return all;
  }

  const Catalogue catalogue_ = collectives::builtinAlgorithms();
};

/// The candidate in its simplest form; no algorithm: it does not support that.
Candidate candidateOf(const Question& question, const Algorithm& algorithm, const Links& links) {
  const std::vector<Candidate> variants = legalVariants(question, algorithm, links, true);
  return variants.empty() ? Candidate{} : variants.front();
}

TEST_F(LevelsTest, AreSeenWhereNodesAreFarApart) {
  const auto levels = Levels::of(hostsOf({8, 4, 8, 4}));
  ASSERT_TRUE(levels.has_value());
  EXPECT_EQ(levels->nodes.size(), 2u);
  EXPECT_EQ(levels->common, 4);
  EXPECT_EQ(levels->within, builtIn("shm"));
  EXPECT_EQ(levels->between, builtIn("lan10g"));
  LinkPrice package = builtIn("shm");
  package.latency_s *= 2;
  package.bandwidth_bytes_per_s *= 0.6;
  EXPECT_FALSE(Levels::of(nodesOf({8, 8}, builtIn("shm"), package, {20e9, 20e9})).has_value()) << "packages of a host";
  EXPECT_FALSE(Levels::of(Links(8)).has_value()) << "no nodes";
  EXPECT_FALSE(Levels::of(hostsOf({8})).has_value()) << "one node";
  Links one_differs = hostsOf({4, 4});
  one_differs.setPrice(1, 6, {1e-3, 1e8, 1e-6, 0});
  EXPECT_FALSE(Levels::of(one_differs).value().alike);
  Links scattered(8, builtIn("lan10g"));
  scattered.setNode(std::vector{0, 2, 4}, {1e9, 1e9});
  EXPECT_FALSE(Levels::of(scattered).has_value());
}

TEST_F(LevelsTest, OfPairsThatDifferHaveTheWorstPrice) {
  Links links = sitesOf({4, 4, 8});
  LinkPrice slow = links.price(0, 4);
  slow.latency_s *= 2;
  links.setPrice(3, 15, slow);
  const auto levels = Levels::of(links);
  ASSERT_TRUE(levels.has_value());
  EXPECT_FALSE(levels->alike);
  EXPECT_EQ(levels->between, slow);
  EXPECT_EQ(levels->nodes.size(), 2u);
  EXPECT_EQ(LinkStructure::of(links).period, 16);
  EXPECT_EQ(LinkStructure::of(sitesOf({8, 8})).period, 8);
}

struct Nodes {
  std::string name;
  Links links;
};

std::vector<Nodes> shapes() {
  std::vector<Nodes> all;
  const std::vector<std::vector<int>> full = {{4, 4},    {4, 4, 4, 4}, {8, 8},
                                              {6, 6, 8}, {20, 4, 8},   {8, 8, 8, 8, 8, 8, 8, 8}};
  for (const std::vector<int>& nodes : full) {
    const auto sites = std::to_string(nodes.size()) + " of " + std::to_string(nodes[0]);
    all.push_back({"hosts, " + sites, hostsOf(nodes)});
    all.push_back({"sites, " + sites, sitesOf(nodes)});
  }
  if (fullOr(false, true)) all.erase(all.begin() + 6, all.end());
  return all;
}

// A formula is at least half and at most 3 times the simulated price, and most are within 10 %. The farthest are those
// of trees, whose subtrees do not fill unequal nodes, and of pipelines among two nodes, which go both ways at once.
TEST_F(LevelsTest, FormulasAreNearSimulations) {
  int near = 0;
  int all = 0;
  for (const auto& [name, links] : shapes()) {
    const auto levels = Levels::of(links);
    ASSERT_TRUE(levels.has_value());
    for (const CatalogueEntry& entry : catalogue_.entries()) {
      if (isAmongNeighbors(entry.collective) || entry.algorithm->name() == "flat") continue;
      for (const std::uint64_t bytes : {8u, 64u << 10, 2u << 20}) {
        const Question question{entry.collective, 0, false, entry.collective == Collective::barrier ? 0 : bytes};
        Candidate candidate = candidateOf(question, *entry.algorithm, links);
        if (candidate.algorithm == nullptr) continue;
        if (candidate.algorithm->traits().pipelined && bytes > 8) candidate.blocks = 8;
        const double simulated_s = priceOver(question, candidate, links).value();
        if (!ClosedForm(question, links, &*levels).price(candidate)) continue;
        const double ratio = candidate.price_s / simulated_s;
        const auto what = std::string(schedule::nameOf(entry.collective)) + " " + std::string(entry.algorithm->name()) +
                          " of " + std::to_string(bytes) + " bytes, " + name;
        EXPECT_GE(ratio, 0.5) << what;
        EXPECT_LE(ratio, 3) << what;
        ++all;
        if (ratio > 0.9 && ratio < 1.1) ++near;
      }
    }
  }
  EXPECT_GT(near, all * 6 / 10);
}

// Fewer ranks of each site stand for all of them, whose port is fuller.
TEST_F(LevelsTest, CompressedPricesOfManyRanksCountTheLinksBetweenSites) {
  const Links links = sitesOf({24, 24, 24, 24});
  Question question{Collective::allReduce, 0, false, 16 << 20};
  question.compressed = true;
  question.codec.payload_ratio = 0.25;
  std::vector<const Algorithm*> some;
  for (const std::string_view name : {"direct", "ring", "circulant-radix8", "hier-direct-direct", "hier-ring-ring"})
    some.push_back(catalogue_.find(Collective::allReduce, name));
  int extrapolated = 0;
  for (const Candidate& candidate : priceCandidates(question, some, links)) {
    if (candidate.extrapolated) ++extrapolated;
    const double simulated_s = priceOver(question, candidate, links).value();
    EXPECT_LE(candidate.price_s, 2 * simulated_s) << candidate.algorithm->name();
    EXPECT_GE(candidate.price_s, simulated_s / 2) << candidate.algorithm->name();
  }
  EXPECT_GE(extrapolated, 1);
}

// Halved, a node of 8 ranks soon has too few for two levels.
TEST_F(LevelsTest, CompressedCallsOfManySmallNodesHavePricesOfTwoLevels) {
  const Links links = hostsOf(std::vector<int>(16, 8));
  Question question{Collective::allReduce, 0, false, 16 << 20};
  question.compressed = true;
  question.codec.payload_ratio = 0.25;
  for (const std::string_view name : {"hier-direct-direct", "hier-circulant-halving-direct"}) {
    const std::vector some{catalogue_.find(Collective::allReduce, name)};
    EXPECT_FALSE(priceCandidates(question, some, links).empty()) << name;
  }
}

// Plans cost little more than the best of all, simulated.
TEST_F(LevelsTest, TheChoiceCostsLittleMoreThanTheCheapest) {
  for (const auto& [name, links] : shapes()) {
    for (const Collective collective : {Collective::allReduce, Collective::broadcast, Collective::allGather}) {
      for (const std::uint64_t bytes : {8u, 64u << 10, 1u << 20}) {
        const Question question{collective, 0, false, bytes};
        const auto priced = priceCandidates(question, algorithms(collective), links);
        const Candidate& chosen = priced[Planner::cheapest(priced)];
        double least_s = std::numeric_limits<double>::infinity();
        for (const Candidate& candidate : priced) {
          if (candidate.price_s > 2 * chosen.price_s) continue;
          least_s = std::min(least_s, priceOver(question, candidate, links).value());
        }
        EXPECT_LE(priceOver(question, chosen, links).value(), 1.25 * least_s)
            << schedule::nameOf(collective) << " of " << bytes << " bytes, " << name << ": "
            << chosen.algorithm->name();
      }
    }
  }
}

// Each site's ranks must send 2 (s - 1) / s of the vector to the other s - 1 sites, at least.
TEST_F(LevelsTest, LargeVectorsCrossTheLinksBetweenSitesAboutAsFewTimesAsTheyCan) {
  constexpr int kSites = 10;
  constexpr int kRanks = 30;
  const Links links = sitesOf(std::vector<int>(kSites, kRanks));
  const Question question{Collective::allReduce, 0, false, 400 << 20};
  const auto priced = priceCandidates(question, algorithms(Collective::allReduce), links);
  const Candidate& chosen = priced[Planner::cheapest(priced)];
  double crossing_bytes = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    const Schedule schedule = scheduleFor(question, chosen, links, rank).schedule;
    const schedule::ChunkSizes sizes(schedule, shapeFor(question, chosen, links.size()), 0, 1);
    for (const Step& step : schedule.steps) {
      if (step.kind != StepKind::send || links.nodeOf(step.peer) == links.nodeOf(0)) continue;
      for (const Slot slot : schedule.slotsOf(step.targets))
        crossing_bytes += static_cast<double>(sizes.of(schedule, slot));
    }
  }
  const double least_bytes = 2.0 * (kSites - 1) / kSites * static_cast<double>(question.bytes);
  EXPECT_LE(crossing_bytes, 1.25 * least_bytes) << chosen.algorithm->name();
}

} // namespace
} // namespace goss
