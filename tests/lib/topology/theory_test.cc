// What the papers prove of their graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "base/split_mix.h"
#include "topology/analysis.h"
#include "topology/topology.h"

namespace goss::topology {
namespace {

using testing::HasSubstr;

Result<std::string> noFile(const std::string&) { return Status::error(GOSS_ERR_INVALID_ARGUMENT, "no file"); }

Topology made(const std::string& spec, int ranks) {
  Result<Topology> result = Topology::make(spec, ranks, noFile);
  EXPECT_TRUE(result.isOk()) << result.status().text();
  return result.take();
}

std::string faultOf(const std::string& spec, int ranks, const std::string& file = "") {
  const auto read = [&](const std::string&) -> Result<std::string> { return file; };
  const Result<Topology> result = Topology::make(spec, ranks, read);
  return result.isOk() ? "accepted" : result.status().text();
}

constexpr double kClose = 1e-9;

double cosine(int n) { return std::cos(2 * std::numbers::pi / n); }

TEST(Theory, OnePeerExponentialIsExactAfterLog2RoundsForPowersOfTwoAlone) {
  for (const auto& [ranks, rounds] : {std::pair{2, 1}, {8, 3}, {16, 4}, {32, 5}}) {
    EXPECT_EQ(analyse(made("one-peer-exponential", ranks)).exact_after, rounds) << ranks;
  }
  EXPECT_FALSE(analyse(made("one-peer-exponential", 12)).exact_after.has_value());
}

TEST(Theory, BaseGraphsAreExactForAnyNumberOfRanksWithAtMostKNeighbours) {
  for (int ranks = 1; ranks <= 66; ++ranks) {
    for (const int k : {1, 2, 3, 4}) {
      const Topology topology = made("base:k=" + std::to_string(k), ranks);
      const Analysis analysis = analyse(topology);
      EXPECT_EQ(analysis.exact_after, topology.period()) << ranks << " ranks, k " << k;
      EXPECT_LE(analysis.max_degree, k) << ranks << " ranks";
      EXPECT_TRUE(analysis.symmetric && analysis.row_stochastic && analysis.column_stochastic) << ranks;
      // Theorem 1 of the paper.
      const double bound = 2 * std::log(ranks) / std::log(k + 1) + 2;
      EXPECT_LE(static_cast<double>(topology.period()), bound + kClose) << ranks << " ranks, k " << k;
    }
  }
}

TEST(Theory, Base2TakesTheRoundsOfItsConstruction) {
  // 12 = 4 * 3: two halvings, and 3 = 2 + 1 takes 1 + 1 + 1 rounds; 24 has one halving more; 33 = 32 + 1: 5 + 1 + 5.
  EXPECT_EQ(made("base:k=1", 12).period(), 5u);
  EXPECT_EQ(made("base:k=1", 24).period(), 6u);
  EXPECT_EQ(made("base:k=1", 33).period(), 11u);
}

TEST(Theory, SpectralGapsAreTheClosedForms) {
  for (const int n : {5, 8, 16, 64}) {
    EXPECT_NEAR(*analyse(made("ring", n)).spectral_gap, 1 - (1 + 2 * cosine(n)) / 3, kClose) << n;
  }
  EXPECT_NEAR(*analyse(made("torus:4x8", 32)).spectral_gap, 1 - (3 + 2 * cosine(8)) / 5, kClose);
  EXPECT_NEAR(*analyse(made("torus:3x5x7", 105)).spectral_gap, 1 - (5 + 2 * cosine(7)) / 7, kClose);
  for (const int d : {1, 2, 4, 6}) {
    EXPECT_NEAR(*analyse(made("hypercube", 1 << d)).spectral_gap, 2.0 / (d + 1), kClose) << d;
    EXPECT_NEAR(*analyse(made("exponential", 1 << d)).spectral_gap, 2.0 / (d + 1), kClose) << d;
  }
  EXPECT_NEAR(*analyse(made("full", 9)).spectral_gap, 1, kClose);
  // The star's weights are 1/n: eigenvalues 1, 1 - 1/n and 0.
  EXPECT_NEAR(*analyse(made("star", 10)).spectral_gap, 0.1, kClose);
  // Period of Bagua's pairs: measured 3.8e-3 (8) and 2.5e-2 (16) of the variance are left; the gap tells it a round.
  EXPECT_LT(*analyse(made("shift-one", 16)).spectral_gap, *analyse(made("one-peer-exponential", 16)).spectral_gap);
}

TEST(Theory, FullGridsAreExactAfterTheirDimensionsAndOthersKeepTheMean) {
  EXPECT_EQ(analyse(made("grid:8x8", 64)).exact_after, 2u);
  EXPECT_EQ(analyse(made("grid:2x3x4", 24)).exact_after, 3u);
  EXPECT_EQ(made("grid", 12).mixing(0).rows, made("grid:4x3", 12).mixing(0).rows);
  const Analysis missing = analyse(made("grid:4x4", 14));
  EXPECT_FALSE(missing.exact_after.has_value());
  EXPECT_TRUE(missing.row_stochastic && missing.column_stochastic && missing.connected);
}

// Ryabinin et al. 2021, theorem 1: N ranks in r random groups; a round leaves (r - 1) / N + r / N^2 of the variance or
// less. Ranks that take random places in the library's grid of equal groups are left (r - 1) / (N - 1).
TEST(Theory, RandomGroupsLeaveWhatMoshpitsBoundAllows) {
  constexpr int kRanks = 64, kGroups = 8, kRounds = 2, kTrials = 4000;
  const Topology grid = made("grid:8x8", kRanks);
  base::SplitMix64 random(1);
  double left = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> x(kRanks);
    double mean = 0, before = 0, after = 0;
    for (double& value : x) {
      value = static_cast<double>(random.next() >> 11) * 0x1p-53;
      mean += value / kRanks;
    }
    for (const double value : x)
      before += (value - mean) * (value - mean);
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = kRanks; i > 1; --i)
        std::swap(x[i - 1], x[random.below(i)]);
      std::vector<double> next(kRanks);
      for (int rank = 0; rank < kRanks; ++rank) {
        const Neighborhood mine = grid.neighborhood(0, rank);
        double& value = next[static_cast<std::size_t>(rank)] = mine.self_weight * x[static_cast<std::size_t>(rank)];
        for (const Neighbor& source : mine.sources)
          value += source.weight * x[static_cast<std::size_t>(source.rank)];
      }
      x = next;
    }
    for (const double value : x)
      after += (value - mean) * (value - mean);
    left += after / before / kTrials;
  }
  const double bound = std::pow((kGroups - 1.0) / kRanks + kGroups / std::pow(kRanks, 2), kRounds);
  EXPECT_NEAR(bound, 1.239e-2, 1e-5);
  // A trial leaves about as much as half of the mean more or less, so 4000 of them 1 % of it.
  EXPECT_LE(left, 1.03 * bound);
  EXPECT_NEAR(left, std::pow((kGroups - 1.0) / (kRanks - 1), kRounds), 0.03 * bound);
}

TEST(Topology, EveryFamilyIsConnectedAndDoublyStochastic) {
  for (const char* spec : {"ring", "torus:4x4", "hypercube", "star", "full", "exponential", "one-peer-exponential",
                           "base:k=2", "random-regular:d=4,seed=7", "shift-one", "grid:4x4", "ring:weights=metropolis",
                           "exponential:weights=push-sum", "random-regular:d=3;seed=2"}) {
    const Topology topology = made(spec, 16);
    EXPECT_TRUE(topology.require(Property::doublyStochastic).isOk()) << spec;
    EXPECT_TRUE(analyse(topology).connected) << spec;
  }
}

TEST(Topology, NeighbourhoodsAreTheRowsAndMatchAtBothEnds) {
  for (const char* spec : {"one-peer-exponential", "star", "base:k=2", "exponential:weights=push-sum"}) {
    const Topology topology = made(spec, 13);
    for (std::uint64_t t = 0; t < topology.period(); ++t) {
      for (int rank = 0; rank < 13; ++rank) {
        const Neighborhood mine = topology.neighborhood(t, rank);
        EXPECT_EQ(mine.self_weight, topology.mixing(t).at(rank, rank)) << spec;
        for (const Neighbor& source : mine.sources) {
          EXPECT_EQ(source.weight, topology.mixing(t).at(rank, source.rank));
          const Neighborhood theirs = topology.neighborhood(t, source.rank);
          EXPECT_THAT(theirs.destinations, testing::Contains(Neighbor{rank, 1.0})) << spec;
        }
      }
    }
  }
}

TEST(Topology, RandomGraphsAreRegularAndFollowTheirSeed) {
  for (const int d : {2, 3, 5, 8}) {
    const Analysis analysis = analyse(made("random-regular:d=" + std::to_string(d), 20));
    EXPECT_EQ(analysis.min_degree, d);
    EXPECT_EQ(analysis.max_degree, d);
    EXPECT_TRUE(analysis.connected && analysis.symmetric);
  }
  EXPECT_EQ(made("random-regular:seed=3", 20).mixing(0).rows, made("random-regular:seed=3", 20).mixing(0).rows);
  EXPECT_NE(made("random-regular:seed=3", 20).mixing(0).rows, made("random-regular:seed=4", 20).mixing(0).rows);
}

TEST(Topology, MatricesComeFromFiles) {
  const auto read = [](const std::string& path) -> Result<std::string> {
    EXPECT_EQ(path, "a:b,c");
    return std::string("# two rounds\n0.5 0.5 0\n0.5,0.5,0\n0 0 1\n\n1 0 0\n0 .5 .5\n0 .5 .5\n");
  };
  const Result<Topology> topology = Topology::make("matrix:a:b,c", 3, read);
  ASSERT_TRUE(topology.isOk()) << topology.status().text();
  EXPECT_EQ(topology.value().period(), 2u);
  EXPECT_EQ(topology.value().mixing(3).at(2, 1), 0.5);
  EXPECT_TRUE(analyse(topology.value()).connected);
}

TEST(Topology, WhatDoesNotSuitIsRefusedNamingRowAndColumn) {
  EXPECT_THAT(faultOf("matrix:f", 2, "1 0\n0 x\n"), HasSubstr("row 1 column 1: 'x' is no number"));
  EXPECT_THAT(faultOf("matrix:f", 2, "1 0 0\n"), HasSubstr("row 0: 3 columns for 2 ranks"));
  EXPECT_THAT(faultOf("matrix:f", 2, "1 0\n"), HasSubstr("has 1 rows for 2 ranks"));
  EXPECT_THAT(faultOf("hypercube", 6), HasSubstr("no power of two"));
  EXPECT_THAT(faultOf("torus:3x4", 6), HasSubstr("multiply to 12, not to 6"));
  EXPECT_THAT(faultOf("torus", 6), HasSubstr("wants lengths"));
  EXPECT_THAT(faultOf("shift-one", 7), HasSubstr("not even"));
  EXPECT_THAT(faultOf("random-regular:d=3", 7), HasSubstr("no connected graph"));
  EXPECT_THAT(faultOf("ring:k=3", 7), HasSubstr("unknown parameter 'k'; it has: weights"));
  EXPECT_THAT(faultOf("moon", 7), HasSubstr("there is no topology 'moon'; there are: ring"));
  EXPECT_THAT(faultOf("torus:4x", 4), HasSubstr("topology 'torus:4x': '4x' is no list of lengths"));
  EXPECT_THAT(faultOf("torus:4xy", 4), HasSubstr("'4xy' is no list of lengths"));
  EXPECT_THAT(faultOf("grid:2x2;", 4), HasSubstr("nothing follows the last ';'"));
  EXPECT_THAT(faultOf("base:k=0", 4), HasSubstr("k=0 is not between 1 and"));
  EXPECT_THAT(faultOf("moon:x=1", 7), HasSubstr("there is no topology 'moon'; there are: ring"));
  EXPECT_THAT(faultOf("one-peer-exponential:weights=metropolis", 8), HasSubstr("gets nothing from it"));
  const auto read = [](const std::string&) -> Result<std::string> { return std::string("0.5 0.5\n0.25 0.75\n"); };
  const Topology rows = Topology::make("matrix:f", 2, read).take();
  EXPECT_TRUE(rows.require(Property::rowStochastic).isOk());
  EXPECT_THAT(rows.require(Property::doublyStochastic).text(), HasSubstr("column 0 sums to 0.75"));
  EXPECT_THAT(rows.require(Property::symmetric).text(), HasSubstr("row 0 column 1 is 0.5, but row 1 column 0 is 0.25"));
  EXPECT_THAT(made("one-peer-exponential", 8).require(Property::constant).text(), HasSubstr("round 1"));
  EXPECT_TRUE(made("star:weights=push-sum", 5).require(Property::columnStochastic).isOk());
  EXPECT_FALSE(made("star:weights=push-sum", 5).require(Property::rowStochastic).isOk());
}

TEST(Topology, DescribesAndDrawsItself) {
  EXPECT_EQ(describe(made("full", 4)),
            R"({"spec":"full","ranks":4,"period":1,"min_degree":3,"max_degree":3,"row_stochastic":true,)"
            R"("column_stochastic":true,"doubly_stochastic":true,"symmetric":true,"connected":true,"spectral_gap":1,)"
            R"("exact_after":1})");
  EXPECT_THAT(draw(made("ring", 4), 0), HasSubstr("round 0: 0 to 1, weight 0.3333"));
  EXPECT_THAT(draw(made("one-peer-exponential", 4), -1), HasSubstr("round 1: 0 to 2"));
}

} // namespace
} // namespace goss::topology
