// goss_comm_shrink between ranks of which none has died: its calls end, and may be repeated, as documented.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

class Shrink : public ::testing::TestWithParam<std::string> {};

/// Rank 0 has gone away by its deadline, the others decide with what it has said, and it comes back for the result.
TEST_P(Shrink, ADecisionThatCameBetweenTwoCallsIsTheSecondOnes) {
  RanksSetup setup;
  setup.ranks = 3;
  setup.transport = GetParam();
  std::atomic<bool> expired{false};
  std::atomic<int> returned{0};
  runRanks(setup, [&](goss_comm_t comm, int rank) {
    goss_comm_t left = nullptr;
    goss_options options = GOSS_OPTIONS_INIT;
    if (rank == 0) {
      options.timeout_ms = 50;
      EXPECT_EQ(goss_comm_shrink(comm, &options, &left), GOSS_ERR_TIMEOUT);
      expired = true;
    }
    while (!expired || (rank == 0 && returned < 2))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    options.timeout_ms = 10000;
    ASSERT_EQ(goss_comm_shrink(comm, &options, &left), GOSS_SUCCESS) << "rank " << rank << ": " << goss_last_error();
    ++returned;
    float sum = 1;
    EXPECT_EQ(goss_all_reduce(left, &sum, &sum, 1, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr), GOSS_SUCCESS)
        << goss_last_error();
    EXPECT_EQ(sum, 3);
    EXPECT_EQ(goss_comm_destroy(left), GOSS_SUCCESS);
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, Shrink, ::testing::Values("loopback", "shm", "tcp"),
                         [](const auto& test) { return test.param; });

} // namespace
} // namespace goss::test
