// The C ABI's calls, one behaviour each; tests/matrix has every combination.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "tests/support/calls.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

TEST(Operations, AllReduceSumsAndLeavesTheInput) {
  runRanks(4, [](goss_comm_t comm, int rank) {
    std::vector<float> send(1000, static_cast<float>(rank + 1));
    std::vector<float> recv(1000, -1.0F);
    EXPECT_OK(goss_all_reduce(comm, send.data(), recv.data(), send.size(), GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
    EXPECT_EQ(recv, std::vector<float>(1000, 10.0F));
    EXPECT_EQ(send, std::vector<float>(1000, static_cast<float>(rank + 1)));
  });
}

TEST(Operations, LoneRankNeedsNobody) {
  runRanks(1, [](goss_comm_t comm, int) {
    std::vector<int32_t> send{1, 2, 3};
    std::vector<int32_t> recv(3);
    EXPECT_OK(goss_all_reduce(comm, send.data(), recv.data(), 3, GOSS_INT32, GOSS_AVG, nullptr, nullptr));
    EXPECT_EQ(recv, send);
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    EXPECT_OK(goss_all_gather(comm, send.data(), recv.data(), 3, GOSS_INT32, nullptr, nullptr));
    EXPECT_EQ(recv, send);
  });
}

TEST(Operations, NonBlockingOperationsRunTogether) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    constexpr std::size_t kOperations = 8;
    std::vector<std::vector<double>> buffers;
    std::vector<goss_request_t> requests(kOperations);
    for (std::size_t i = 0; i < kOperations; ++i)
      buffers.emplace_back(100 * i + 1, static_cast<double>(rank + 1));
    for (std::size_t i = 0; i < kOperations; ++i) {
      EXPECT_OK(goss_all_reduce(comm, buffers[i].data(), buffers[i].data(), buffers[i].size(), GOSS_FLOAT64, GOSS_SUM,
                                nullptr, &requests[i]));
    }
    EXPECT_OK(goss_wait_all(requests.data(), kOperations));
    for (std::size_t i = 0; i < kOperations; ++i) {
      EXPECT_EQ(requests[i], nullptr);
      EXPECT_EQ(buffers[i], std::vector<double>(100 * i + 1, 6.0));
    }
  });
}

TEST(Operations, WaitAnyReturnsEachOnce) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    int32_t values[3] = {rank, rank + 10, rank + 20};
    goss_request_t requests[4] = {};
    for (int i = 0; i < 3; ++i) {
      EXPECT_OK(goss_all_reduce(comm, &values[i], &values[i], 1, GOSS_INT32, GOSS_MAX, nullptr, &requests[i]));
    }
    std::vector<int> seen(4, 0);
    for (int i = 0; i < 3; ++i) {
      std::size_t index = 99;
      EXPECT_OK(goss_wait_any(requests, 4, &index, nullptr));
      ASSERT_LT(index, 3U);
      ++seen[index];
    }
    EXPECT_EQ(seen, (std::vector<int>{1, 1, 1, 0}));
    std::size_t index = 0;
    EXPECT_OK(goss_wait_any(requests, 4, &index, nullptr));
    EXPECT_EQ(index, 4U);
    EXPECT_EQ(values[2], 21);
  });
}

TEST(Operations, PersistentRequestRunsAgainOnNewValues) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    std::vector<float> send(77);
    std::vector<float> recv(77);
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_PERSISTENT;
    goss_request_t request = nullptr;
    EXPECT_OK(goss_all_reduce(comm, send.data(), recv.data(), 77, GOSS_FLOAT32, GOSS_SUM, &options, &request));
    for (int round = 0; round < 5; ++round) {
      std::fill(send.begin(), send.end(), static_cast<float>(rank * round));
      EXPECT_OK(goss_start(request));
      EXPECT_OK(goss_wait(&request, nullptr));
      ASSERT_NE(request, nullptr);
      EXPECT_EQ(recv, std::vector<float>(77, static_cast<float>(3 * round)));
    }
    EXPECT_OK(goss_request_free(&request));
    EXPECT_EQ(request, nullptr);
  });
}

TEST(Operations, MessagesKeepTheirOrderPerTag) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    if (rank == 0) {
      for (int32_t i = 0; i < 20; ++i)
        EXPECT_OK(goss_send(comm, &i, 1, GOSS_INT32, 1, i % 2, nullptr, nullptr));
    } else {
      for (const int tag : {1, 0}) {
        for (int32_t i = tag; i < 20; i += 2) {
          int32_t got = -1;
          EXPECT_OK(goss_recv(comm, &got, 1, GOSS_INT32, 0, tag, nullptr, nullptr));
          EXPECT_EQ(got, i);
        }
      }
    }
  });
}

TEST(Operations, ReceiveTellsTheActualLengthAndTruncationFailsAlone) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    std::vector<int32_t> data(10, 7);
    if (rank == 0) {
      EXPECT_OK(goss_send(comm, data.data(), 4, GOSS_INT32, 1, 5, nullptr, nullptr));
      EXPECT_OK(goss_send(comm, data.data(), 10, GOSS_INT32, 1, 6, nullptr, nullptr));
    } else {
      goss_request_t request = nullptr;
      EXPECT_OK(goss_recv(comm, data.data(), 10, GOSS_INT32, 0, 5, nullptr, &request));
      goss_message message{};
      EXPECT_OK(goss_wait(&request, &message));
      EXPECT_EQ(message.bytes, 16U);
      EXPECT_EQ(message.source, 0);
      EXPECT_EQ(message.tag, 5);
      EXPECT_EQ(goss_recv(comm, data.data(), 9, GOSS_INT32, 0, 6, nullptr, nullptr), GOSS_ERR_TRUNCATED);
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(Operations, SendrecvReturnsNoPersistentRequest) {
  runRanks(1, [](goss_comm_t comm, int rank) {
    const int32_t out = 5;
    int32_t in = 0;
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_PERSISTENT;
    EXPECT_EQ(goss_sendrecv(comm, &out, 1, rank, &in, 1, rank, GOSS_INT32, 0, &options, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), ::testing::HasSubstr("GOSS_PERSISTENT"));
    options.flags = 0;
    EXPECT_OK(goss_sendrecv(comm, &out, 1, rank, &in, 1, rank, GOSS_INT32, 0, &options, nullptr));
    EXPECT_EQ(in, 5);
  });
}

TEST(Operations, SendToSelfInAGroup) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    const int32_t out = 40 + rank;
    int32_t in = 0;
    EXPECT_OK(goss_group_begin());
    EXPECT_OK(goss_send(comm, &out, 1, GOSS_INT32, rank, 0, nullptr, nullptr));
    EXPECT_OK(goss_recv(comm, &in, 1, GOSS_INT32, rank, 0, nullptr, nullptr));
    EXPECT_OK(goss_group_end());
    EXPECT_EQ(in, 40 + rank);
  });
}

TEST(Operations, GroupOfLargeSendsBothWaysDoesNotDeadlock) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    std::vector<float> out(3000000, static_cast<float>(rank));
    std::vector<float> in(out.size(), -1.0F);
    EXPECT_OK(goss_group_begin());
    EXPECT_OK(goss_send(comm, out.data(), out.size(), GOSS_FLOAT32, 1 - rank, 0, nullptr, nullptr));
    EXPECT_OK(goss_recv(comm, in.data(), in.size(), GOSS_FLOAT32, 1 - rank, 0, nullptr, nullptr));
    EXPECT_OK(goss_group_end());
    EXPECT_EQ(in.front(), static_cast<float>(1 - rank));
    EXPECT_EQ(in.back(), static_cast<float>(1 - rank));
  });
}

TEST(Operations, SendrecvAroundARing) {
  runRanks(5, [](goss_comm_t comm, int rank) {
    std::vector<int64_t> out(200000, rank);
    std::vector<int64_t> in(out.size());
    goss_message message{};
    EXPECT_OK(goss_sendrecv(comm, out.data(), out.size(), (rank + 1) % 5, in.data(), in.size(), (rank + 4) % 5,
                            GOSS_INT64, 3, nullptr, &message));
    EXPECT_EQ(in.back(), (rank + 4) % 5);
    EXPECT_EQ(message.source, (rank + 4) % 5);
  });
}

TEST(Operations, SplitMakesGroupsOrderedByKey) {
  runRanks(5, [](goss_comm_t comm, int rank) {
    goss_comm_t half = nullptr;
    EXPECT_OK(goss_comm_split(comm, rank % 2, -rank, &half));
    int32_t half_rank = -1;
    int32_t half_size = -1;
    EXPECT_OK(goss_comm_rank(half, &half_rank));
    EXPECT_OK(goss_comm_size(half, &half_size));
    EXPECT_EQ(half_size, rank % 2 == 0 ? 3 : 2);
    EXPECT_EQ(half_rank, half_size - 1 - rank / 2);
    int32_t sum = rank;
    EXPECT_OK(goss_all_reduce(half, &sum, &sum, 1, GOSS_INT32, GOSS_SUM, nullptr, nullptr));
    EXPECT_EQ(sum, rank % 2 == 0 ? 6 : 4);
    EXPECT_OK(goss_comm_destroy(half));

    goss_comm_t some = nullptr;
    EXPECT_OK(goss_comm_split(comm, rank == 0 ? -1 : 0, 0, &some));
    EXPECT_EQ(some == nullptr, rank == 0);
    EXPECT_OK(goss_comm_destroy(some));
  });
}

TEST(Operations, ThreadsUseTheirOwnCommunicatorsAtOnce) {
  runRanks(2, [](goss_comm_t comm, int) {
    constexpr int kThreads = 3;
    goss_comm_t comms[kThreads];
    for (goss_comm_t& copy : comms)
      EXPECT_OK(goss_comm_dup(comm, &copy));
    std::vector<std::thread> threads;
    for (goss_comm_t copy : comms) {
      threads.emplace_back([copy] {
        for (int i = 0; i < 200; ++i) {
          int64_t value = i;
          EXPECT_OK(goss_all_reduce(copy, &value, &value, 1, GOSS_INT64, GOSS_SUM, nullptr, nullptr));
          EXPECT_EQ(value, 2 * i);
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (goss_comm_t copy : comms)
      EXPECT_OK(goss_comm_destroy(copy));
  });
}

TEST(Operations, CountersCount) {
  runRanks(2, [](goss_comm_t comm, int) {
    std::vector<float> data(1024, 1.0F);
    EXPECT_OK(goss_all_reduce(comm, data.data(), data.data(), data.size(), GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
    goss_counters counters{};
    counters.size = sizeof counters;
    EXPECT_OK(goss_comm_counters(comm, &counters));
    EXPECT_EQ(counters.operations, 1U);
    EXPECT_EQ(counters.payload_bytes, 4096U);
    EXPECT_EQ(counters.wire_bytes_sent, counters.wire_bytes_received);
    EXPECT_GE(counters.wire_bytes_sent, 4096U);
    EXPECT_GT(counters.busy_ns, 0U);
  });
}

TEST(Operations, AllocatedMemoryIsAlignedAndUsableAndFreedOnce) {
  for (const char* transport : {"", "shm"}) {
    RanksSetup setup;
    setup.ranks = 2;
    setup.transport = transport;
    runRanks(setup, [](goss_comm_t comm, int rank) {
      void* memory = nullptr;
      constexpr std::size_t kCount = 3U << 20; // Large enough to be read in place, and past the caches.
      EXPECT_OK(goss_mem_alloc(comm, kCount * sizeof(float), &memory));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0U);
      auto* values = static_cast<float*>(memory);
      std::fill(values, values + kCount, static_cast<float>(rank + 1));
      std::vector<float> sums(kCount);
      EXPECT_OK(goss_all_reduce(comm, values, sums.data(), kCount, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
      EXPECT_EQ(sums, std::vector<float>(kCount, 3.0F));
      EXPECT_OK(goss_all_reduce(comm, values, values, kCount, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
      EXPECT_TRUE(std::equal(sums.begin(), sums.end(), values));
      EXPECT_OK(goss_mem_free(comm, memory));
      EXPECT_EQ(goss_mem_free(comm, memory), GOSS_ERR_INVALID_ARGUMENT);
    });
  }
}

std::uint64_t placedBytes(goss_comm_t comm) {
  goss_counters counters{};
  counters.size = sizeof counters;
  EXPECT_OK(goss_comm_counters(comm, &counters));
  return counters.placed_bytes;
}

// Both halves of the result are written by the rank that adds them, into its own memory and its peer's.
TEST(Operations, ResultsGoStraightIntoAllocatedMemory) {
  RanksSetup setup;
  setup.transport = "shm";
  runRanks(setup, [](goss_comm_t comm, int rank) {
    constexpr std::size_t kCount = (3U << 20) + 7; // Halves that are not aligned to anything.
    constexpr std::size_t kBytes = (kCount + 2) * sizeof(float);
    void* memory[2] = {};
    for (void*& at : memory)
      EXPECT_OK(goss_mem_alloc(comm, kBytes, &at));
    std::vector<float> ordinary(kCount + 2);
    auto* input = static_cast<float*>(memory[0]) + 1;
    float* const results[] = {static_cast<float*>(memory[1]) + 1, input, ordinary.data() + 1};
    const auto value = [](int of, std::size_t i) { return static_cast<float>((of + 1) * static_cast<int>(i % 1000)); };
    for (int round = 0; round < 2; ++round) { // The second runs on what the first has left.
      for (const goss_op op : {GOSS_SUM, GOSS_AVG, GOSS_MAX}) {
        for (std::size_t mine = 0; mine < 3; ++mine) {
          // The ranks need not have the same kind of memory.
          float* result = results[rank == 1 && mine == 2 ? std::size_t{0} : mine];
          result[-1] = result[kCount] = -5.0F;
          for (std::size_t i = 0; i < kCount; ++i)
            input[i] = value(rank, i);
          const std::uint64_t placed = placedBytes(comm);
          EXPECT_OK(goss_all_reduce(comm, input, result, kCount, GOSS_FLOAT32, op, nullptr, nullptr));
          // Rank 1 gets its result so in any case, rank 0 only where that is in shared memory.
          const double half = rank == 1 && mine == 2 ? 0 : kCount / 2.0 * sizeof(float);
          EXPECT_NEAR(static_cast<double>(placedBytes(comm) - placed), half, 64) << "result " << mine;
          for (std::size_t i = 0; i < kCount; ++i) {
            const float sum = value(0, i) + value(1, i);
            ASSERT_EQ(result[i], op == GOSS_SUM ? sum : op == GOSS_AVG ? sum / 2 : value(1, i)) << i << " op " << op;
          }
          EXPECT_EQ(result[-1], -5.0F);
          EXPECT_EQ(result[kCount], -5.0F);
        }
      }
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    for (void* at : memory)
      EXPECT_OK(goss_mem_free(comm, at));
  });
}

TEST(Operations, MemoryOfAMessageUnderWayIsNotFreed) {
  RanksSetup setup;
  setup.ranks = 2;
  setup.transport = "shm";
  runRanks(setup, [](goss_comm_t comm, int rank) {
    constexpr std::size_t kBytes = 1U << 20;
    void* memory = nullptr;
    EXPECT_OK(goss_mem_alloc(comm, kBytes, &memory));
    goss_request_t request = nullptr;
    if (rank == 0) {
      EXPECT_OK(goss_send(comm, memory, kBytes, GOSS_INT8, 1, 1, nullptr, &request));
      EXPECT_EQ(goss_mem_free(comm, memory), GOSS_ERR_INVALID_ARGUMENT);
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    if (rank == 1) {
      EXPECT_OK(goss_recv(comm, memory, kBytes, GOSS_INT8, 0, 1, nullptr, nullptr));
    }
    EXPECT_OK(goss_wait(&request, nullptr));
    EXPECT_OK(goss_mem_free(comm, memory));
  });
}

TEST(Operations, ASendFromAllocatedMemoryEndsWhenItsReceiverDestroysTheCommunicator) {
  runRanks(over("shm", 2, 10000), [](goss_comm_t comm, int rank) {
    constexpr std::size_t kBytes = 1U << 20;
    void* memory = nullptr;
    EXPECT_OK(goss_mem_alloc(comm, kBytes, &memory));
    goss_comm_t part = nullptr;
    ASSERT_OK(goss_comm_dup(comm, &part));
    if (rank == 0) {
      EXPECT_OK(goss_send(part, memory, kBytes, GOSS_INT8, 1, 1, nullptr, nullptr));
    }
    for (int found = 0; rank == 1 && found == 0;)
      ASSERT_OK(goss_iprobe(part, 0, 1, &found, nullptr));
    EXPECT_OK(goss_comm_destroy(part));
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    EXPECT_OK(goss_mem_free(comm, memory));
  });
}

} // namespace
} // namespace goss::test
