// Bad input and ranks that disagree: an error that names who and what, on every rank, and no hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using ::testing::HasSubstr;

/// Values that a C caller can pass and C++ cannot write.
template <typename Enum>
Enum outOfRange(int value) {
  Enum result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

goss_status allReduce(goss_comm_t comm, std::size_t count, goss_dtype dtype = GOSS_FLOAT32, goss_op op = GOSS_SUM) {
  std::vector<double> buffer(count + 1, 1.0);
  return goss_all_reduce(comm, buffer.data(), buffer.data(), count, dtype, op, nullptr, nullptr);
}

TEST(BadArguments, AreRefusedByNameAndChangeNothing) {
  runRanks(2, [](goss_comm_t comm, int) {
    float value = 1;
    EXPECT_EQ(goss_all_reduce(nullptr, &value, &value, 1, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("communicator is NULL"));
    EXPECT_EQ(goss_all_reduce(comm, nullptr, &value, 1, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("send is NULL"));
    EXPECT_EQ(goss_all_reduce(comm, &value, nullptr, 1, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_all_reduce(comm, &value, &value, 1, outOfRange<goss_dtype>(77), GOSS_SUM, nullptr, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("dtype 77"));
    EXPECT_EQ(goss_all_reduce(comm, &value, &value, 1, GOSS_FLOAT32, outOfRange<goss_op>(9), nullptr, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_broadcast(comm, &value, &value, 1, GOSS_FLOAT32, -1, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("root -1"));
    EXPECT_EQ(goss_broadcast(comm, &value, &value, 1, GOSS_FLOAT32, 2, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_send(comm, &value, 1, GOSS_FLOAT32, 2, 0, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_send(comm, &value, 1, GOSS_FLOAT32, 1, -4, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_all_gatherv(comm, &value, &value, nullptr, nullptr, GOSS_FLOAT32, nullptr, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    int32_t integer = 1;
    EXPECT_EQ(goss_all_reduce(comm, &integer, &integer, 1, GOSS_INT32, GOSS_PREMUL_SUM, nullptr, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_scan(comm, &value, &value, 1, GOSS_FLOAT32, GOSS_AVG, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_all_reduce(comm, &value, &value, SIZE_MAX / 2, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    const auto* odd = reinterpret_cast<const char*>(&value) + 1;
    EXPECT_EQ(goss_all_reduce(comm, odd, &value, 1, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);

    goss_options options = GOSS_OPTIONS_INIT;
    options.stream = &value;
    EXPECT_EQ(goss_all_reduce(comm, &value, &value, 1, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_UNSUPPORTED);
    EXPECT_THAT(goss_last_error(), HasSubstr("stream"));
    options.flags = GOSS_ON_HOST;
    EXPECT_EQ(goss_all_reduce(comm, &value, &value, 1, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("GOSS_ON_HOST"));
    options = GOSS_OPTIONS_INIT;
    options.algorithm = "no-such";
    EXPECT_EQ(goss_all_reduce(comm, &value, &value, 1, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("no-such"));
    EXPECT_THAT(goss_last_error(), HasSubstr("ring"));
    options = GOSS_OPTIONS_INIT;
    options.flags = 64;
    EXPECT_EQ(goss_barrier(comm, &options, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    options = GOSS_OPTIONS_INIT;
    options.size = 3;
    EXPECT_EQ(goss_barrier(comm, &options, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    options = GOSS_OPTIONS_INIT;
    options.codec = "int8";
    EXPECT_EQ(goss_barrier(comm, &options, nullptr), GOSS_ERR_UNSUPPORTED);
    EXPECT_THAT(goss_last_error(), HasSubstr("int8"));
    options.codec = nullptr;
    options.return_codec = "int8";
    EXPECT_EQ(goss_barrier(comm, &options, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    options = GOSS_OPTIONS_INIT;
    options.size = offsetof(goss_options, codec); // As a caller of the first version has it: the rest is not read.
    options.codec = "int8";
    EXPECT_EQ(goss_barrier(comm, &options, nullptr), GOSS_SUCCESS);

    EXPECT_EQ(goss_all_reduce(comm, &value, &value, 1, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr), GOSS_SUCCESS);
    EXPECT_EQ(value, 2.0F);
  });
}

TEST(Mismatch, OfCountsIsReportedOnAllRanks) {
  runRanks(4, [](goss_comm_t comm, int rank) {
    EXPECT_EQ(allReduce(comm, rank == 2 ? 200 : 100), GOSS_ERR_MISMATCH);
    EXPECT_THAT(goss_last_error(), HasSubstr("all_reduce(sum) of 200 float32"));
    EXPECT_THAT(goss_last_error(), HasSubstr("all_reduce(sum) of 100 float32"));
    EXPECT_EQ(goss_barrier(comm, nullptr, nullptr), GOSS_ERR_MISMATCH) << "the communicator stays failed";
  });
}

TEST(Mismatch, OfDtypeOpRootAndCollectiveIsReportedOnAllRanks) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    EXPECT_EQ(allReduce(comm, 64, rank == 0 ? GOSS_INT32 : GOSS_FLOAT32), GOSS_ERR_MISMATCH);
  });
  runRanks(3, [](goss_comm_t comm, int rank) {
    EXPECT_EQ(allReduce(comm, 64, GOSS_FLOAT32, rank == 1 ? GOSS_MAX : GOSS_SUM), GOSS_ERR_MISMATCH);
  });
  runRanks(4, [](goss_comm_t comm, int rank) {
    std::vector<float> buffer(64, 1.0F);
    goss_status status = GOSS_SUCCESS;
    // A rank may finish its part before it can know; the next operation tells it.
    for (int i = 0; i < 3 && status == GOSS_SUCCESS; ++i) {
      status = goss_broadcast(comm, buffer.data(), buffer.data(), 64, GOSS_FLOAT32, rank < 2 ? 0 : 1, nullptr, nullptr);
      if (status == GOSS_SUCCESS) status = goss_barrier(comm, nullptr, nullptr);
    }
    EXPECT_EQ(status, GOSS_ERR_MISMATCH) << goss_last_error();
  });
  runRanks(4, [](goss_comm_t comm, int rank) {
    goss_status status = rank == 3 ? goss_barrier(comm, nullptr, nullptr) : allReduce(comm, 10);
    if (status == GOSS_SUCCESS) status = goss_barrier(comm, nullptr, nullptr);
    EXPECT_EQ(status, GOSS_ERR_MISMATCH) << goss_last_error();
    EXPECT_THAT(goss_last_error(), HasSubstr("barrier"));
  });
}

TEST(Deadline, NamesTheRankThatDidNotCall) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    if (rank == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2500));
      return;
    }
    goss_options options = GOSS_OPTIONS_INIT;
    options.timeout_ms = 800;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(goss_barrier(comm, &options, nullptr), GOSS_ERR_TIMEOUT);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(2000));
    EXPECT_THAT(goss_last_error(), HasSubstr("rank 2"));
    EXPECT_THAT(goss_last_error(), HasSubstr("not called"));
  });
}

TEST(Deadline, OfAReceiveFailsItAlone) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    if (rank == 0) {
      float value = 0;
      goss_options options = GOSS_OPTIONS_INIT;
      options.timeout_ms = 100;
      EXPECT_EQ(goss_recv(comm, &value, 1, GOSS_FLOAT32, 1, 0, &options, nullptr), GOSS_ERR_TIMEOUT);
      EXPECT_THAT(goss_last_error(), HasSubstr("rank 1"));
    }
    EXPECT_EQ(goss_barrier(comm, nullptr, nullptr), GOSS_SUCCESS) << goss_last_error();
  });
}

TEST(Abort, FailsPendingOperationsEverywhere) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    if (rank == 1) {
      EXPECT_EQ(goss_comm_abort(comm, "out of coffee"), GOSS_SUCCESS);
    }
    EXPECT_EQ(goss_barrier(comm, nullptr, nullptr), GOSS_ERR_ABORTED);
    EXPECT_THAT(goss_last_error(), HasSubstr("rank 1"));
    EXPECT_THAT(goss_last_error(), HasSubstr("out of coffee"));
  });
}

TEST(Message, OfAnotherDtypeIsRefused) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    int32_t value = 5;
    if (rank == 0) {
      EXPECT_EQ(goss_send(comm, &value, 1, GOSS_INT32, 1, 0, nullptr, nullptr), GOSS_SUCCESS);
    } else {
      float wrong = 0;
      EXPECT_EQ(goss_recv(comm, &wrong, 1, GOSS_FLOAT32, 0, 0, nullptr, nullptr), GOSS_ERR_MISMATCH);
      EXPECT_THAT(goss_last_error(), HasSubstr("int32"));
    }
  });
}

TEST(Requests, MisuseIsRefused) {
  runRanks(1, [](goss_comm_t comm, int) {
    EXPECT_EQ(goss_wait(nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_start(nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_group_end(), GOSS_ERR_INVALID_ARGUMENT);
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_PERSISTENT;
    EXPECT_EQ(goss_barrier(comm, &options, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    goss_request_t request = nullptr;
    EXPECT_EQ(goss_barrier(comm, nullptr, &request), GOSS_SUCCESS);
    EXPECT_EQ(goss_start(request), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_wait(&request, nullptr), GOSS_SUCCESS);
    EXPECT_EQ(goss_wait(&request, nullptr), GOSS_SUCCESS) << "a null request is complete";
  });
}

} // namespace
} // namespace goss::test
