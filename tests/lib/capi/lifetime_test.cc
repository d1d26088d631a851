// Requests and communicators that end early, in the wrong order, or while somebody still waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gossamer/links.h"
#include "tests/support/calls.h"
#include "tests/support/quick.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(Destroy, FreesWhatIsPending) {
  // AddressSanitizer finds memory that is not freed, or used after it was.
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_comm_t brief = nullptr;
    EXPECT_OK(goss_comm_dup(comm, &brief));
    std::vector<float> values(10, 1.0F); // Small: taking back a message that is half sent breaks the link.
    int32_t message = 0;
    goss_request_t reducing = nullptr;
    goss_request_t receiving = nullptr;
    goss_request_t persistent = nullptr;
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_PERSISTENT;
    EXPECT_OK(goss_recv(brief, &message, 1, GOSS_INT32, 1 - rank, 0, nullptr, &receiving));
    EXPECT_OK(goss_recv(brief, &message, 1, GOSS_INT32, rank, 0, &options, &persistent));
    EXPECT_OK(goss_start(persistent));
    if (rank == 0) {
      EXPECT_OK(goss_all_reduce(brief, values.data(), values.data(), values.size(), GOSS_FLOAT32, GOSS_SUM, nullptr,
                                &reducing));
    }
    EXPECT_OK(goss_comm_destroy(brief));
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

/// Returns when the thread has slept for a while: it is inside the call that it was about to make.
void waitUntilAsleep(const std::atomic<pid_t>& thread) {
  const auto limit = steady_clock::now() + std::chrono::seconds(60);
  for (int asleep = 0; asleep < 6 && steady_clock::now() < limit;) {
    std::this_thread::sleep_for(milliseconds(5));
    if (thread == 0) continue;
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(')');
    asleep = name_end != std::string::npos && line.substr(name_end, 3) == ") S" ? asleep + 1 : 0;
  }
}

/// Each rank destroys a communicator on which another of its threads makes `call`, as soon as that thread sleeps. The
/// call sets `thread` before it blocks.
void destroyDuring(const std::function<void(goss_comm_t brief, int rank, std::atomic<pid_t>& thread)>& call) {
  runRanks(2, [&](goss_comm_t comm, int rank) {
    goss_comm_t brief = nullptr;
    EXPECT_OK(goss_comm_dup(comm, &brief));
    std::atomic<pid_t> thread{0};
    std::thread blocked([&] { call(brief, rank, thread); });
    waitUntilAsleep(thread);
    EXPECT_OK(goss_comm_destroy(brief));
    blocked.join();
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(Destroy, EndsABlockedCallOfAnotherThread) {
  destroyDuring([](goss_comm_t brief, int rank, std::atomic<pid_t>& thread) {
    int32_t value = 0;
    thread = ::gettid();
    EXPECT_EQ(goss_recv(brief, &value, 1, GOSS_INT32, 1 - rank, 0, nullptr, nullptr), GOSS_ERR_ABORTED);
    EXPECT_THAT(goss_last_error(), HasSubstr("destroyed"));
  });
}

TEST(Destroy, EndsAWaitOfAnotherThread) {
  destroyDuring([](goss_comm_t brief, int rank, std::atomic<pid_t>& thread) {
    int32_t value = 0;
    goss_request_t request = nullptr;
    EXPECT_OK(goss_recv(brief, &value, 1, GOSS_INT32, 1 - rank, 0, nullptr, &request));
    thread = ::gettid();
    EXPECT_EQ(goss_wait(&request, nullptr), GOSS_ERR_ABORTED);
    EXPECT_EQ(request, nullptr);
  });
}

TEST(Destroy, EndsAWaitOfAnotherThreadForAnyOfSeveralRequests) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_comm_t brief = nullptr;
    goss_comm_t other = nullptr;
    EXPECT_OK(goss_comm_dup(comm, &brief));
    EXPECT_OK(goss_comm_dup(comm, &other));
    std::atomic<pid_t> thread{0};
    std::thread blocked([&] {
      int32_t values[2] = {};
      goss_request_t requests[3] = {};
      EXPECT_OK(goss_recv(other, &values[0], 1, GOSS_INT32, 1 - rank, 0, nullptr, &requests[0]));
      EXPECT_OK(goss_recv(brief, &values[1], 1, GOSS_INT32, 1 - rank, 0, nullptr, &requests[2]));
      thread = ::gettid();
      size_t index = 9;
      EXPECT_EQ(goss_wait_any(requests, 3, &index, nullptr), GOSS_ERR_ABORTED);
      EXPECT_EQ(index, 2u);
      EXPECT_EQ(requests[2], nullptr);
      EXPECT_NE(requests[0], nullptr) << "goes with its communicator";
    });
    waitUntilAsleep(thread);
    EXPECT_OK(goss_comm_destroy(brief));
    blocked.join();
    EXPECT_OK(goss_comm_destroy(other));
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(Destroy, EndsItsPartOfAWaitOfAnotherThreadForAllOfSeveralRequests) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_comm_t brief = nullptr;
    EXPECT_OK(goss_comm_dup(comm, &brief));
    std::atomic<pid_t> thread{0};
    std::thread blocked([&] {
      int32_t values[2] = {};
      goss_request_t requests[2] = {};
      EXPECT_OK(goss_recv(comm, &values[0], 1, GOSS_INT32, 1 - rank, 0, nullptr, &requests[0]));
      EXPECT_OK(goss_recv(brief, &values[1], 1, GOSS_INT32, 1 - rank, 0, nullptr, &requests[1]));
      thread = ::gettid();
      EXPECT_EQ(goss_wait_all(requests, 2), GOSS_ERR_ABORTED);
      EXPECT_THAT(requests, ::testing::Each(nullptr));
      EXPECT_EQ(values[0], 7);
    });
    waitUntilAsleep(thread);
    EXPECT_OK(goss_comm_destroy(brief)) << "it does not wait for the other communicator's message";
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    const int32_t seven = 7;
    EXPECT_OK(goss_send(comm, &seven, 1, GOSS_INT32, 1 - rank, 0, nullptr, nullptr));
    blocked.join();
  });
}

// AddressSanitizer finds whether the calls, which consist of several operations, use the communicator after one fails.
TEST(Destroy, EndsAMeasurementOfAnotherThread) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_comm_t brief = nullptr;
    EXPECT_OK(goss_comm_dup(comm, &brief));
    if (rank == 0) {
      std::atomic<pid_t> thread{0};
      std::thread blocked([&] {
        char* links = nullptr;
        thread = ::gettid();
        EXPECT_EQ(goss_comm_measure_links(brief, nullptr, &links), GOSS_ERR_ABORTED);
      });
      waitUntilAsleep(thread);
      EXPECT_OK(goss_comm_destroy(brief));
      blocked.join();
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    if (rank == 1) {
      EXPECT_OK(goss_comm_destroy(brief));
    }
  });
}

TEST(Destroy, InsideAGroupFailsTheGroup) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_comm_t brief = nullptr;
    EXPECT_OK(goss_comm_dup(comm, &brief));
    int32_t in = 0;
    const int32_t out = 5;
    EXPECT_OK(goss_group_begin());
    EXPECT_OK(goss_recv(brief, &in, 1, GOSS_INT32, 1 - rank, 0, nullptr, nullptr));
    EXPECT_OK(goss_send(comm, &out, 1, GOSS_INT32, 1 - rank, 0, nullptr, nullptr));
    EXPECT_OK(goss_recv(comm, &in, 1, GOSS_INT32, 1 - rank, 0, nullptr, nullptr));
    EXPECT_OK(goss_comm_destroy(brief));
    EXPECT_EQ(goss_group_end(), GOSS_ERR_ABORTED);
    EXPECT_EQ(in, 5) << "the other operations of the group complete";
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(Destroy, ByAnotherThreadFailsTheGroupThatIsOpen) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_comm_t brief = nullptr;
    EXPECT_OK(goss_comm_dup(comm, &brief));
    int32_t in[2] = {};
    const int32_t out = 5;
    EXPECT_OK(goss_group_begin());
    EXPECT_OK(goss_recv(brief, &in[0], 1, GOSS_INT32, 1 - rank, 0, nullptr, nullptr));
    EXPECT_OK(goss_send(comm, &out, 1, GOSS_INT32, 1 - rank, 0, nullptr, nullptr));
    EXPECT_OK(goss_recv(comm, &in[1], 1, GOSS_INT32, 1 - rank, 0, nullptr, nullptr));
    std::thread([&] { EXPECT_OK(goss_comm_destroy(brief)); }).join();
    EXPECT_EQ(goss_group_end(), GOSS_ERR_ABORTED);
    EXPECT_THAT(goss_last_error(), HasSubstr("destroyed"));
    EXPECT_EQ(in[1], 5) << "the other operations of the group complete";
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(Destroy, EndsTheEndOfAGroupOfAnotherThread) {
  destroyDuring([](goss_comm_t brief, int rank, std::atomic<pid_t>& thread) {
    int32_t values[64] = {};
    EXPECT_OK(goss_group_begin());
    for (int32_t& value : values) {
      EXPECT_OK(goss_recv(brief, &value, 1, GOSS_INT32, 1 - rank, 0, nullptr, nullptr));
    }
    thread = ::gettid();
    EXPECT_EQ(goss_group_end(), GOSS_ERR_ABORTED);
  });
}

TEST(Destroy, EndsASendrecvOfAnotherThread) {
  destroyDuring([](goss_comm_t brief, int rank, std::atomic<pid_t>& thread) {
    int32_t value = 0;
    thread = ::gettid();
    EXPECT_EQ(goss_sendrecv(brief, &value, 1, rank, &value, 1, 1 - rank, GOSS_INT32, 0, nullptr, nullptr),
              GOSS_ERR_ABORTED);
  });
}

TEST(Destroy, OfOneWorldEndsItsPartOfAWaitForRequestsOfTwo) {
  goss_comm_t comms[2] = {};
  for (goss_comm_t& comm : comms) {
    goss_config config;
    EXPECT_OK(goss_config_init(&config));
    config.rank = 0;
    config.ranks = 1;
    ASSERT_OK(goss_comm_create(&config, &comm));
  }
  int32_t values[2] = {};
  goss_request_t requests[2] = {};
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(goss_recv(comms[i], &values[i], 1, GOSS_INT32, 0, 0, nullptr, &requests[i]));
  }
  std::atomic<pid_t> thread{0};
  std::thread blocked([&] {
    thread = ::gettid();
    EXPECT_EQ(goss_wait_all(requests, 2), GOSS_ERR_ABORTED);
    EXPECT_THAT(requests, ::testing::Each(nullptr));
    EXPECT_EQ(values[0], 7);
  });
  waitUntilAsleep(thread);
  EXPECT_OK(goss_comm_destroy(comms[1])) << "it does not wait for the other world's message";
  const int32_t seven = 7;
  EXPECT_OK(goss_send(comms[0], &seven, 1, GOSS_INT32, 0, 0, nullptr, nullptr));
  blocked.join();
  EXPECT_OK(goss_comm_destroy(comms[0]));
}

// AddressSanitizer finds whether the call uses the communicator after its last message has come.
TEST(Destroy, JustAsTheFirstCallOfAnotherThreadCompletes) {
  std::atomic<int> waiting{0}; // The rounds in which rank 0's thread has begun to wait.
  runRanks(2, [&](goss_comm_t comm, int rank) {
    std::vector<int32_t> values(1 << 14, 1);
    for (int round = 1; round <= fullOr(30, 10); ++round) {
      goss_comm_t brief = nullptr;
      EXPECT_OK(goss_comm_dup(comm, &brief));
      const auto reduce = [&](const goss_options* options) {
        return goss_all_reduce(brief, values.data(), values.data(), values.size(), GOSS_INT32, GOSS_MAX, options,
                               nullptr);
      };
      if (rank == 0) {
        std::atomic<pid_t> thread{0};
        std::thread blocked([&] {
          thread = ::gettid();
          const goss_status status = reduce(nullptr);
          EXPECT_THAT(status, AnyOf(GOSS_SUCCESS, GOSS_ERR_ABORTED, GOSS_ERR_TIMEOUT));
        });
        waitUntilAsleep(thread);
        waiting = round;
        std::this_thread::sleep_for(std::chrono::microseconds(60 * round));
        EXPECT_OK(goss_comm_destroy(brief));
        blocked.join();
      } else {
        while (waiting < round)
          std::this_thread::sleep_for(milliseconds(1));
        goss_options options = GOSS_OPTIONS_INIT;
        options.timeout_ms = 100; // Rank 0 may have destroyed its communicator before it sent all.
        (void)reduce(&options);
        EXPECT_OK(goss_comm_destroy(brief));
      }
    }
  });
}

TEST(Abort, OfACommunicatorThatOthersAreStillMakingReachesThem) {
  runRanks(4, [](goss_comm_t comm, int rank) {
    for (int round = 0; round < 20; ++round) {
      goss_comm_t made = nullptr;
      EXPECT_OK(goss_comm_dup(comm, &made));
      if (rank == round % 4) {
        EXPECT_OK(goss_comm_abort(made, "changed my mind"));
      }
      const auto begin = steady_clock::now();
      EXPECT_EQ(goss_barrier(made, nullptr, nullptr), GOSS_ERR_ABORTED);
      EXPECT_LT(steady_clock::now() - begin, milliseconds(2000));
      EXPECT_OK(goss_comm_destroy(made));
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(Abort, WakesAThreadThatSleepsInAnotherOperation) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    if (rank == 1) {
      std::this_thread::sleep_for(milliseconds(1500));
      return;
    }
    std::thread blocked([comm] {
      int32_t value = 0;
      EXPECT_EQ(goss_recv(comm, &value, 1, GOSS_INT32, 1, 0, nullptr, nullptr), GOSS_ERR_ABORTED);
    });
    std::this_thread::sleep_for(milliseconds(50));
    const auto begin = steady_clock::now();
    EXPECT_OK(goss_comm_abort(comm, "enough"));
    blocked.join();
    EXPECT_LT(steady_clock::now() - begin, milliseconds(1000));
  });
}

TEST(Cancellation, ByDeadlineTakesTheReceiveBackAndLeavesTheMessageToTheNext) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    std::vector<int32_t> data(50000, rank);
    if (rank == 0) {
      std::vector<int32_t> untouched(50000, -7);
      goss_options options = GOSS_OPTIONS_INIT;
      options.timeout_ms = 50;
      EXPECT_EQ(goss_recv(comm, untouched.data(), untouched.size(), GOSS_INT32, 1, 0, &options, nullptr),
                GOSS_ERR_TIMEOUT);
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
      EXPECT_OK(goss_recv(comm, data.data(), data.size(), GOSS_INT32, 1, 0, nullptr, nullptr));
      EXPECT_EQ(data, std::vector<int32_t>(50000, 1));
      EXPECT_EQ(untouched, std::vector<int32_t>(50000, -7));
    } else {
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
      EXPECT_OK(goss_send(comm, data.data(), data.size(), GOSS_INT32, 0, 0, nullptr, nullptr));
    }
  });
}

TEST(Messages, OfARankThatHasLeftASmallerCommunicatorArrive) {
  // Rank 2 is done at once; the other two go on.
  runRanks(3, [](goss_comm_t comm, int rank) {
    goss_comm_t pair = nullptr;
    EXPECT_OK(goss_comm_split(comm, rank < 2 ? 0 : -1, rank, &pair));
    const int32_t out = 33;
    if (rank == 2) {
      EXPECT_OK(goss_send(comm, &out, 1, GOSS_INT32, 0, 0, nullptr, nullptr));
      return;
    }
    int32_t in = 0;
    if (rank == 0) {
      EXPECT_OK(goss_recv(comm, &in, 1, GOSS_INT32, 2, 0, nullptr, nullptr));
    }
    EXPECT_OK(goss_barrier(pair, nullptr, nullptr));
    EXPECT_OK(goss_comm_destroy(pair));
  });
}

TEST(Messages, TimeOutWithoutBlamingARankThatTheyDoNotConcern) {
  // Rank 2 leaves; rank 0 waits for rank 1, which is alive but sends nothing.
  goss_unique_id id;
  ASSERT_EQ(goss_unique_id_create(&id), GOSS_SUCCESS);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([rank, &id] {
      goss_config config;
      EXPECT_OK(goss_config_init(&config));
      config.rank = rank;
      config.ranks = 3;
      config.unique_id = &id;
      goss_comm_t comm = nullptr;
      EXPECT_OK(goss_comm_create(&config, &comm));
      if (rank == 1) std::this_thread::sleep_for(milliseconds(900));
      if (rank == 0) {
        int32_t value = 0;
        goss_options options = GOSS_OPTIONS_INIT;
        options.timeout_ms = 700;
        EXPECT_EQ(goss_recv(comm, &value, 1, GOSS_INT32, 1, 0, &options, nullptr), GOSS_ERR_TIMEOUT);
        EXPECT_THAT(goss_last_error(), HasSubstr("rank 1"));
        EXPECT_THAT(goss_last_error(), testing::Not(HasSubstr("rank 2")));
        // Its sends fail alone and name it; rank 1 can still be reached.
        EXPECT_EQ(goss_send(comm, &value, 1, GOSS_INT32, 2, 0, nullptr, nullptr), GOSS_ERR_PEER_LOST);
        EXPECT_THAT(goss_last_error(), HasSubstr("rank 2"));
        EXPECT_EQ(goss_recv(comm, &value, 1, GOSS_INT32, 2, 0, nullptr, nullptr), GOSS_ERR_PEER_LOST);
        EXPECT_OK(goss_send(comm, &value, 1, GOSS_INT32, 1, 0, nullptr, nullptr));
      }
      EXPECT_OK(goss_comm_destroy(comm));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

TEST(Persistent, MayBeFreedAfterAFailure) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_PERSISTENT;
    options.timeout_ms = 40;
    int32_t value = 0;
    goss_request_t request = nullptr;
    EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, 1 - rank, 7, &options, &request));
    for (int round = 0; round < 2; ++round) {
      EXPECT_OK(goss_start(request));
      EXPECT_EQ(goss_start(request), GOSS_ERR_INVALID_ARGUMENT) << "still active";
      EXPECT_EQ(goss_request_free(&request), GOSS_ERR_INVALID_ARGUMENT) << "still active";
      EXPECT_EQ(goss_wait(&request, nullptr), GOSS_ERR_TIMEOUT);
    }
    EXPECT_OK(goss_request_free(&request));
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(Messages, FailureLeavesTheDescriptionUntouched) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    const int32_t out[2] = {1, 2};
    int32_t in = 0;
    goss_message message{-3, -4, 5};
    EXPECT_EQ(goss_sendrecv(comm, out, 2, 1 - rank, &in, 1, 1 - rank, GOSS_INT32, 0, nullptr, &message),
              GOSS_ERR_TRUNCATED);
    EXPECT_EQ(message.source, -3);
    EXPECT_EQ(message.bytes, 5U);
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(Collectives, BlocksThatTogetherFitInNoMemoryAreRefused) {
  runRanks(2, [](goss_comm_t comm, int) {
    float value = 1;
    EXPECT_EQ(goss_all_gather(comm, &value, &value, SIZE_MAX / 16, GOSS_FLOAT32, nullptr, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("memory"));
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

} // namespace
} // namespace goss::test
