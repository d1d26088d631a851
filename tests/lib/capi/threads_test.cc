// Several threads in one world, deadlines among them, and polling instead of waiting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/support/calls.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

milliseconds since(steady_clock::time_point begin) {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
}

/// Polls until the request is done; the status of the operation.
goss_status testUntilDone(goss_request_t* request, goss_message* message = nullptr) {
  const auto begin = steady_clock::now();
  for (int done = 0; since(begin) < milliseconds(5000);) {
    const goss_status status = goss_test(request, &done, message);
    if (done != 0) return status;
  }
  ADD_FAILURE() << "not done within 5 s";
  return GOSS_ERR_TIMEOUT;
}

TEST(Polling, CompletesMessagesOfALoneRankToItself) {
  runRanks(1, [](goss_comm_t comm, int) {
    const int32_t out = 17;
    int32_t in = 0;
    goss_request_t sending = nullptr;
    goss_request_t receiving = nullptr;
    EXPECT_OK(goss_send(comm, &out, 1, GOSS_INT32, 0, 3, nullptr, &sending));
    EXPECT_OK(goss_recv(comm, &in, 1, GOSS_INT32, 0, 3, nullptr, &receiving));
    goss_message message{};
    EXPECT_OK(testUntilDone(&receiving, &message));
    EXPECT_OK(testUntilDone(&sending));
    EXPECT_EQ(in, 17);
    EXPECT_EQ(message.bytes, 4U);
  });
}

TEST(Polling, NoticesTheDeadlineOfALoneRank) {
  runRanks(1, [](goss_comm_t comm, int) {
    int32_t in = 0;
    goss_options options = GOSS_OPTIONS_INIT;
    options.timeout_ms = 50;
    goss_request_t receiving = nullptr;
    EXPECT_OK(goss_recv(comm, &in, 1, GOSS_INT32, 0, 3, &options, &receiving));
    EXPECT_EQ(testUntilDone(&receiving), GOSS_ERR_TIMEOUT);
  });
}

TEST(Deadline, MayBeAsFarAwayAsTheTypeAllows) {
  runRanks(2, [](goss_comm_t comm, int) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.timeout_ms = INT64_MAX;
    for (int i = 0; i < 10; ++i)
      EXPECT_OK(goss_barrier(comm, &options, nullptr));
  });
}

TEST(Deadline, ExpiresWhileAnotherThreadDrives) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    if (rank == 1) {
      std::this_thread::sleep_for(milliseconds(700));
      const int32_t value = 1;
      EXPECT_OK(goss_send(comm, &value, 1, GOSS_INT32, 0, 1, nullptr, nullptr));
      return;
    }
    std::thread long_wait([comm] {
      int32_t value = 0;
      EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, 1, 1, nullptr, nullptr));
    });
    std::this_thread::sleep_for(milliseconds(50));
    // The other thread drives, asleep; it must notice this deadline and wake this thread.
    const auto begin = steady_clock::now();
    int32_t value = 0;
    goss_options options = GOSS_OPTIONS_INIT;
    options.timeout_ms = 60;
    EXPECT_EQ(goss_recv(comm, &value, 1, GOSS_INT32, 1, 2, &options, nullptr), GOSS_ERR_TIMEOUT);
    EXPECT_LT(since(begin), milliseconds(180));
    long_wait.join();
  });
}

TEST(Threads, ABlockingCallDoesNotWaitForTheSleepOfTheProgressThread) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_comm_t other = nullptr;
    EXPECT_OK(goss_comm_dup(comm, &other));
    // A pending operation makes the progress thread drive, asleep most of the time.
    int32_t late = 0;
    goss_request_t pending = nullptr;
    if (rank == 0) {
      EXPECT_OK(goss_recv(comm, &late, 1, GOSS_INT32, 1, 9, nullptr, &pending));
    }
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_OK(goss_barrier(other, nullptr, nullptr));
    const auto begin = steady_clock::now();
    // Messages to oneself wake nobody's descriptor: only the caller itself can complete them.
    for (int32_t i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(milliseconds(1));
      int32_t in = -1;
      EXPECT_OK(goss_sendrecv(other, &i, 1, rank, &in, 1, rank, GOSS_INT32, 0, nullptr, nullptr));
      EXPECT_EQ(in, i);
    }
    EXPECT_LT(since(begin), milliseconds(300));
    EXPECT_OK(goss_barrier(other, nullptr, nullptr));
    if (rank == 1) {
      EXPECT_OK(goss_send(comm, &late, 1, GOSS_INT32, 0, 9, nullptr, nullptr));
    }
    EXPECT_OK(goss_wait(&pending, nullptr));
    EXPECT_OK(goss_comm_destroy(other));
  });
}

TEST(Threads, AnOperationStartedWhileTheDriverFallsAsleepIsNotForgotten) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    if (rank == 1) {
      const int32_t value = 1;
      EXPECT_OK(goss_recv(comm, nullptr, 0, GOSS_INT32, 0, 2, nullptr, nullptr));
      EXPECT_OK(goss_send(comm, &value, 1, GOSS_INT32, 0, 1, nullptr, nullptr));
      return;
    }
    std::thread driver([comm] {
      int32_t value = 0;
      EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, 1, 1, nullptr, nullptr));
    });
    std::this_thread::sleep_for(milliseconds(10));
    milliseconds longest(0);
    for (int32_t i = 0; i < 1500; ++i) {
      // Pauses around the time that a driver spins, so that some calls come just when it stops.
      std::this_thread::sleep_for(std::chrono::microseconds(i % 150));
      const auto begin = steady_clock::now();
      int32_t in = -1;
      EXPECT_OK(goss_sendrecv(comm, &i, 1, 0, &in, 1, 0, GOSS_INT32, 0, nullptr, nullptr));
      longest = std::max(longest, since(begin));
    }
    // A forgotten one waits for the next probe, 250 ms after the start.
    EXPECT_LT(longest, milliseconds(200));
    EXPECT_OK(goss_send(comm, nullptr, 0, GOSS_INT32, 1, 2, nullptr, nullptr));
    driver.join();
  });
}

TEST(Threads, ShareOneCommunicatorForMessages) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    constexpr int kThreads = 4;
    constexpr int32_t kMessages = 100;
    std::vector<std::thread> threads;
    for (int32_t tag = 0; tag < kThreads; ++tag) {
      threads.emplace_back([=] {
        for (int32_t i = 0; i < kMessages; ++i) {
          int32_t in = -1;
          const int32_t out = i * 10 + tag;
          EXPECT_OK(goss_sendrecv(comm, &out, 1, 1 - rank, &in, 1, 1 - rank, GOSS_INT32, tag, nullptr, nullptr));
          EXPECT_EQ(in, out);
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
  });
}

TEST(Threads, SplitDifferentCommunicatorsAtOnce) {
  constexpr int kThreads = 4;
  runRanks(3, [](goss_comm_t comm, int rank) {
    goss_comm_t parents[kThreads];
    for (goss_comm_t& parent : parents)
      EXPECT_OK(goss_comm_dup(comm, &parent));
    std::vector<std::thread> threads;
    for (int32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([=] {
        for (int round = 0; round < 10; ++round) {
          goss_comm_t made = nullptr;
          EXPECT_OK(goss_comm_dup(parents[t], &made));
          // A communicator whose messages meet another's would add up the wrong values, or report a mismatch.
          std::vector<int32_t> values(static_cast<std::size_t>(t) + 1, rank + 100 * t);
          EXPECT_OK(goss_all_reduce(made, values.data(), values.data(), values.size(), GOSS_INT32, GOSS_SUM, nullptr,
                                    nullptr));
          EXPECT_EQ(values.back(), 3 + 300 * t);
          EXPECT_OK(goss_comm_destroy(made));
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (goss_comm_t parent : parents)
      EXPECT_OK(goss_comm_destroy(parent));
  });
}

TEST(Threads, PollingAndWaitingThreadsDoNotStarveOneAnother) {
  runRanks(2, [](goss_comm_t comm, int) {
    goss_comm_t polled = nullptr;
    EXPECT_OK(goss_comm_dup(comm, &polled));
    std::thread poller([polled] {
      for (int i = 0; i < 100; ++i) {
        int64_t value = i;
        goss_request_t request = nullptr;
        EXPECT_OK(goss_all_reduce(polled, &value, &value, 1, GOSS_INT64, GOSS_SUM, nullptr, &request));
        EXPECT_OK(testUntilDone(&request));
        EXPECT_EQ(value, 2 * i);
      }
    });
    for (int i = 0; i < 100; ++i)
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    poller.join();
    EXPECT_OK(goss_comm_destroy(polled));
  });
}

} // namespace
} // namespace goss::test
