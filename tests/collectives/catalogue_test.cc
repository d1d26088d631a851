// The catalogue as a list, and what algorithms refuse.
#include "collectives/catalogue.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/sample_requests.h"

namespace goss::collectives {
namespace {

using schedule::requestFor;

TEST(Catalogue, NamesAreUniqueWithinACollective) {
  const Catalogue catalogue = builtinAlgorithms();
  std::set<std::pair<Collective, std::string>> names;
  for (const CatalogueEntry& entry : catalogue.entries()) {
    EXPECT_TRUE(names.emplace(entry.collective, entry.algorithm->name()).second) << entry.algorithm->name();
  }
}

TEST(Catalogue, EveryCollectiveHasAnAlgorithmForEverySize) {
  const Catalogue catalogue = builtinAlgorithms();
  for (int c = 0; c < kCollectiveCount; ++c) {
    for (int p = 1; p <= 64; ++p) {
      const auto collective = static_cast<Collective>(c);
      PlanRequest request = requestFor(collective, p);
      request.uneven = request.partition == Partition::byRank;
      bool supported = false;
      for (const Algorithm* algorithm : catalogue.of(collective))
        supported |= algorithm->supports(request);
      EXPECT_TRUE(supported) << "collective " << c << " with " << p << " ranks";
    }
  }
}

TEST(Catalogue, FindsByCollectiveAndName) {
  const Catalogue catalogue = builtinAlgorithms();
  ASSERT_NE(catalogue.find(Collective::allReduce, "ring"), nullptr);
  EXPECT_EQ(catalogue.find(Collective::allReduce, "ring")->name(), "ring");
  EXPECT_NE(catalogue.find(Collective::allReduce, "ring"), catalogue.find(Collective::allGather, "ring"));
  EXPECT_EQ(catalogue.find(Collective::barrier, "ring"), nullptr);
  EXPECT_EQ(catalogue.find(Collective::allReduce, ""), nullptr);
}

TEST(Catalogue, PlansNameTheirAlgorithmAndRank) {
  const Catalogue catalogue = builtinAlgorithms();
  for (const CatalogueEntry& entry : catalogue.entries()) {
    PlanRequest request = requestFor(entry.collective, 8);
    request.rank = 5;
    request.root = 2;
    if (entry.algorithm->traits().takes_group) request.group_size = 4;
    const Schedule schedule = entry.algorithm->plan(request);
    EXPECT_EQ(schedule.algorithm, entry.algorithm->name());
    EXPECT_EQ(schedule.collective, entry.collective);
    EXPECT_EQ(schedule.rank, 5);
    EXPECT_EQ(schedule.size, 8);
  }
}

TEST(Supports, ButterfliesNeedAPowerOfTwo) {
  const Catalogue catalogue = builtinAlgorithms();
  for (const char* name : {"rabenseifner", "swing"}) {
    const Algorithm* algorithm = catalogue.find(Collective::allReduce, name);
    EXPECT_TRUE(algorithm->supports(requestFor(Collective::allReduce, 16)));
    EXPECT_FALSE(algorithm->supports(requestFor(Collective::allReduce, 12)));
  }
}

TEST(Supports, BruckExchangeNeedsEqualBlocks) {
  const Catalogue catalogue = builtinAlgorithms();
  PlanRequest request = requestFor(Collective::allToAll, 4);
  request.uneven = true;
  EXPECT_FALSE(catalogue.find(Collective::allToAll, "bruck")->supports(request));
  EXPECT_TRUE(catalogue.find(Collective::allToAll, "pairwise")->supports(request));
}

TEST(Supports, TwoLevelsNeedGroupsOfEqualSize) {
  const Catalogue catalogue = builtinAlgorithms();
  const Algorithm* algorithm = catalogue.find(Collective::allReduce, "hier-direct-ring");
  PlanRequest request = requestFor(Collective::allReduce, 12);
  for (const auto& [group, expected] :
       {std::pair{0, false}, {1, false}, {4, true}, {5, false}, {6, true}, {12, false}}) {
    request.group_size = group;
    EXPECT_EQ(algorithm->supports(request), expected) << "group of " << group;
  }
}

TEST(Supports, SitePairsNeedTwoGroups) {
  const Catalogue catalogue = builtinAlgorithms();
  const Algorithm* algorithm = catalogue.find(Collective::allReduce, "site-pairs");
  for (const auto& [ranks, group, expected] :
       {std::tuple{4, 2, true}, {12, 6, true}, {12, 4, false}, {2, 1, false}, {5, 2, false}, {4, 0, false}}) {
    PlanRequest request = requestFor(Collective::allReduce, ranks);
    request.group_size = group;
    EXPECT_EQ(algorithm->supports(request), expected) << ranks << " ranks, group of " << group;
  }
}

TEST(Supports, RingOrderMustBeAPermutation) {
  const Catalogue catalogue = builtinAlgorithms();
  PlanRequest request = requestFor(Collective::allReduce, 3);
  for (const auto& [order, expected] : {std::pair<std::vector<int>, bool>{{}, true},
                                        {{2, 0, 1}, true},
                                        {{2, 0}, false},
                                        {{2, 0, 2}, false},
                                        {{2, 0, 3}, false}}) {
    request.order = order;
    EXPECT_EQ(catalogue.find(Collective::allReduce, "ring")->supports(request), expected);
  }
}

TEST(Ring, ChunkIsTheShardOfItsRankInAnyOrder) {
  const Catalogue catalogue = builtinAlgorithms();
  PlanRequest request = requestFor(Collective::allReduce, 4);
  request.order = {2, 0, 3, 1};
  for (request.rank = 0; request.rank < 4; ++request.rank) {
    const Schedule schedule = catalogue.find(Collective::allReduce, "ring")->plan(request);
    for (const Step& step : schedule.steps) {
      if (step.kind != StepKind::finish) continue;
      EXPECT_EQ(schedule.slotsOf(step.targets).front().index, static_cast<std::uint32_t>(request.rank));
    }
  }
}

TEST(Supports, RefusesOtherCollectivesAndPartitions) {
  const Catalogue catalogue = builtinAlgorithms();
  for (const CatalogueEntry& entry : catalogue.entries()) {
    PlanRequest request = requestFor(entry.collective, 8);
    if (entry.algorithm->traits().takes_group) request.group_size = 4;
    EXPECT_TRUE(entry.algorithm->supports(request)) << entry.algorithm->name();
    PlanRequest other = request;
    other.partition = request.partition == Partition::even ? Partition::byRank : Partition::even;
    EXPECT_FALSE(entry.algorithm->supports(other)) << entry.algorithm->name();
    other = request;
    other.collective = entry.collective == Collective::scan ? Collective::exscan : Collective::scan;
    EXPECT_FALSE(entry.algorithm->supports(other)) << entry.algorithm->name();
  }
}

} // namespace
} // namespace goss::collectives
