// Waits with a limit, and whom a failure blames as a number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using ::testing::HasSubstr;

std::chrono::milliseconds elapsedSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
}

std::int32_t lastBlamed(goss_comm_t comm) {
  std::int32_t rank = -7;
  EXPECT_EQ(goss_last_error_rank(comm, &rank), GOSS_SUCCESS);
  return rank;
}

TEST(WaitFor, ReturnsAtItsLimitAndTheOperationGoesOn) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    float value = 0;
    if (rank == 0) {
      goss_request_t request = nullptr;
      ASSERT_EQ(goss_recv(comm, &value, 1, GOSS_FLOAT32, 1, 3, nullptr, &request), GOSS_SUCCESS);
      int done = 7;
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(goss_wait_for(&request, 30, &done, nullptr), GOSS_SUCCESS);
      EXPECT_EQ(done, 0);
      EXPECT_NE(request, nullptr);
      EXPECT_GE(elapsedSince(begin).count(), 29);
      EXPECT_EQ(goss_wait_for(&request, 0, &done, nullptr), GOSS_SUCCESS);
      EXPECT_EQ(done, 0);
      ASSERT_EQ(goss_send(comm, &value, 1, GOSS_FLOAT32, 1, 4, nullptr, nullptr), GOSS_SUCCESS);
      goss_message message{};
      EXPECT_EQ(goss_wait_for(&request, 60'000, &done, &message), GOSS_SUCCESS);
      EXPECT_EQ(done, 1);
      EXPECT_EQ(request, nullptr);
      EXPECT_EQ(value, 5);
      EXPECT_EQ(message.source, 1);
      EXPECT_EQ(message.tag, 3);
      done = 0;
      EXPECT_EQ(goss_wait_for(&request, 0, &done, nullptr), GOSS_SUCCESS) << "nothing is left to wait for";
      EXPECT_EQ(done, 1);
    } else {
      ASSERT_EQ(goss_recv(comm, &value, 1, GOSS_FLOAT32, 0, 4, nullptr, nullptr), GOSS_SUCCESS);
      value = 5;
      ASSERT_EQ(goss_send(comm, &value, 1, GOSS_FLOAT32, 0, 3, nullptr, nullptr), GOSS_SUCCESS);
    }
  });
}

TEST(WaitFor, NegativeAndHugeLimitsAreNone) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    for (const std::int64_t limit_ms : {std::int64_t{-1}, INT64_MAX, INT64_MAX / 1'000'000}) {
      if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      goss_request_t request = nullptr;
      ASSERT_EQ(goss_barrier(comm, nullptr, &request), GOSS_SUCCESS);
      int done = 0;
      EXPECT_EQ(goss_wait_for(&request, limit_ms, &done, nullptr), GOSS_SUCCESS);
      EXPECT_EQ(done, 1);
    }
  });
}

/// One thread drives while another one waits: both come back at their limits.
TEST(WaitFor, ThreadsThatDoNotDriveComeBackToo) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    float values[2] = {};
    if (rank == 0) {
      goss_request_t requests[2] = {};
      for (int i = 0; i < 2; ++i)
        ASSERT_EQ(goss_recv(comm, &values[i], 1, GOSS_FLOAT32, 1, i, nullptr, &requests[i]), GOSS_SUCCESS);
      const auto wait = [&](int i, std::int64_t limit_ms) {
        int done = 7;
        EXPECT_EQ(goss_wait_for(&requests[i], limit_ms, &done, nullptr), GOSS_SUCCESS);
        EXPECT_EQ(done, 0);
      };
      std::thread other(wait, 0, 150);
      const auto begin = std::chrono::steady_clock::now();
      wait(1, 40);
      wait(1, 20);
      EXPECT_GE(elapsedSince(begin).count(), 59);
      other.join();
      ASSERT_EQ(goss_send(comm, values, 1, GOSS_FLOAT32, 1, 9, nullptr, nullptr), GOSS_SUCCESS);
      EXPECT_EQ(goss_wait_all(requests, 2), GOSS_SUCCESS);
    } else {
      ASSERT_EQ(goss_recv(comm, values, 1, GOSS_FLOAT32, 0, 9, nullptr, nullptr), GOSS_SUCCESS);
      for (int i = 0; i < 2; ++i)
        ASSERT_EQ(goss_send(comm, values, 1, GOSS_FLOAT32, 0, i, nullptr, nullptr), GOSS_SUCCESS);
    }
  });
}

TEST(WaitFor, APersistentRequestIsKept) {
  runRanks(2, [](goss_comm_t comm, int) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_PERSISTENT;
    float value = 1;
    goss_request_t request = nullptr;
    ASSERT_EQ(goss_all_reduce(comm, &value, &value, 1, GOSS_FLOAT32, GOSS_SUM, &options, &request), GOSS_SUCCESS);
    int done = 0;
    EXPECT_EQ(goss_wait_for(&request, 0, &done, nullptr), GOSS_SUCCESS) << "it is inactive";
    EXPECT_EQ(done, 1);
    for (int turn = 0; turn < 2; ++turn) {
      ASSERT_EQ(goss_start(request), GOSS_SUCCESS);
      ASSERT_EQ(goss_wait_for(&request, 60'000, &done, nullptr), GOSS_SUCCESS);
      EXPECT_EQ(done, 1);
      ASSERT_NE(request, nullptr);
    }
    EXPECT_EQ(value, 4);
    EXPECT_EQ(goss_request_free(&request), GOSS_SUCCESS);
  });
}

/// A world of one rank has no thread of its own that would check deadlines.
TEST(WaitFor, APollingCallerMakesProgress) {
  runRanks(1, [](goss_comm_t comm, int) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.timeout_ms = 50;
    float value = 0;
    goss_request_t request = nullptr;
    ASSERT_EQ(goss_recv(comm, &value, 1, GOSS_FLOAT32, 0, 3, &options, &request), GOSS_SUCCESS);
    goss_status status = GOSS_SUCCESS;
    int done = 0;
    const auto begin = std::chrono::steady_clock::now();
    while (done == 0 && elapsedSince(begin) < std::chrono::seconds(5))
      status = goss_wait_for(&request, 0, &done, nullptr);
    EXPECT_EQ(done, 1);
    EXPECT_EQ(status, GOSS_ERR_TIMEOUT);
    if (done == 0) goss_wait(&request, nullptr);
  });
}

TEST(WaitFor, ReportsTheFailureOfTheOperation) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    if (rank == 1) return;
    goss_options options = GOSS_OPTIONS_INIT;
    options.timeout_ms = 100;
    float value = 0;
    goss_request_t request = nullptr;
    ASSERT_EQ(goss_recv(comm, &value, 1, GOSS_FLOAT32, 1, 0, &options, &request), GOSS_SUCCESS);
    int done = 0;
    EXPECT_EQ(goss_wait_for(&request, 60'000, &done, nullptr), GOSS_ERR_TIMEOUT);
    EXPECT_EQ(done, 1);
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(lastBlamed(comm), 1);
  });
}

TEST(WaitFor, NeedsItsArguments) {
  goss_request_t request = nullptr;
  int done = 0;
  EXPECT_EQ(goss_wait_for(nullptr, 1, &done, nullptr), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(goss_wait_for(&request, 1, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(goss_last_error(), HasSubstr("goss_wait_for"));
}

TEST(BlamedRank, IsTheCommunicatorsNumberOrTheWorlds) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    goss_comm_t reversed = nullptr;
    ASSERT_EQ(goss_comm_split(comm, 0, -rank, &reversed), GOSS_SUCCESS);
    if (rank == 0) {
      ASSERT_EQ(goss_comm_abort(reversed, "enough"), GOSS_SUCCESS);
    } else {
      EXPECT_EQ(goss_barrier(reversed, nullptr, nullptr), GOSS_ERR_ABORTED);
      EXPECT_EQ(lastBlamed(nullptr), 0);
      EXPECT_EQ(lastBlamed(reversed), 2);
      std::int32_t blamed = -7;
      EXPECT_EQ(goss_comm_error_rank(reversed, &blamed), GOSS_SUCCESS);
      EXPECT_EQ(blamed, 2);
      EXPECT_EQ(goss_comm_error_rank(comm, &blamed), GOSS_SUCCESS);
      EXPECT_EQ(blamed, -1) << "this communicator has not failed";
    }
    goss_comm_destroy(reversed);
  });
}

TEST(BlamedRank, IsWhoseCallDiffers) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    float values[2] = {};
    goss_status status = goss_all_reduce(comm, values, values, static_cast<std::size_t>(rank) + 1, GOSS_FLOAT32,
                                         GOSS_SUM, nullptr, nullptr);
    if (status == GOSS_SUCCESS) status = goss_barrier(comm, nullptr, nullptr);
    EXPECT_EQ(status, GOSS_ERR_MISMATCH);
    EXPECT_THAT(lastBlamed(comm), ::testing::AnyOf(0, 1)) << "one that differs from the rank that saw it first";
  });
}

TEST(BlamedRank, IsTheSenderOfAMessageThatIsTooLong) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    float values[2] = {};
    if (rank == 1) {
      EXPECT_EQ(goss_send(comm, values, 2, GOSS_FLOAT32, 0, 0, nullptr, nullptr), GOSS_SUCCESS);
    } else {
      EXPECT_EQ(goss_recv(comm, values, 1, GOSS_FLOAT32, GOSS_ANY_SOURCE, 0, nullptr, nullptr), GOSS_ERR_TRUNCATED);
      EXPECT_EQ(lastBlamed(comm), 1);
    }
  });
}

TEST(BlamedRank, IsNoneForAWrongCall) {
  runRanks(1, [](goss_comm_t comm, int) {
    EXPECT_EQ(goss_barrier(nullptr, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(lastBlamed(comm), -1);
    EXPECT_EQ(lastBlamed(nullptr), -1);
    EXPECT_EQ(goss_set_last_error(GOSS_ERR_TIMEOUT, "rank 1 is late"), GOSS_ERR_TIMEOUT);
    EXPECT_EQ(lastBlamed(nullptr), -1);
    EXPECT_EQ(goss_last_error_rank(comm, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("goss_last_error_rank"));
    EXPECT_EQ(goss_comm_error_rank(comm, nullptr), GOSS_ERR_INVALID_ARGUMENT);
  });
}

} // namespace
} // namespace goss::test
