// Additive codecs: sums are made of payloads, by any algorithm, and nothing is encoded twice.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/lib/execution/compressed/harness.h"

namespace goss::test {
namespace {

void expectSameOnAllRanks(const std::vector<Floats>& results, const std::string& what) {
  for (const Floats& other : results)
    EXPECT_EQ(std::memcmp(other.data(), results[0].data(), other.size() * sizeof(float)), 0) << what;
}

constexpr const char* kAlgorithms[] = {"direct", "ring", "flat", "recursive-doubling", "double-binary-tree"};

TEST(AdditiveCodecs, RandomBlocksAreSumsOfTheirValuesWhateverTheAlgorithm) {
  for (const char* algorithm : kAlgorithms) {
    for (const int ranks : {2, 5, 8}) {
      CompressedCase what{setupOf(ranks, "", algorithm), "randk:ratio=0.25", "", 4096};
      const auto results = allReduceCompressed(what);
      expectSameOnAllRanks(results, algorithm);
      const Floats exact = exactResult(what);
      std::size_t held = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        if (results[0][i] == 0) continue;
        ++held;
        ASSERT_NEAR(results[0][i], exact[i], 1e-5f * (1 + std::abs(exact[i]))) << algorithm << " " << i;
      }
      EXPECT_NEAR(static_cast<double>(held), 1024, 260) << algorithm;
    }
  }
}

// A payload clips at the scale of 64: sums that were encoded again would be clipped there.
TEST(AdditiveCodecs, SumsOfLevelsGrowBeyondTheScale) {
  for (const char* algorithm : kAlgorithms) {
    runRanks(setupOf(7, "", algorithm), [&](goss_comm_t comm, int) {
      Floats values(3000, 64.0f);
      goss_options options = GOSS_OPTIONS_INIT;
      options.codec = "terngrad:clip=0,scale=64,ranks=7";
      ASSERT_EQ(
          goss_all_reduce(comm, values.data(), values.data(), values.size(), GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
          GOSS_SUCCESS)
          << goss_last_error();
      EXPECT_EQ(values, Floats(3000, 7 * 64.0f)) << algorithm;
    });
  }
}

TEST(AdditiveCodecs, ServeReduceAndReduceScatterToo) {
  runRanks(4, [&](goss_comm_t comm, int rank) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "terngrad:clip=0,scale=2,ranks=7";
    Floats send(4000, 2.0f), recv(4000);
    ASSERT_EQ(goss_reduce(comm, send.data(), recv.data(), 4000, GOSS_FLOAT32, GOSS_SUM, 2, &options, nullptr),
              GOSS_SUCCESS);
    if (rank == 2) {
      EXPECT_EQ(recv, Floats(4000, 8.0f));
    }
    Floats part(1000);
    ASSERT_EQ(goss_reduce_scatter(comm, send.data(), part.data(), 1000, GOSS_FLOAT32, GOSS_AVG, &options, nullptr),
              GOSS_SUCCESS);
    EXPECT_EQ(part, Floats(1000, 2.0f));
  });
}

TEST(AdditiveCodecs, KeepTheFeedbackOfTheirOneEncoding) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "randk:ratio=0.2+ef";
    options.tensor = 11;
    const Floats mine = contribution(rank, 2000);
    Floats delivered(2000), exact(2000);
    for (int other = 0; other < 3; ++other) {
      const Floats theirs = contribution(other, 2000);
      for (std::size_t i = 0; i < exact.size(); ++i)
        exact[i] += theirs[i] / 3;
    }
    constexpr int kSteps = 100;
    for (int step = 0; step < kSteps; ++step) {
      Floats values = mine;
      ASSERT_EQ(goss_all_reduce(comm, values.data(), values.data(), 2000, GOSS_FLOAT32, GOSS_AVG, &options, nullptr),
                GOSS_SUCCESS);
      for (std::size_t i = 0; i < exact.size(); ++i)
        delivered[i] += values[i] / kSteps;
    }
    EXPECT_LT(errorOf(exact, delivered), 0.02) << "about five steps of a hundred are still to come";
  });
}

} // namespace
} // namespace goss::test
