// Small collectives through shared memory: order, run-ahead, many communicators, and all the ways to fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

goss_status sum(goss_comm_t comm, std::int64_t& value, goss_request_t* request = nullptr) {
  return goss_all_reduce(comm, &value, &value, 1, GOSS_INT64, GOSS_SUM, nullptr, request);
}

TEST(Flat, SmallVectorsOfOneHostGoOverTheBoard) {
  char* text = nullptr;
  ASSERT_EQ(goss_explain("allreduce", 2, 64, nullptr, &text), GOSS_SUCCESS);
  EXPECT_THAT(text, HasSubstr("\"choice\": \"flat\""));
  goss_free(text);
  ASSERT_EQ(goss_explain("allreduce", 2, 1 << 20, nullptr, &text), GOSS_SUCCESS);
  EXPECT_THAT(text, ::testing::Not(HasSubstr("\"flat\"")));
  goss_free(text);
}

TEST(Flat, RootsThatRunAheadOverwriteNothing) {
  runRanks(over("shm", 4), [](goss_comm_t comm, int rank) {
    for (std::int64_t i = 0; i < 2000; ++i) {
      const int root = static_cast<int>(i / 100 % 4);
      std::int64_t value = rank == root ? i * 7 : -1;
      ASSERT_EQ(goss_broadcast(comm, &value, &value, 1, GOSS_INT64, root, nullptr, nullptr), GOSS_SUCCESS);
      ASSERT_EQ(value, i * 7);
      if (i % 300 == rank) std::this_thread::sleep_for(1ms); // Somebody is always late.
      std::int64_t total = i + rank;
      ASSERT_EQ(goss_reduce(comm, &total, &total, 1, GOSS_INT64, GOSS_SUM, root, nullptr, nullptr), GOSS_SUCCESS);
      ASSERT_EQ(total, rank == root ? 4 * i + 6 : i + rank);
    }
  });
}

TEST(Flat, KeepsItsOrderAmongLargeAndNonBlockingOnes) {
  runRanks(over("shm", 3), [](goss_comm_t comm, int rank) {
    std::vector<float> large(50000, 1.0F);
    for (int i = 0; i < 20; ++i) {
      std::array<std::int64_t, 6> values{};
      std::array<goss_request_t, 7> requests{};
      for (std::size_t k = 0; k < 6; ++k) {
        values[k] = rank + static_cast<std::int64_t>(k) * 10 + i;
        ASSERT_EQ(sum(comm, values[k], &requests[k]), GOSS_SUCCESS);
      }
      std::vector<float> out(large.size());
      ASSERT_EQ(
          goss_all_reduce(comm, large.data(), out.data(), large.size(), GOSS_FLOAT32, GOSS_SUM, nullptr, &requests[6]),
          GOSS_SUCCESS);
      std::int64_t blocking = rank;
      ASSERT_EQ(sum(comm, blocking), GOSS_SUCCESS) << goss_last_error();
      EXPECT_EQ(blocking, 3);
      ASSERT_EQ(goss_wait_all(requests.data(), requests.size()), GOSS_SUCCESS) << goss_last_error();
      for (std::size_t k = 0; k < 6; ++k)
        EXPECT_EQ(values[k], 3 + 3 * (static_cast<std::int64_t>(k) * 10 + i));
      EXPECT_EQ(out.front(), 3.0F);
      EXPECT_EQ(out.back(), 3.0F);
    }
  });
}

TEST(Flat, PersistentAndBlockingCallsMeet) {
  runRanks(over("shm", 2), [](goss_comm_t comm, int rank) {
    std::int64_t in = 0;
    std::int64_t out = 0;
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_PERSISTENT;
    goss_request_t request = nullptr;
    if (rank == 0) {
      ASSERT_EQ(goss_all_reduce(comm, &in, &out, 1, GOSS_INT64, GOSS_SUM, &options, &request), GOSS_SUCCESS);
    }
    for (std::int64_t i = 0; i < 300; ++i) {
      in = i + rank;
      if (rank == 0) {
        ASSERT_EQ(goss_start(request), GOSS_SUCCESS);
        ASSERT_EQ(goss_wait(&request, nullptr), GOSS_SUCCESS);
      } else {
        ASSERT_EQ(goss_all_reduce(comm, &in, &out, 1, GOSS_INT64, GOSS_SUM, nullptr, nullptr), GOSS_SUCCESS);
      }
      ASSERT_EQ(out, 2 * i + 1);
    }
    if (rank == 0) {
      ASSERT_EQ(goss_request_free(&request), GOSS_SUCCESS);
    }
  });
}

TEST(Flat, AddsInTheOrderOfTheRanksOnAllOfThem) {
  runRanks(over("shm", 4), [](goss_comm_t comm, int rank) {
    constexpr std::size_t kCount = 333;
    const auto value = [](int r, std::size_t i) { return std::ldexp(1.0F + static_cast<float>(i) / 1000, 7 * r % 23); };
    std::vector<float> in(kCount);
    std::vector<float> out(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
      in[i] = value(rank, i);
    ASSERT_EQ(goss_all_reduce(comm, in.data(), out.data(), kCount, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr),
              GOSS_SUCCESS);
    for (std::size_t i = 0; i < kCount; ++i)
      ASSERT_EQ(out[i], ((value(0, i) + value(1, i)) + value(2, i)) + value(3, i));
  });
}

TEST(Flat, ManyCommunicatorsAtOnceAndMoreThanThereAreLanes) {
  runRanks(over("shm", 2), [](goss_comm_t comm, int rank) {
    std::vector<goss_comm_t> comms(300);
    for (goss_comm_t& one : comms)
      ASSERT_EQ(goss_comm_split(comm, 0, rank, &one), GOSS_SUCCESS) << goss_last_error();
    for (std::size_t i = 0; i < comms.size(); ++i) {
      std::int64_t value = static_cast<std::int64_t>(i) + rank;
      ASSERT_EQ(sum(comms[i], value), GOSS_SUCCESS) << goss_last_error();
      ASSERT_EQ(value, 2 * static_cast<std::int64_t>(i) + 1);
    }
    for (goss_comm_t one : comms)
      ASSERT_EQ(goss_comm_destroy(one), GOSS_SUCCESS);
  });
}

TEST(Flat, ThreadsWithCommunicatorsOfTheirOwnDoNotDisturbEachOther) {
  runRanks(over("shm", 2), [](goss_comm_t comm, int rank) {
    constexpr int kThreads = 3;
    std::vector<goss_comm_t> comms(kThreads);
    for (goss_comm_t& one : comms)
      ASSERT_EQ(goss_comm_split(comm, 0, rank, &one), GOSS_SUCCESS);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (std::int64_t i = 0; i < 200; ++i) {
          std::int64_t value = i * (t + 1) + rank;
          ASSERT_EQ(sum(comms[static_cast<std::size_t>(t)], value), GOSS_SUCCESS) << goss_last_error();
          ASSERT_EQ(value, 2 * i * (t + 1) + 1);
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (goss_comm_t one : comms)
      ASSERT_EQ(goss_comm_destroy(one), GOSS_SUCCESS);
  });
}

TEST(Flat, CallsThatDifferAreNamedOnAllRanks) {
  for (const std::size_t other : {std::size_t{2}, std::size_t{100000}}) { // On the board too, and not.
    runRanks(over("shm", 3), [&](goss_comm_t comm, int rank) {
      std::vector<float> values(100000);
      ASSERT_EQ(goss_all_reduce(comm, values.data(), values.data(), 1, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr),
                GOSS_SUCCESS);
      const std::size_t count = rank == 1 ? other : 1;
      goss_status status = GOSS_SUCCESS;
      while (status == GOSS_SUCCESS) {
        status = goss_all_reduce(comm, values.data(), values.data(), count, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr);
      }
      EXPECT_EQ(status, GOSS_ERR_MISMATCH) << goss_last_error();
      EXPECT_THAT(goss_last_error(), HasSubstr("of " + std::to_string(other) + " float32"));
    });
  }
}

TEST(Flat, ARankThatDoesNotComeIsNamedAtTheDeadline) {
  runRanks(over("shm", 3, 700), [](goss_comm_t comm, int rank) {
    std::int64_t value = 1;
    ASSERT_EQ(sum(comm, value), GOSS_SUCCESS);
    if (rank == 2) return;
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(sum(comm, value), GOSS_ERR_TIMEOUT);
    EXPECT_THAT(goss_last_error(), HasSubstr("rank 2"));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
  });
}

TEST(Flat, AnAbortReachesThoseThatWait) {
  runRanks(over("shm", 2), [](goss_comm_t comm, int rank) {
    std::int64_t value = 1;
    ASSERT_EQ(sum(comm, value), GOSS_SUCCESS);
    if (rank == 1) {
      std::this_thread::sleep_for(100ms); // Long enough for the other rank to sleep.
      EXPECT_EQ(goss_comm_abort(comm, "enough"), GOSS_SUCCESS);
      return;
    }
    EXPECT_EQ(sum(comm, value), GOSS_ERR_ABORTED);
    EXPECT_THAT(goss_last_error(), HasSubstr("enough"));
  });
}

TEST(Flat, ASleeperIsWoken) {
  runRanks(over("shm", 2), [](goss_comm_t comm, int rank) {
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < 40; ++i) {
      if (i % 2 == rank) std::this_thread::sleep_for(5ms);
      std::int64_t value = i;
      ASSERT_EQ(sum(comm, value), GOSS_SUCCESS);
      ASSERT_EQ(value, 2 * i);
    }
    // Without the wake-up a sleeping rank would wake for its probe, after 250 ms: 10 s in total.
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
  });
}

TEST(Flat, OtherMessagesArriveWhileItWaits) {
  runRanks(over("shm", 2), [](goss_comm_t comm, int rank) {
    std::vector<float> bulk(500000, static_cast<float>(rank));
    goss_request_t request = nullptr;
    if (rank == 0) {
      ASSERT_EQ(goss_recv(comm, bulk.data(), bulk.size(), GOSS_FLOAT32, 1, 5, nullptr, &request), GOSS_SUCCESS);
      // Rank 1 comes to the barrier only when its bulk message, larger than the ring, has been taken from it.
      ASSERT_EQ(goss_barrier(comm, nullptr, nullptr), GOSS_SUCCESS) << goss_last_error();
      ASSERT_EQ(goss_wait(&request, nullptr), GOSS_SUCCESS);
      EXPECT_EQ(bulk.back(), 1.0F);
    } else {
      ASSERT_EQ(goss_send(comm, bulk.data(), bulk.size(), GOSS_FLOAT32, 0, 5, nullptr, nullptr), GOSS_SUCCESS);
      ASSERT_EQ(goss_barrier(comm, nullptr, nullptr), GOSS_SUCCESS) << goss_last_error();
    }
  });
}

} // namespace
} // namespace goss::test
