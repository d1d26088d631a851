// Prices of the library's own algorithms against their closed forms: latency a, m bytes, b seconds a byte, g seconds a
// byte added; equal pairs, both ends ready (every message is eager), no overhead, copies free.
#include <gtest/gtest.h>

#include <bit>

#include "collectives/catalogue.h"
#include "planner/candidates.h"

namespace goss {
namespace {

using schedule::Links;

constexpr double kA = 25e-6;
constexpr double kB = 1 / 1.15e9;
constexpr double kG = 1 / 14e9;

double ceilLog2(int p) { return p <= 1 ? 0 : std::bit_width(static_cast<unsigned>(p - 1)); }

class ClosedForms : public ::testing::Test {
 protected:
  /// Seconds on `p` ranks; `bytes` of the vector or of one rank's block.
  double price(Collective collective, std::string_view algorithm, int p, std::uint64_t bytes,
               std::uint32_t blocks = 1) {
    Candidate candidate;
    candidate.algorithm = catalogue_.find(collective, algorithm);
    if (candidate.algorithm == nullptr) {
      ADD_FAILURE() << "no algorithm " << algorithm;
      return 0;
    }
    candidate.blocks = blocks;
    const auto result =
        priceOver({collective, 0, false, bytes}, candidate, Links(p, {kA, 1 / kB, 0, 1e12}, {1 / kG, 0}));
    EXPECT_TRUE(result.isOk()) << result.status().text();
    return result.isOk() ? result.value() : 0;
  }

  const Catalogue catalogue_ = collectives::builtinAlgorithms();
};

TEST_F(ClosedForms, Barrier) {
  for (const int p : {2, 3, 8, 13}) {
    const double expected = ceilLog2(p) * kA;
    EXPECT_NEAR(price(Collective::barrier, "dissemination", p, 0), expected, expected * 1e-9) << p << " ranks";
  }
}

TEST_F(ClosedForms, RingAndDirectAndHalvingAndDoubling) {
  const int p = 8;
  const std::uint64_t n = 64000; // A chunk.
  const double m = static_cast<double>(n) * p;
  const double volume = 2 * (p - 1) * static_cast<double>(n) * kB;
  const double sums = (p - 1) * static_cast<double>(n) * kG;
  const auto bytes = static_cast<std::uint64_t>(m);
  const double ring = 2 * (p - 1) * kA + volume + sums;
  EXPECT_NEAR(price(Collective::allReduce, "ring", p, bytes), ring, ring * 1e-9);
  const double halving = 2 * ceilLog2(p) * kA + volume + sums;
  EXPECT_NEAR(price(Collective::allReduce, "circulant-halving", p, bytes), halving, halving * 0.01);
  EXPECT_NEAR(price(Collective::allReduce, "rabenseifner", p, bytes), halving, halving * 0.01);
  // Most sums hide behind arrivals.
  const double direct = price(Collective::allReduce, "direct", p, bytes);
  EXPECT_LE(direct, (2 * kA + volume + sums) * (1 + 1e-9));
  EXPECT_GE(direct, 2 * kA + volume);
  const double doubling = ceilLog2(p) * (kA + m * kB + m * kG);
  EXPECT_NEAR(price(Collective::allReduce, "recursive-doubling", p, bytes), doubling, doubling * 1e-9);
}

TEST_F(ClosedForms, RadixFourHasFewerRoundsAndTheSameVolume) {
  const int p = 16;
  const double m = 16 * 6400;
  const double volume = 2.0 * (p - 1) / p * m * kB;
  const double found = price(Collective::allReduce, "circulant-radix4", p, 16 * 6400);
  EXPECT_GE(found, 2 * 2 * kA + volume);
  EXPECT_LE(found, 2 * 2 * kA + volume + static_cast<double>(p - 1) / p * m * kG + 1e-9);
  EXPECT_LT(found, price(Collective::allReduce, "circulant-halving", p, 16 * 6400));
}

TEST_F(ClosedForms, DoubleBinaryTree) {
  for (const int p : {8, 16, 31}) {
    for (const std::uint32_t blocks : {1u, 8u, 32u}) {
      const double m = 8 << 20;
      // In each round a rank moves a block of each tree, half a block of the vector each.
      const double rounds = 2 * (2 * ceilLog2(p) + blocks - 1);
      const double found = price(Collective::allReduce, "double-binary-tree", p, 8 << 20, blocks);
      EXPECT_LE(found, rounds * (kA + m / blocks * (kB + kG))) << p << " ranks, " << blocks << " blocks";
      EXPECT_GE(found, 2.0 * (p - 1) / p * m * kB) << "the lower bound of every all-reduce";
    }
  }
}

TEST_F(ClosedForms, CirculantPipeline) {
  for (const Collective collective : {Collective::broadcast, Collective::reduce}) {
    for (const int p : {2, 8, 13}) {
      for (const std::uint32_t blocks : {1u, 4u, 16u}) {
        const double m = 1 << 20;
        const double sum = collective == Collective::reduce ? kG : 0;
        const double formula = (blocks - 1 + ceilLog2(p)) * (kA + m / blocks * (kB + sum));
        const double found = price(collective, "circulant-pipeline", p, 1 << 20, blocks);
        // Rounds are not in step here: a latency that nothing waits for hides behind the next block, and two blocks may
        // meet at a port.
        EXPECT_LE(found, formula * 1.1) << p << " ranks, " << blocks << " blocks";
        EXPECT_GE(found, kA + m * kB) << p << " ranks, " << blocks << " blocks";
        if (blocks == 1 && p == 8) {
          EXPECT_NEAR(found, formula, formula * 1e-9);
        }
      }
    }
  }
}

TEST_F(ClosedForms, ScatterAllGatherBroadcast) {
  const int p = 8;
  const double m = 8 << 20;
  const double formula = (ceilLog2(p) + p - 1) * kA + 2.0 * (p - 1) / p * m * kB;
  const double found = price(Collective::broadcast, "scatter-ring", p, 8 << 20);
  EXPECT_LE(found, formula * (1 + 1e-9));
  EXPECT_GE(found, 0.7 * formula) << "the all-gather begins before the scatter has ended everywhere";
}

TEST_F(ClosedForms, AllToAll) {
  for (const int p : {2, 4, 8, 16}) {
    const double block = 10000;
    // All messages set off one after the other: their latencies overlap.
    const double pairwise = kA + (p - 1) * block * kB;
    EXPECT_NEAR(price(Collective::allToAll, "pairwise", p, 10000), pairwise, pairwise * 1e-9) << p << " ranks";
    const double bruck = ceilLog2(p) * (kA + p / 2.0 * block * kB);
    EXPECT_NEAR(price(Collective::allToAll, "bruck", p, 10000), bruck, bruck * 1e-9) << p << " ranks";
  }
}

TEST_F(ClosedForms, Scan) {
  const double m = 4096;
  for (const int p : {2, 4, 8, 16}) {
    const double formula = ceilLog2(p) * (kA + m * kB + m * kG);
    const double found = price(Collective::scan, "distance-doubling", p, 4096);
    EXPECT_NEAR(found, formula, formula * 0.05) << p << " ranks";
  }
}

} // namespace
} // namespace goss
