// Pair averages of all ranks at once: none waits for ever, the sum is kept, and the ranks come together.
#include <gmock/gmock.h>

#include <cmath>

#include "base/split_mix.h"
#include "tests/lib/windows/over_transports/over_transport.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

using ::testing::HasSubstr;

/// Sum over the ranks' vectors, and their squared distance from the mean; the same on all ranks.
struct Spread {
  double sum = 0;
  double variance = 0;
};

Spread spreadOf(goss_comm_t comm, const std::vector<double>& x, int ranks) {
  std::vector<double> mean(x.size());
  EXPECT_OK(goss_all_reduce(comm, x.data(), mean.data(), x.size(), GOSS_FLOAT64, GOSS_SUM, nullptr, nullptr));
  Spread spread;
  for (std::size_t i = 0; i < x.size(); ++i) {
    spread.sum += mean[i];
    spread.variance += std::pow(x[i] - mean[i] / ranks, 2);
  }
  EXPECT_OK(goss_all_reduce(comm, &spread.variance, &spread.variance, 1, GOSS_FLOAT64, GOSS_SUM, nullptr, nullptr));
  return spread;
}

using Graph = int (*)(std::uint64_t choice, int rank, int ranks);
int onRing(std::uint64_t choice, int rank, int ranks) { return (rank + (choice % 2 == 0 ? 1 : ranks - 1)) % ranks; }
int onStar(std::uint64_t choice, int rank, int ranks) {
  return rank > 0 ? 0 : 1 + static_cast<int>(choice % static_cast<std::uint64_t>(ranks - 1));
}
int onFull(std::uint64_t choice, int rank, int ranks) {
  return (rank + 1 + static_cast<int>(choice % static_cast<std::uint64_t>(ranks - 1))) % ranks;
}

TEST_P(OverTransport, AllPairsAtOnceOnRingStarAndFullGraphKeepTheSumAndComeTogether) {
  const int rounds = fullOr(40, 12);
  for (const Graph graph : {onRing, onStar, onFull}) {
    for (const int ranks : {2, 5, 7}) {
      run(ranks, [&](goss_comm_t comm, int rank) {
        constexpr std::size_t kCount = 300;
        std::vector<double> x(kCount);
        for (std::size_t i = 0; i < kCount; ++i)
          x[i] = static_cast<double>((i + 1) * static_cast<std::size_t>(rank) % 11);
        OwnWindow<double> window(comm, x, GOSS_FLOAT64);
        base::SplitMix64 random(static_cast<std::uint64_t>(rank));
        Spread before = spreadOf(comm, window.memory, ranks);
        const double first = before.variance;
        for (int round = 0; round < rounds; ++round) {
          ASSERT_OK(goss_pair_average(window.handle, graph(random.next() >> 8, rank, ranks), kCount, 0, nullptr,
                                      nullptr, nullptr));
          if (round % 8 != 7) continue;
          ASSERT_OK(goss_window_flush(window.handle, GOSS_ALL_TARGETS, nullptr));
          ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
          const Spread after = spreadOf(comm, window.memory, ranks);
          // The numbers are below 11 and each of kCount * ranks of them is rounded in each average.
          EXPECT_NEAR(after.sum, before.sum, 8 * ranks * ranks * kCount * 11 * 0x1p-52);
          EXPECT_LE(after.variance, before.variance * (1 + 1e-9) + 1e-20);
          before = after;
          ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
        }
        // A ring of seven is slowest: its gap is 0.25, so rounds of at least one average a rank leave far less.
        EXPECT_LT(before.variance, first / 2);
      });
    }
  }
}

TEST(PairAverage, IsTheMeanOfTwo) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    OwnWindow<float> window(comm, {static_cast<float>(rank), 10, static_cast<float>(4 * rank)}, GOSS_FLOAT32);
    if (rank == 1) {
      ASSERT_OK(goss_pair_average(window.handle, 0, 2, 0, nullptr, nullptr, nullptr));
      ASSERT_OK(goss_window_flush(window.handle, 0, nullptr));
    }
    ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
    EXPECT_EQ(window.memory, (std::vector<float>{0.5F, 10, static_cast<float>(4 * rank)}));
    std::uint64_t version = 0;
    ASSERT_OK(goss_window_version(window.handle, 1, &version));
    EXPECT_EQ(version, rank == 0 ? 1U : 0U);
    ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(PairAverage, AShadowMovesByItsFactor) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    // x, and behind it its shadow.
    OwnWindow<float> window(comm, {static_cast<float>(8 * rank), static_cast<float>(100 * rank)}, GOSS_FLOAT32);
    if (rank == 0) {
      const goss_shadow shadow = {1, 2.5};
      ASSERT_OK(goss_pair_average(window.handle, 1, 1, 0, &shadow, nullptr, nullptr));
      ASSERT_OK(goss_window_flush(window.handle, 1, nullptr));
    }
    ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
    EXPECT_EQ(window.memory, (rank == 0 ? std::vector<float>{4, 10} : std::vector<float>{4, 90}));
    ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(PairAverage, ManyRequestsOfOneRankComeToTheirEnd) {
  runRanks(5, [](goss_comm_t comm, int rank) {
    const OwnWindow<float> window(comm, std::vector<float>(100, static_cast<float>(rank)), GOSS_FLOAT32);
    std::vector<goss_request_t> requests(20);
    for (std::size_t i = 0; i < requests.size(); ++i)
      ASSERT_OK(goss_pair_average(window.handle, (rank + 1 + static_cast<int>(i % 4)) % 5, 100, 0, nullptr, nullptr,
                                  &requests[i]));
    ASSERT_OK(goss_wait_all(requests.data(), requests.size()));
  });
}

TEST_P(OverTransport, RanksThatDestroyTheirDuplicateAtDifferentTimesHoldNobodyUp) {
  constexpr int kRanks = 5;
  constexpr std::size_t kCount = 5000; // An offer is more than one fragment of a transport.
  run(kRanks, [&](goss_comm_t comm, int rank) {
    base::SplitMix64 random(static_cast<std::uint64_t>(rank));
    for (int time = 0; time < fullOr(8, 3); ++time) {
      std::vector<float> memory(kCount, static_cast<float>(rank));
      goss_comm_t own = nullptr;
      ASSERT_OK(goss_comm_dup(comm, &own));
      goss_window_t window = nullptr;
      ASSERT_OK(goss_window_create(own, memory.data(), kCount, GOSS_FLOAT32, nullptr, &window));
      goss_request_t pending = nullptr;
      for (std::size_t left = random.below(40); left > 0; --left) {
        const int partner = onFull(random.next() >> 8, rank, kRanks);
        const goss_status status = goss_pair_average(window, partner, kCount, 0, nullptr, nullptr, nullptr);
        if (status != GOSS_ERR_PEER_LOST) ASSERT_OK(status);
      }
      const goss_status last = goss_pair_average(window, (rank + 1) % kRanks, kCount, 0, nullptr, nullptr, &pending);
      if (last != GOSS_ERR_PEER_LOST) ASSERT_OK(last);
      ASSERT_OK(goss_comm_destroy(own)); // In the middle of its own average, and of others'.
    }
    ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(PairAverage, WhatHasNoMeanIsRefused) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    const OwnWindow<std::int32_t> integers(comm, {1}, GOSS_INT32);
    EXPECT_EQ(goss_pair_average(integers.handle, 1 - rank, 1, 0, nullptr, nullptr, nullptr), GOSS_ERR_UNSUPPORTED);
    const OwnWindow<float> window(comm, {1, 2}, GOSS_FLOAT32);
    EXPECT_EQ(goss_pair_average(window.handle, rank, 1, 0, nullptr, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("this rank itself"));
    EXPECT_EQ(goss_pair_average(window.handle, 1 - rank, 3, 0, nullptr, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    const goss_shadow beyond = {1, 1};
    EXPECT_EQ(goss_pair_average(window.handle, 1 - rank, 2, 0, &beyond, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    const goss_shadow endless = {0, HUGE_VAL};
    EXPECT_EQ(goss_pair_average(window.handle, 1 - rank, 1, 0, &endless, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
  });
}

} // namespace
} // namespace goss::test
