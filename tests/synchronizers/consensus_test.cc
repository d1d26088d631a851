// What gossip without gradients tends to: the mean of what the ranks began with, or not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "gossamer/sync.h"
#include "tests/support/calls.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

constexpr std::size_t kElements = 100;

struct Ranks {
  std::vector<std::vector<double>> first, last; ///< [rank][element]

  [[nodiscard]] static double meanOf(const std::vector<std::vector<double>>& x, std::size_t element) {
    double sum = 0;
    for (const std::vector<double>& one : x)
      sum += one[element];
    return sum / static_cast<double>(x.size());
  }
  /// The square of how far the mean has moved, divided by the square of the mean.
  [[nodiscard]] double drift() const {
    double way = 0, whole = 0;
    for (std::size_t i = 0; i < kElements; ++i) {
      way += std::pow(meanOf(last, i) - meanOf(first, i), 2);
      whole += std::pow(meanOf(first, i), 2);
    }
    return way / whole;
  }
};

/// `rounds` steps of `spec`; the first update gives every rank a vector of its own.
Ranks gossip(const std::string& spec, int ranks, int rounds) {
  Ranks all;
  all.first.resize(static_cast<std::size_t>(ranks), std::vector<double>(kElements));
  all.last = all.first;
  runRanks(over("", ranks), [&](goss_comm_t comm, int rank) {
    const auto at = static_cast<std::size_t>(rank);
    std::vector<float> x(kElements);
    goss_sync_t sync = nullptr;
    ASSERT_OK(goss_sync_create(comm, spec.c_str(), &sync));
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = "x";
    tensor.parameter = x.data();
    tensor.count = x.size();
    ASSERT_OK(goss_sync_register(sync, &tensor, nullptr));
    ASSERT_OK(goss_sync_start(sync));
    base::SplitMix64 random(at);
    for (float& value : x)
      value = static_cast<float>(random.next() >> 40) * 0x1p-23F - 1;
    all.first[at].assign(x.begin(), x.end());
    for (int round = 0; round < rounds; ++round) {
      ASSERT_OK(goss_sync_gradients(sync));
      ASSERT_OK(goss_sync_step(sync));
    }
    all.last[at].assign(x.begin(), x.end());
    ASSERT_OK(goss_sync_destroy(sync));
  });
  return all;
}

TEST(Consensus, OfEightBitsOnARingKeepsTheMeanWithChocoAndDriftsAsBaguaPublishedIt) {
  constexpr int kRounds = 200; // In fewer Bagua's form has not drifted far.
  // CHOCO's mean drifts by float32's rounding alone: the weighted sum of the replicas keeps the error of each round.
  EXPECT_LE(gossip("choco:gamma=0.5,codec=minmaxuint8", 16, kRounds).drift(), 1e-9);
  EXPECT_GT(gossip("dpsgd:codec=minmaxuint8", 16, kRounds).drift(), 1e-3);
}

// Columns: rank 0 sends to 1 and 2, 1 to 2, 2 to 3 and 0, 3 to 0.
TEST(Consensus, OfPushSumOnADirectedGraphThatIsNotRegularIsTheMean) {
  const std::string matrix = testing::TempDir() + "gossamer_directed_" + std::to_string(getpid());
  std::ofstream(matrix) << "0.3333333333333333 0 0.3333333333333333 0.5\n0.3333333333333333 0.5 0 0\n"
                        << "0.3333333333333334 0.5 0.3333333333333333 0\n0 0 0.3333333333333334 0.5\n";
  const Ranks ranks = gossip("sgp:topology=matrix:" + matrix, 4, 60);
  std::filesystem::remove(matrix);
  for (std::size_t i = 0; i < kElements; ++i) {
    for (const std::vector<double>& one : ranks.last)
      EXPECT_NEAR(one[i], Ranks::meanOf(ranks.first, i), 60 * 4 * 0x1p-23); // 60 rounds of numbers below 2.
  }
}

} // namespace
} // namespace goss::test
