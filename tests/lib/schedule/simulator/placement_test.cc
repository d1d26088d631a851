#include "schedule/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "schedule/shares.h"
#include "schedule/simulator.h"
#include "tests/lib/schedule/simulator/sample_schedules.h"

namespace goss::schedule {
namespace {

using samples::allRanks;

constexpr std::uint64_t kVector = 256'000'000;

// Drawn once, log-uniform, MB/s.
constexpr double kNodes50To100[] = {88.89, 79.57, 61.70, 75.14, 92.18, 89.89, 70.97, 75.21,
                                    51.21, 59.16, 86.90, 66.63, 56.37, 73.14, 81.40, 79.80};
constexpr double kNodes10To100[] = {23.70, 27.48, 32.24, 60.04, 33.18, 24.73, 30.88, 10.70,
                                    11.05, 50.51, 96.20, 39.19, 24.75, 14.80, 31.79, 95.96};
constexpr double kNodes5To1000[] = {296.46, 87.23, 477.00, 17.11, 76.06,  777.37, 106.78, 56.94,
                                    20.83,  91.19, 796.75, 5.15,  317.82, 386.31, 547.14, 252.87};
constexpr double kPairs5To50[8][8] = {
    {31.39, 16.43, 8.36, 22.26, 12.41, 18.83, 10.48, 21.38}, {5.72, 9.94, 46.44, 37.54, 10.12, 36.10, 10.22, 43.48},
    {27.72, 13.04, 8.94, 5.10, 37.82, 5.46, 32.99, 45.83},   {18.59, 7.42, 36.88, 47.07, 25.29, 16.14, 11.94, 11.11},
    {8.03, 23.61, 13.55, 7.82, 6.36, 23.17, 9.89, 15.80},    {10.58, 37.20, 39.69, 5.21, 7.94, 10.63, 48.53, 30.32},
    {10.92, 8.17, 23.63, 34.41, 42.77, 11.04, 38.14, 24.33}, {15.26, 48.36, 8.58, 26.57, 6.08, 7.39, 40.73, 8.16}};
constexpr double kPairs2To200[8][8] = {
    {65.96, 31.73, 96.23, 10.90, 9.59, 7.65, 108.61, 32.28}, {162.05, 119.00, 3.73, 25.31, 3.23, 2.40, 2.80, 107.99},
    {75.38, 90.79, 9.61, 33.99, 73.25, 11.41, 27.71, 5.60},  {2.91, 6.83, 120.94, 26.91, 141.63, 16.47, 7.17, 75.00},
    {90.48, 2.12, 43.84, 3.05, 3.40, 117.80, 2.40, 6.03},    {189.39, 13.90, 3.41, 4.32, 6.08, 61.52, 3.21, 132.60},
    {11.42, 174.40, 131.67, 7.75, 6.42, 17.99, 3.17, 40.28}, {2.40, 2.10, 184.59, 7.80, 31.20, 15.88, 8.46, 2.67}};

Links nodeLimited(std::span<const double> megabytes_per_s) {
  const int p = static_cast<int>(megabytes_per_s.size());
  Links links(p, {40e-3, 1e12, 0, 0}, {0, 0});
  for (int rank = 0; rank < p; ++rank) {
    const double rate = megabytes_per_s[static_cast<std::size_t>(rank)] * 1e6;
    links.setNode(std::vector{rank}, {rate, rate});
  }
  return links;
}

Links pairLimited(const double (&megabytes_per_s)[8][8]) {
  Links links(8, {}, {0, 0});
  for (int i = 0; i < 8; ++i) {
    links.setNode(std::vector{i}, {500e6, 500e6});
    for (int j = 0; j < 8; ++j) {
      if (i != j) links.setPrice(i, j, {40e-3, megabytes_per_s[i][j] * 1e6, 0, 0});
    }
  }
  return links;
}

double ringSeconds(const Links& links, const std::vector<int>& order) {
  const auto schedules =
      allRanks(links.size(), [&](int rank) { return samples::ringAllReduce(links.size(), rank, order); });
  Shape shape;
  shape.count = kVector;
  return simulate(schedules, shape, links).value().finish_s;
}

double directSeconds(const Links& links, std::vector<double> shares) {
  const auto schedules = allRanks(links.size(), [&](int rank) {
    return samples::circulantAllReduce(links.size(), rank, samples::unitSkips(links.size()), "direct");
  });
  Shape shape;
  shape.count = kVector;
  shape.weights = std::move(shares);
  return simulate(schedules, shape, links, {4, 4, 4}).value().finish_s;
}

TEST(DirectShares, BringUnequalNodesCloseToTheLowerBound) {
  struct Case {
    std::span<const double> nodes;
    double ring_s;
    double direct_s;
  };
  // Published prices of the ring and of the weighted direct exchange; fragments that overlap its two halves do better.
  for (const Case& c :
       {Case{kNodes50To100, 9.45, 7.96}, Case{kNodes10To100, 44.9, 28.9}, Case{kNodes5To1000, 93.2, 52.1}}) {
    const Links links = nodeLimited(c.nodes);
    EXPECT_NEAR(ringSeconds(links, {}), c.ring_s, c.ring_s * 0.02);
    EXPECT_NEAR(directSeconds(links, directShares(links)), c.direct_s, c.direct_s * 0.1);
    EXPECT_LT(directSeconds(links, directShares(links)), directSeconds(links, {}) * 0.9);
    const double sum = std::accumulate(c.nodes.begin(), c.nodes.end(), 0.0) * 1e6;
    const double slowest = *std::min_element(c.nodes.begin(), c.nodes.end()) * 1e6;
    const double bound = std::max(kVector / slowest, 2.0 * 15 * kVector / sum);
    EXPECT_GE(directSeconds(links, directShares(links)), bound);
  }
}

TEST(DirectShares, SumToOneAndGiveNothingToAHopelessNode) {
  const std::vector<double> shares = directShares(nodeLimited(kNodes5To1000));
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1.0, 1e-12);
  EXPECT_EQ(shares[11], 0.0); // 5.15 MB/s
  EXPECT_EQ(std::max_element(shares.begin(), shares.end()) - shares.begin(), 10);
}

TEST(DirectShares, AreEmptyWhereEqualSharesAreRight) {
  EXPECT_TRUE(directShares(Links(8)).empty());
  EXPECT_TRUE(directShares(nodeLimited(std::vector(5, 10.0))).empty());
  EXPECT_TRUE(directShares(nodeLimited(std::vector{10.0, 20.0})).empty());
  Links shared = nodeLimited(std::vector{1.0, 2.0, 3.0, 4.0});
  shared.setNode(std::vector{0, 1}, {1e6, 1e6});
  EXPECT_TRUE(directShares(shared).empty());
}

double sumOf(const std::vector<double>& shares) { return std::accumulate(shares.begin(), shares.end(), 0.0); }

/// Seconds that one byte at one byte per second keeps the busiest path or port of a direct exchange in fragments.
double busiestSeconds(const Links& links, const std::vector<double>& shares) {
  double most = 0;
  for (int i = 0; i < links.size(); ++i) {
    const double own = shares[static_cast<std::size_t>(i)];
    const NodePrice& node = links.node(links.nodeOf(i));
    for (const double rate : {node.up_bytes_per_s, node.down_bytes_per_s})
      if (rate > 0) most = std::max(most, (1 + (links.size() - 2) * own) / rate);
    for (int j = 0; j < links.size(); ++j)
      if (i != j)
        most = std::max(most, (own + shares[static_cast<std::size_t>(j)]) / links.price(i, j).bandwidth_bytes_per_s);
  }
  return most;
}

TEST(OverlappedShares, FavourRanksWhosePathsAreFast) {
  // Five regions in a row: the farther apart, the slower. By hand: the ends own nothing, the middle as much as its
  // neighbours together.
  Links chain(5);
  const double rates[] = {0, 400, 200, 100, 50};
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j)
      if (i != j) chain.setPrice(i, j, {0.04, rates[std::abs(i - j)], 0, 0});
  const std::vector<double> shares = overlappedShares(chain);
  EXPECT_NEAR(sumOf(shares), 1, 1e-12);
  EXPECT_NEAR(busiestSeconds(chain, shares), 1.0 / 400, 1e-9);
}

TEST(OverlappedShares, AreNoWorseThanAnyOfManyOthers) {
  const Links links = pairLimited(kPairs2To200);
  const std::vector<double> best = overlappedShares(links);
  ASSERT_EQ(best.size(), 8u);
  EXPECT_NEAR(sumOf(best), 1, 1e-12);
  EXPECT_GE(*std::min_element(best.begin(), best.end()), 0);
  const double seconds = busiestSeconds(links, best);
  EXPECT_LT(seconds, 0.9 * busiestSeconds(links, std::vector(8, 0.125)));
  for (std::size_t from = 0; from < 8; ++from) {
    for (std::size_t to = 0; to < 8; ++to) {
      std::vector<double> other = best;
      const double moved = std::min(0.01, other[from]);
      other[from] -= moved;
      other[to] += moved;
      EXPECT_GE(busiestSeconds(links, other), seconds * (1 - 1e-9)) << from << " gives to " << to;
    }
  }
}

TEST(OverlappedShares, KnowPorts) {
  const Links links = nodeLimited(kNodes5To1000);
  const std::vector<double> shares = overlappedShares(links);
  EXPECT_LE(busiestSeconds(links, shares), busiestSeconds(links, directShares(links)) * (1 + 1e-9));
  EXPECT_TRUE(overlappedShares(Links(8)).empty());
  EXPECT_TRUE(overlappedShares(nodeLimited(std::vector{10.0, 20.0})).empty());
  Links shared = nodeLimited(std::vector{1.0, 2.0, 3.0, 4.0});
  shared.setNode(std::vector{0, 1}, {1e6, 1e6});
  EXPECT_TRUE(overlappedShares(shared).empty());
}

TEST(OverlappedShares, EndForAnyRates) {
  // Many equal rates make ties, in which a pivot improves nothing; far apart ones make rounding errors.
  std::mt19937_64 dice(24);
  for (int round = 0; round < 300; ++round) {
    const int p = 3 + static_cast<int>(dice() % 14);
    const std::uint64_t kinds = 1 + dice() % 4;
    const double spread = round % 3 == 0 ? 12 : 1;
    const auto rate = [&] {
      return std::pow(10, spread * static_cast<double>(dice() % kinds)) * (1 + 1e-9 * (dice() % 2));
    };
    Links links(p);
    for (int i = 0; i < p; ++i) {
      for (int j = 0; j < p; ++j)
        if (i != j) links.setPrice(i, j, {0.04, rate(), 0, 0});
      if (round % 2 == 0) links.setNode(std::vector{i}, {rate(), rate()});
    }
    const std::vector<double> shares = overlappedShares(links);
    if (shares.empty()) continue;
    ASSERT_NEAR(sumOf(shares), 1, 1e-9) << round;
    ASSERT_GE(*std::min_element(shares.begin(), shares.end()), -1e-9) << round;
    if (spread > 1) continue;
    const std::vector<double> equal(static_cast<std::size_t>(p), 1.0 / p);
    ASSERT_LE(busiestSeconds(links, shares), busiestSeconds(links, equal) * (1 + 1e-6)) << round;
  }
}

TEST(PairShares, AreAsLargeAsTheSlowerDirectionIsFast) {
  Links links(4);
  EXPECT_TRUE(pairShares(links, 2).empty()) << "all alike";
  const auto setPair = [&](int from, int to, double rate) {
    LinkPrice price = links.price(from, to);
    price.bandwidth_bytes_per_s = rate;
    links.setPrice(from, to, price);
  };
  setPair(0, 2, 4e6), setPair(2, 0, 9e6);
  setPair(0, 3, 1e6), setPair(3, 0, 1e6);
  setPair(1, 2, 9e6), setPair(2, 1, 2e6);
  setPair(1, 3, 3e6), setPair(3, 1, 3e6);
  const std::vector<double> shares = pairShares(links, 2);
  ASSERT_EQ(shares.size(), 4u);
  const std::vector<double> expected{0.4, 0.1, 0.2, 0.3};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(shares[i], expected[i], 1e-12);
}

TEST(RingOrder, AvoidsTheSlowPairsOfAMeasuredMatrix) {
  const Links moderate = pairLimited(kPairs5To50);
  EXPECT_NEAR(ringSeconds(moderate, {}), 87.9, 0.9);
  EXPECT_NEAR(ringSeconds(moderate, ringOrder(moderate, kVector / 8)), 20.2, 0.4);
  EXPECT_NEAR(directSeconds(moderate, {}), 12.6, 0.4);
  const Links wild = pairLimited(kPairs2To200);
  EXPECT_NEAR(ringSeconds(wild, {}), 186.7, 1.9);
  EXPECT_NEAR(ringSeconds(wild, ringOrder(wild, kVector / 8)), 13.2, 0.3);
  EXPECT_NEAR(directSeconds(wild, {}), 30.5, 0.6);
}

/// The best (slowest edge, sum) over all tours.
std::pair<double, double> bruteForce(const Links& links, double bytes) {
  std::vector<int> order(static_cast<std::size_t>(links.size()));
  std::iota(order.begin(), order.end(), 0);
  std::pair best{1e300, 1e300};
  do {
    std::pair cost{0.0, 0.0};
    for (std::size_t i = 0; i < order.size(); ++i) {
      const LinkPrice& price = links.price(order[i], order[(i + 1) % order.size()]);
      const double edge = price.latency_s + bytes / price.bandwidth_bytes_per_s;
      cost = {std::max(cost.first, edge), cost.second + edge};
    }
    best = std::min(best, cost);
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return best;
}

std::pair<double, double> costOf(const Links& links, double bytes, const std::vector<int>& order) {
  std::pair cost{0.0, 0.0};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const LinkPrice& price = links.price(order[i], order[(i + 1) % order.size()]);
    const double edge = price.latency_s + bytes / price.bandwidth_bytes_per_s;
    cost = {std::max(cost.first, edge), cost.second + edge};
  }
  return cost;
}

/// A measured-looking matrix: asymmetric, no two pairs alike.
Links scrambled(int size, std::uint32_t seed) {
  Links links(size);
  std::uint32_t state = seed;
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      state = state * 1664525u + 1013904223u;
      if (i != j) links.setPrice(i, j, {1e-3, 1e6 * (1 + (state >> 16) % 1000), 0, 0});
    }
  }
  return links;
}

TEST(RingOrder, IsTheBestOfAllToursOfAFewRanks) {
  for (int size = 3; size <= 8; ++size) {
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      const Links links = scrambled(size, seed);
      const std::pair best = bruteForce(links, 1e6);
      const std::pair found = costOf(links, 1e6, ringOrder(links, 1e6));
      EXPECT_EQ(found.first, best.first) << size << " ranks, seed " << seed;
      EXPECT_NEAR(found.second, best.second, best.second * 1e-9) << size << " ranks, seed " << seed;
    }
  }
}

TEST(RingOrder, IsARepeatablePermutationForManyRanks) {
  for (const int size : {1, 2, 11, 24, 64}) {
    const Links links = scrambled(size, 7);
    const std::vector<int> order = ringOrder(links, 1e6);
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (int rank = 0; rank < size; ++rank)
      EXPECT_EQ(sorted[static_cast<std::size_t>(rank)], rank);
    EXPECT_EQ(order.front(), 0);
    EXPECT_EQ(ringOrder(links, 1e6), order);
    if (size > 2) {
      std::vector<int> natural(static_cast<std::size_t>(size));
      std::iota(natural.begin(), natural.end(), 0);
      EXPECT_LT(costOf(links, 1e6, order), costOf(links, 1e6, natural));
    }
  }
}

TEST(RingOrder, KeepsEqualRanksInNaturalOrder) {
  EXPECT_THAT(ringOrder(Links(6), 1e6), testing::ElementsAre(0, 1, 2, 3, 4, 5));
}

} // namespace
} // namespace goss::schedule
