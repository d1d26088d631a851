// The checker's figures for the catalogue's schedules, against the papers' formulas.
#include <gtest/gtest.h>

#include <bit>

#include "collectives/catalogue.h"
#include "schedule/checker.h"
#include "schedule/contract.h"
#include "schedule/sample_requests.h"

namespace goss::collectives {
namespace {

using schedule::requestFor;

int ceilLog2(int p) { return static_cast<int>(std::bit_width(static_cast<unsigned>(p - 1))); }

class KnownFigures : public testing::Test {
 protected:
  schedule::RunFacts facts(Collective collective, std::string_view name, PlanRequest request) {
    const Algorithm* algorithm = catalogue_.find(collective, name);
    EXPECT_NE(algorithm, nullptr) << name;
    request.collective = collective;
    Result<schedule::RunFacts> result = schedule::checkAlgorithm(*algorithm, request);
    EXPECT_TRUE(result.isOk()) << result.status().text();
    return result.isOk() ? result.value() : schedule::RunFacts{};
  }
  schedule::RunFacts facts(Collective collective, std::string_view name, int p) {
    return facts(collective, name, requestFor(collective, p));
  }
  Catalogue catalogue_ = builtinAlgorithms();
};

// The checker's longest path counts only messages that carry one another's data, so where ranks sit rounds out (sizes
// that are not a power of two) it may be below the number of rounds.
TEST_F(KnownFigures, LatencyOfPowersOfTwo) {
  for (const int p : {2, 4, 8, 16, 32, 64}) {
    const int rounds = ceilLog2(p);
    EXPECT_EQ(facts(Collective::allReduce, "recursive-doubling", p).longest_path, rounds);
    for (const char* name : {"circulant-halving", "bruck", "rabenseifner", "swing"}) {
      EXPECT_EQ(facts(Collective::allReduce, name, p).longest_path, 2 * rounds) << name;
    }
    EXPECT_EQ(facts(Collective::scan, "distance-doubling", p).longest_path, rounds);
    EXPECT_EQ(facts(Collective::exscan, "distance-doubling", p).longest_path, rounds);
    EXPECT_EQ(facts(Collective::allToAll, "bruck", p).longest_path, rounds);
    EXPECT_EQ(facts(Collective::broadcast, "binomial", p).longest_path, rounds);
    EXPECT_EQ(facts(Collective::gather, "binomial", p).longest_path, rounds);
  }
}

TEST_F(KnownFigures, LatencyOfAnySize) {
  for (const int p : {2, 3, 7, 8, 13, 16, 31, 64}) {
    const int rounds = ceilLog2(p);
    EXPECT_EQ(facts(Collective::allReduce, "ring", p).longest_path, 2 * (p - 1));
    EXPECT_EQ(facts(Collective::allReduce, "direct", p).longest_path, 2);
    EXPECT_EQ(facts(Collective::barrier, "dissemination", p).longest_path, rounds);
    EXPECT_EQ(facts(Collective::allToAll, "pairwise", p).longest_path, 1);
    EXPECT_EQ(facts(Collective::gather, "linear", p).longest_path, 1);
    EXPECT_EQ(facts(Collective::broadcast, "chain", p).longest_path, p - 1);
    EXPECT_EQ(facts(Collective::broadcast, "scatter-direct", p).longest_path, 2);
    EXPECT_LE(facts(Collective::allReduce, "circulant-halving", p).longest_path, 2 * rounds);
    EXPECT_LE(facts(Collective::allReduce, "circulant-radix4", p).longest_path, rounds + 1);
    EXPECT_LE(facts(Collective::allReduce, "recursive-doubling", p).longest_path, rounds + 1);
    EXPECT_LE(facts(Collective::scan, "distance-doubling", p).longest_path, rounds);
    EXPECT_LE(facts(Collective::scatter, "binomial", p).longest_path, rounds);
  }
}

TEST_F(KnownFigures, CirculantPipelineNeedsNoMoreThanTheOptimalRounds) {
  for (const int p : {2, 3, 7, 8, 13, 16, 31, 33, 64}) {
    for (const std::uint32_t blocks : {1u, 2u, 5u, 16u}) {
      PlanRequest request = requestFor(Collective::broadcast, p);
      request.blocks = blocks;
      EXPECT_LE(facts(Collective::broadcast, "circulant-pipeline", request).longest_path,
                static_cast<int>(blocks) - 1 + ceilLog2(p));
      EXPECT_EQ(facts(Collective::broadcast, "circulant-pipeline", request).messages,
                blocks * static_cast<std::uint64_t>(p - 1));
    }
  }
}

TEST_F(KnownFigures, LossyDepthOfSixteenRanks) {
  const std::pair<const char*, int> expected[] = {
      {"ring", 16},  {"circulant-halving", 5}, {"rabenseifner", 5}, {"swing", 5}, {"circulant-radix4", 3},
      {"direct", 2}, {"recursive-doubling", 4}};
  for (const auto& [name, depth] : expected) {
    EXPECT_EQ(facts(Collective::allReduce, name, 16).lossy_depth, depth) << name;
  }
}

TEST_F(KnownFigures, OnlyExchangesOfSumsDifferBetweenRanksWhenLossy) {
  for (const Algorithm* algorithm : catalogue_.of(Collective::allReduce)) {
    PlanRequest request = requestFor(Collective::allReduce, 16);
    if (algorithm->traits().takes_group) request.group_size = algorithm->traits().pairs_groups ? 8 : 4;
    // Every rank adds its own exact part to what it received: no two have the same sum.
    const bool exchanges_sums = algorithm->name().find("recursive-doubling") != std::string_view::npos ||
                                algorithm->name() == "flat" || algorithm->name() == "site-pairs";
    EXPECT_EQ(facts(Collective::allReduce, algorithm->name(), request).identical_when_lossy, !exchanges_sums)
        << algorithm->name();
  }
}

TEST_F(KnownFigures, DirectExchangeIsLossyTwiceForAnySize) {
  for (int p = 2; p <= 64; ++p)
    EXPECT_EQ(facts(Collective::allReduce, "direct", p).lossy_depth, 2);
}

TEST_F(KnownFigures, TwoLevelsOfDirectExchangeAreLossyThreeTimes) {
  PlanRequest request = requestFor(Collective::allReduce, 32);
  request.group_size = 8;
  const schedule::RunFacts found = facts(Collective::allReduce, "hier-direct-direct", request);
  EXPECT_EQ(found.lossy_depth, 3);
  EXPECT_EQ(found.longest_path, 4);
}

} // namespace
} // namespace goss::collectives
