// Error feedback: gradient descent on a quadratic whose optimum is a compromise between the ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/lib/execution/compressed/harness.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

constexpr std::size_t kCount = 1024;
constexpr int kRanks = 4;
constexpr int kSteps = 300;

/// The optimum of rank `rank`: a part that all ranks share, and four times as much of its own, with some outliers.
Floats targetOf(int rank) {
  Floats target = contribution(99, kCount);
  const Floats own = contribution(rank, kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    target[i] += 4 * own[i] * (i % 64 == 0 ? 20.0f : 1.0f);
  return target;
}

/// Squared distance to the mean of all targets, over that of the start, after kSteps steps.
double distanceLeft(const char* codec) {
  double left = 0;
  runRanks(setupOf(kRanks), [&](goss_comm_t comm, int rank) {
    Floats mean(kCount), weights(kCount), gradient(kCount);
    for (int r = 0; r < kRanks; ++r) {
      const Floats target = targetOf(r);
      for (std::size_t i = 0; i < kCount; ++i)
        mean[i] += target[i] / kRanks;
    }
    const Floats target = targetOf(rank);
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = codec;
    options.tensor = 42;
    for (int step = 0; step < kSteps; ++step) {
      for (std::size_t i = 0; i < kCount; ++i)
        gradient[i] = weights[i] - target[i];
      ASSERT_EQ(
          goss_all_reduce(comm, gradient.data(), gradient.data(), kCount, GOSS_FLOAT32, GOSS_AVG, &options, nullptr),
          GOSS_SUCCESS)
          << goss_last_error();
      // The step shrinks, so that what a codec delays does not swing for ever.
      const float rate = 0.1f * std::sqrt(10.0f / static_cast<float>(step + 10));
      for (std::size_t i = 0; i < kCount; ++i)
        weights[i] -= rate * gradient[i];
    }
    if (rank == 0) left = errorOf(mean, weights);
  });
  return left;
}

TEST(ErrorFeedback, ReachesWhatIsReachedUncompressed) {
  const double plain = distanceLeft(nullptr);
  for (const char* codec : {"topk:ratio=0.1+ef", "int4:block=256+ef", "topk:ratio=0.2+int4+ef"}) {
    EXPECT_LT(distanceLeft(codec) - plain, 0.01) << codec << "; uncompressed " << plain;
  }
}

TEST(ErrorFeedback, IsMissedWhereThereIsNone) {
  const double plain = distanceLeft(nullptr);
  for (const char* codec : {"topk:ratio=0.1", "int4:block=256", "topk:ratio=0.2+int4"}) {
    EXPECT_GT(distanceLeft(codec) - plain, 0.03) << codec << "; uncompressed " << plain;
  }
}

constexpr int kCalls = 6;
constexpr std::size_t kLong = std::size_t{1} << 19;

/// All results of a rank's kCalls all_reduces on one tensor, `at_once` of which are under way at a time.
/// `contributions`: those of all ranks for the first call, then for the second, and so on.
std::vector<Floats> resultsOf(const RanksSetup& setup, const char* codec, int at_once,
                              const std::vector<Floats>& contributions) {
  std::vector<Floats> all(static_cast<std::size_t>(setup.ranks * kCalls));
  runRanks(setup, [&](goss_comm_t comm, int rank) {
    std::vector<Floats> outputs(kCalls, Floats(kLong));
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = codec;
    options.tensor = 3;
    std::vector<goss_request_t> requests(kCalls);
    for (std::size_t begun = 0, ended = 0; ended < kCalls; ++ended) {
      for (; begun < kCalls && begun < ended + static_cast<std::size_t>(at_once); ++begun) {
        const Floats& input =
            contributions[begun * static_cast<std::size_t>(setup.ranks) + static_cast<std::size_t>(rank)];
        ASSERT_EQ(goss_all_reduce(comm, input.data(), outputs[begun].data(), kLong, GOSS_FLOAT32, GOSS_AVG, &options,
                                  &requests[begun]),
                  GOSS_SUCCESS)
            << goss_last_error();
      }
      ASSERT_EQ(goss_wait(&requests[ended], nullptr), GOSS_SUCCESS) << goss_last_error();
    }
    std::copy(outputs.begin(), outputs.end(), all.begin() + rank * kCalls);
  });
  return all;
}

/// The next operation makes up for what one lost, in the order of their calls, and all ranks have the same result.
TEST(ErrorFeedback, IsTheSameForOperationsThatAreUnderWayTogether) {
  constexpr int kRanks = 3;
  std::vector<Floats> contributions;
  for (int i = 0; i < kRanks * kCalls; ++i)
    contributions.push_back(contribution(i, kLong));
  for (const char* transport : fullOr(std::vector{"loopback", "tcp"}, std::vector{"tcp"})) {
    for (const char* codec : {"int4:block=256+ef", "topk:ratio=0.05+int4+ef", "cocktail+ef", "dgc"}) {
      const RanksSetup setup = setupOf(kRanks, transport);
      const std::vector<Floats> expected = resultsOf(setup, codec, 1, contributions);
      for (const int at_once : fullOr(std::vector{2, 6}, std::vector{6})) {
        const std::vector<Floats> found = resultsOf(setup, codec, at_once, contributions);
        for (std::size_t i = 0; i < found.size(); ++i)
          ASSERT_EQ(found[i], expected[i]) << codec << ", " << transport << ", " << at_once << " at once, result " << i;
      }
    }
  }
}

} // namespace
} // namespace goss::test
