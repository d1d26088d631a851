// A persistent request is started once for each wait, however fast its operation is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>

#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using ::testing::HasSubstr;

goss_options persistentOptions() {
  goss_options options = GOSS_OPTIONS_INIT;
  options.flags = GOSS_PERSISTENT;
  return options;
}

class Restart : public ::testing::TestWithParam<const char*> {};

TEST_P(Restart, IsRefusedUntilTheRequestHasBeenWaitedFor) {
  RanksSetup setup;
  setup.transport = GetParam();
  runRanks(setup, [](goss_comm_t comm, int) {
    const goss_options options = persistentOptions();
    std::array<std::int32_t, 4> values{1, 2, 3, 4};
    std::array<std::int32_t, 4> sums{};
    goss_request_t request = nullptr;
    ASSERT_EQ(goss_all_reduce(comm, values.data(), sums.data(), 4, GOSS_INT32, GOSS_SUM, &options, &request),
              GOSS_SUCCESS);
    for (int round = 0; round < 3; ++round) {
      ASSERT_EQ(goss_start(request), GOSS_SUCCESS) << goss_last_error();
      EXPECT_EQ(goss_start(request), GOSS_ERR_INVALID_ARGUMENT) << "at once";
      // Complete by now on most machines; where it is not, the answer is the same.
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      EXPECT_EQ(goss_start(request), GOSS_ERR_INVALID_ARGUMENT) << "later";
      EXPECT_THAT(goss_last_error(), HasSubstr("wait for it first"));
      ASSERT_EQ(goss_wait(&request, nullptr), GOSS_SUCCESS) << goss_last_error();
      EXPECT_EQ(sums[3], 8);
    }
    // goss_test that reports completion ends it as well.
    ASSERT_EQ(goss_start(request), GOSS_SUCCESS);
    for (int done = 0; done == 0;)
      ASSERT_EQ(goss_test(&request, &done, nullptr), GOSS_SUCCESS);
    EXPECT_EQ(goss_start(request), GOSS_SUCCESS) << goss_last_error();
    EXPECT_EQ(goss_wait_all(&request, 1), GOSS_SUCCESS);
    EXPECT_EQ(goss_request_free(&request), GOSS_SUCCESS);
  });
}

TEST_P(Restart, OfAMessageIsRefusedUntilItHasBeenWaitedFor) {
  RanksSetup setup;
  setup.transport = GetParam();
  runRanks(setup, [](goss_comm_t comm, int rank) {
    const goss_options options = persistentOptions();
    std::int32_t value = 5;
    goss_request_t request = nullptr;
    ASSERT_EQ(rank == 0 ? goss_send(comm, &value, 1, GOSS_INT32, 1, 3, &options, &request)
                        : goss_recv(comm, &value, 1, GOSS_INT32, 0, 3, &options, &request),
              GOSS_SUCCESS);
    ASSERT_EQ(goss_start(request), GOSS_SUCCESS);
    ASSERT_EQ(goss_barrier(comm, nullptr, nullptr), GOSS_SUCCESS);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(goss_start(request), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_wait(&request, nullptr), GOSS_SUCCESS);
    EXPECT_EQ(goss_start(request), GOSS_SUCCESS) << goss_last_error();
    EXPECT_EQ(goss_wait(&request, nullptr), GOSS_SUCCESS);
    EXPECT_EQ(goss_request_free(&request), GOSS_SUCCESS);
  });
}

INSTANTIATE_TEST_SUITE_P(Over, Restart, ::testing::Values("loopback", "shm", "tcp"),
                         [](const auto& at) { return std::string(at.param); });

} // namespace
} // namespace goss::test
