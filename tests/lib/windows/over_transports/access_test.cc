// One-sided access: what reaches a target that calls nothing, and that nothing is lost between many origins.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <numeric>
#include <thread>

#include "gossamer/compression.h"
#include "tests/lib/windows/over_transports/over_transport.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

TEST_P(OverTransport, ARankReadsAndWritesMemoryOfOneThatCallsNothing) {
  std::atomic<int> over = 0;
  run(2, [&](goss_comm_t comm, int rank) {
    int begun = 0;
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{300'001}}) {
      const OwnWindow<std::int32_t> window(comm, std::vector<std::int32_t>(count, rank == 0 ? -1 : 7), GOSS_INT32);
      ++begun;
      while (rank == 1 && over < begun)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (rank == 0) {
        EXPECT_EQ(window.get(1), std::vector<std::int32_t>(count, 7));
        std::vector<std::int32_t> values(count);
        std::iota(values.begin(), values.end(), 5);
        ASSERT_OK(goss_window_put(window.handle, values.data(), count, 1, 0, nullptr, nullptr));
        EXPECT_EQ(window.get(1), values) << "a get sees the puts before it";
        const std::int32_t last = 99;
        ASSERT_OK(goss_window_put(window.handle, &last, 1, 1, count - 1, nullptr, nullptr));
        ASSERT_OK(goss_window_flush(window.handle, 1, nullptr));
        values.back() = last;
        EXPECT_EQ(window.get(1), values);
        ASSERT_OK(goss_window_put(window.handle, nullptr, 0, 1, count, nullptr, nullptr)); // nothing, at the end
        EXPECT_EQ(window.get(0), std::vector<std::int32_t>(count, -1));
        ++over;
      }
    }
  });
}

TEST_P(OverTransport, ConcurrentAccumulatesOfAllRanksAddUpExactly) {
  const int rounds = fullOr(20, 5);
  for (const int ranks : {2, 5, 8}) {
    for (const std::size_t count : {std::size_t{3}, std::size_t{10'000}}) {
      run(ranks, [&](goss_comm_t comm, int rank) {
        OwnWindow<std::int64_t> window(comm, std::vector<std::int64_t>(count), GOSS_INT64);
        const std::vector<std::int64_t> mine(count, 1 + rank);
        for (int round = 0; round < rounds; ++round) {
          for (int i = 0; i < ranks; ++i) {
            const int target = (rank + i) % ranks;
            ASSERT_OK(goss_window_accumulate(window.handle, mine.data(), count, GOSS_SUM, target, 0, nullptr, nullptr));
          }
        }
        ASSERT_OK(goss_window_flush(window.handle, GOSS_ALL_TARGETS, nullptr));
        ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
        EXPECT_EQ(window.memory, std::vector<std::int64_t>(count, rounds * ranks * (ranks + 1) / 2));
        for (int origin = 0; origin < ranks; ++origin) {
          std::uint64_t version = 0;
          ASSERT_OK(goss_window_version(window.handle, origin, &version));
          EXPECT_EQ(version, static_cast<std::uint64_t>(rounds)) << "of origin " << origin;
        }
      });
    }
  }
}

TEST_P(OverTransport, AVersionTellsThatANeighboursUpdateHasCome) {
  run(2, [](goss_comm_t comm, int rank) {
    const OwnWindow<float> window(comm, {0, 0}, GOSS_FLOAT32);
    for (std::uint64_t update = 1; update <= 5; ++update) {
      if (rank == 1) {
        const auto value = static_cast<float>(update);
        ASSERT_OK(goss_window_put(window.handle, &value, 1, 0, 1, nullptr, nullptr));
        ASSERT_OK(goss_window_flush(window.handle, 0, nullptr));
      } else {
        std::uint64_t version = 0;
        while (version < update)
          ASSERT_OK(goss_window_version(window.handle, 1, &version));
        EXPECT_GE(window.get(0)[1], static_cast<float>(update));
      }
    }
  });
}

TEST_P(OverTransport, ALockLetsRanksReadChangeAndWriteInTurn) {
  const int rounds = fullOr(30, 8);
  constexpr int kRanks = 4;
  run(kRanks, [&](goss_comm_t comm, int) {
    const OwnWindow<std::int32_t> window(comm, {0, 0}, GOSS_INT32);
    for (int round = 0; round < rounds; ++round) {
      const int target = round % kRanks;
      std::int32_t both[2];
      ASSERT_OK(goss_window_lock(window.handle, target, nullptr));
      ASSERT_OK(goss_window_get(window.handle, both, 2, target, 0, nullptr, nullptr));
      EXPECT_EQ(both[0], both[1]);
      ++both[0];
      ++both[1];
      // Two puts, between which another rank would find different numbers.
      ASSERT_OK(goss_window_put(window.handle, &both[0], 1, target, 0, nullptr, nullptr));
      ASSERT_OK(goss_window_put(window.handle, &both[1], 1, target, 1, nullptr, nullptr));
      ASSERT_OK(goss_window_unlock(window.handle, target));
    }
    ASSERT_OK(goss_window_flush(window.handle, GOSS_ALL_TARGETS, nullptr));
    ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
    std::int32_t sum = 0;
    for (int target = 0; target < kRanks; ++target)
      sum += window.get(target)[0];
    ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
    EXPECT_EQ(sum, rounds * kRanks);
  });
}

TEST_P(OverTransport, RequestsRunBesideCollectives) {
  run(3, [](goss_comm_t comm, int rank) {
    constexpr std::size_t kCount = 50'000;
    const OwnWindow<float> window(comm, std::vector<float>(kCount, static_cast<float>(rank)), GOSS_FLOAT32);
    std::vector<float> ones(kCount, 1), sums(kCount), read(kCount);
    for (int round = 0; round < 5; ++round) {
      goss_request_t requests[2];
      const int next = (rank + 1) % 3;
      ASSERT_OK(goss_window_accumulate(window.handle, ones.data(), kCount, GOSS_SUM, next, 0, nullptr, &requests[0]));
      ASSERT_OK(goss_window_get(window.handle, read.data(), kCount, next, 0, nullptr, &requests[1]));
      ASSERT_OK(goss_all_reduce(comm, ones.data(), sums.data(), kCount, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
      ASSERT_OK(goss_wait_all(requests, 2));
      EXPECT_EQ(sums, std::vector<float>(kCount, 3.0F));
      EXPECT_EQ(read, std::vector<float>(kCount, static_cast<float>(next + round + 1)));
    }
  });
}

/// Gets of rank 0's elements that together are longer than what rank 0 keeps for one rank's answers.
class ManyGets {
 public:
  static constexpr std::size_t kCount = 2 << 20; ///< Elements of a get: 8 MiB.

  explicit ManyGets(goss_window_t window, const goss_options* options = nullptr) {
    for (std::size_t i = 0; i < got_.size(); ++i)
      EXPECT_OK(goss_window_get(window, got_[i].data(), kCount, 0, 0, options, &requests_[i]));
  }
  /// Waits for all; returns how many ended with `error`, when all others have got `value` everywhere.
  int wait(float value, goss_status error = GOSS_SUCCESS) {
    int failures = 0;
    for (std::size_t i = 0; i < got_.size(); ++i) {
      const goss_status status = goss_wait(&requests_[i], nullptr);
      if (status == GOSS_SUCCESS) {
        EXPECT_EQ(std::count(got_[i].begin(), got_[i].end(), value), static_cast<long>(kCount)) << "get " << i;
      } else {
        EXPECT_EQ(status, error) << goss_last_error();
        ++failures;
      }
    }
    return failures;
  }

 private:
  std::vector<std::vector<float>> got_{24, std::vector<float>(kCount)};
  std::vector<goss_request_t> requests_{24};
};

goss_counters countersOf(goss_comm_t comm) {
  goss_counters counters{};
  counters.size = sizeof counters;
  EXPECT_OK(goss_comm_counters(comm, &counters));
  return counters;
}

TEST_P(OverTransport, ATargetKeepsABoundedNumberOfBytesForOneRanksGets) {
  goss_comm_t target = nullptr;
  std::atomic<bool> over = false;
  std::barrier<> ready(2);
  run(2, [&](goss_comm_t comm, int rank) {
    const OwnWindow<float> window(comm, std::vector<float>(ManyGets::kCount, 3), GOSS_FLOAT32);
    if (rank == 0) target = comm;
    ready.arrive_and_wait();
    if (rank == 1) {
      const std::uint64_t before = countersOf(target).wire_bytes_sent - countersOf(comm).wire_bytes_received;
      std::uint64_t most = 0;
      std::thread watching([&] {
        while (!over) { // The target's counter is read first, so that no difference is too large.
          const std::uint64_t sent = countersOf(target).wire_bytes_sent - before;
          const std::uint64_t received = countersOf(comm).wire_bytes_received;
          most = std::max(most, sent - std::min(sent, received));
        }
      });
      ManyGets gets(window.handle);
      EXPECT_EQ(gets.wait(3), 0);
      over = true;
      watching.join();
      EXPECT_LE(most, std::uint64_t{64} << 20);
    }
    ready.arrive_and_wait();
  });
}

TEST_P(OverTransport, CallsBehindManyGetsKeepTheirOrder) {
  run(3, [](goss_comm_t comm, int rank) {
    const OwnWindow<float> window(comm, std::vector<float>(ManyGets::kCount, 3), GOSS_FLOAT32);
    if (rank == 1) {
      ASSERT_OK(goss_window_lock(window.handle, 0, nullptr));
    }
    ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
    float last = 0;
    if (rank == 1) {
      ManyGets gets(window.handle);
      const float nine = 9;
      goss_request_t put = nullptr;
      ASSERT_OK(goss_window_put(window.handle, &nine, 1, 0, ManyGets::kCount - 1, nullptr, &put));
      ASSERT_OK(goss_window_unlock(window.handle, 0));
      ASSERT_OK(goss_window_lock(window.handle, 0, nullptr));
      ASSERT_OK(goss_window_unlock(window.handle, 0));
      EXPECT_EQ(gets.wait(3), 0) << "a get has seen a put behind it";
      ASSERT_OK(goss_wait(&put, nullptr));
    }
    if (rank == 2) {
      ASSERT_OK(goss_window_lock(window.handle, 0, nullptr));
      ASSERT_OK(goss_window_get(window.handle, &last, 1, 0, ManyGets::kCount - 1, nullptr, nullptr));
      ASSERT_OK(goss_window_unlock(window.handle, 0));
      EXPECT_EQ(last, 9.0F) << "the lock went on before the put";
    }
  });
}

TEST_P(OverTransport, GetsThatExpireLetTheCallsBehindThemGo) {
  run(2, [](goss_comm_t comm, int rank) {
    const OwnWindow<float> window(comm, std::vector<float>(ManyGets::kCount, 3), GOSS_FLOAT32);
    if (rank == 0) return;
    const goss_options brief = withTimeout(1);
    ManyGets gets(window.handle, &brief);
    const float nine = 9;
    float last = 0;
    ASSERT_OK(goss_window_put(window.handle, &nine, 1, 0, ManyGets::kCount - 1, nullptr, nullptr));
    ASSERT_OK(goss_window_get(window.handle, &last, 1, 0, ManyGets::kCount - 1, nullptr, nullptr));
    EXPECT_EQ(last, 9.0F);
    gets.wait(3, GOSS_ERR_TIMEOUT);
    const float three = 3;
    ASSERT_OK(goss_window_put(window.handle, &three, 1, 0, ManyGets::kCount - 1, nullptr, nullptr));
    ManyGets again(window.handle);
    ASSERT_OK(goss_window_flush(window.handle, 0, nullptr));
    EXPECT_EQ(again.wait(3), 0);
  });
}

TEST_P(OverTransport, GetsThatWaitEndWhenTheirTargetLeaves) {
  std::vector<float> memory(ManyGets::kCount, 3); // It outlives rank 0's communicator.
  std::barrier<> ready(2);
  RanksSetup setup = over(GetParam(), 2);
  setup.leave_at_once = true;
  runRanks(setup, [&](goss_comm_t comm, int rank) {
    goss_window_t window = nullptr;
    EXPECT_OK(goss_window_create(comm, memory.data(), memory.size(), GOSS_FLOAT32, nullptr, &window));
    ready.arrive_and_wait();
    if (rank == 0) return;
    ManyGets gets(window);
    gets.wait(3, GOSS_ERR_PEER_LOST);
    const float nine = 9;
    EXPECT_EQ(goss_window_lock(window, 0, nullptr), GOSS_ERR_PEER_LOST);
    EXPECT_EQ(goss_window_put(window, &nine, 1, 0, 0, nullptr, nullptr), GOSS_ERR_PEER_LOST);
  });
}

INSTANTIATE_TEST_SUITE_P(Windows, OverTransport, ::testing::ValuesIn(everyTransport()),
                         [](const auto& named) { return std::string(named.param); });

TEST(Windows, EveryOperationThatReductionsHave) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    const OwnWindow<std::int32_t> window(comm, std::vector<std::int32_t>(12, 6), GOSS_INT32);
    if (rank != 0) return;
    const std::int32_t three = 3;
    const auto after = [&](goss_op op, std::size_t at) {
      EXPECT_OK(goss_window_accumulate(window.handle, &three, 1, op, 1, at, nullptr, nullptr));
      return window.get(1)[at];
    };
    EXPECT_EQ(after(GOSS_SUM, 0), 9);
    EXPECT_EQ(after(GOSS_PROD, 1), 18);
    EXPECT_EQ(after(GOSS_MIN, 2), 3);
    EXPECT_EQ(after(GOSS_MAX, 3), 6);
    EXPECT_EQ(after(GOSS_BAND, 4), 2);
    EXPECT_EQ(after(GOSS_BOR, 5), 7);
    EXPECT_EQ(after(GOSS_BXOR, 6), 5);
    EXPECT_EQ(after(GOSS_LXOR, 7), 0);
    for (const goss_op op : {GOSS_AVG, GOSS_PREMUL_SUM, GOSS_OP_COUNT})
      EXPECT_EQ(goss_window_accumulate(window.handle, &three, 1, op, 1, 0, nullptr, nullptr),
                GOSS_ERR_INVALID_ARGUMENT);
  });
}

TEST(Windows, DifferentPartsAreRefusedOnAllRanksAndTheCommunicatorGoesOn) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    std::vector<double> memory(10);
    goss_window_t window = nullptr;
    EXPECT_EQ(goss_window_create(comm, memory.data(), rank == 2 ? 9 : 10, GOSS_FLOAT64, nullptr, &window),
              GOSS_ERR_MISMATCH);
    EXPECT_THAT(goss_last_error(), HasSubstr("rank 0 gives 10 float64, rank 2 9 float64"));
    EXPECT_EQ(goss_window_create(comm, memory.data(), 10, rank == 1 ? GOSS_INT64 : GOSS_FLOAT64, nullptr, &window),
              GOSS_ERR_MISMATCH);
    EXPECT_THAT(goss_last_error(), HasSubstr("rank 1 10 int64"));
    EXPECT_EQ(window, nullptr);
    const OwnWindow<double> good(comm, memory, GOSS_FLOAT64);
    EXPECT_EQ(good.get((rank + 1) % 3), memory);
  });
}

TEST(Windows, WhatIsBeyondTheWindowIsRefusedBeforeItIsSent) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    const OwnWindow<float> window(comm, {1, 2, 3}, GOSS_FLOAT32);
    float values[4] = {};
    const auto refused = [&](std::size_t count, int target, std::size_t offset) {
      EXPECT_EQ(goss_window_put(window.handle, values, count, target, offset, nullptr, nullptr),
                GOSS_ERR_INVALID_ARGUMENT);
      const std::string text = goss_last_error();
      EXPECT_EQ(goss_window_get(window.handle, values, count, target, offset, nullptr, nullptr),
                GOSS_ERR_INVALID_ARGUMENT);
      return text;
    };
    EXPECT_THAT(refused(4, 1 - rank, 0), HasSubstr("beyond the window's 3"));
    EXPECT_THAT(refused(1, rank, 3), HasSubstr("1 elements from 3 on"));
    refused(1, 0, ~std::size_t{0});
    refused(~std::size_t{0}, 0, 1);
    EXPECT_THAT(refused(1, 2, 0), HasSubstr("target 2 is not a rank"));
    EXPECT_THAT(refused(1, -1, 0), HasSubstr("target -1 is not a rank"));
    std::uint64_t version = 0;
    EXPECT_EQ(goss_window_version(window.handle, 1 - rank, &version), GOSS_SUCCESS);
    EXPECT_EQ(version, 0U) << "a refused put has come";
    EXPECT_EQ(goss_window_get(nullptr, values, 1, 0, 0, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "int8";
    EXPECT_EQ(goss_window_get(window.handle, values, 1, 0, 0, &options, nullptr), GOSS_ERR_UNSUPPORTED);
  });
}

TEST(Windows, LocksThatAreMisusedAreRefused) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    OwnWindow<float> window(comm, {1}, GOSS_FLOAT32);
    EXPECT_EQ(goss_window_unlock(window.handle, 0), GOSS_ERR_INVALID_ARGUMENT);
    if (rank == 0) {
      ASSERT_OK(goss_window_lock(window.handle, 1, nullptr));
      EXPECT_EQ(goss_window_lock(window.handle, 1, nullptr), GOSS_ERR_INVALID_ARGUMENT);
      EXPECT_EQ(goss_window_free(&window.handle), GOSS_ERR_INVALID_ARGUMENT);
      EXPECT_THAT(goss_last_error(), HasSubstr("holds the lock of rank 1"));
      ASSERT_OK(goss_window_unlock(window.handle, 1));
    }
  });
}

TEST(Windows, AWaitForALockEndsAtItsDeadlineAndHoldsNobodyUpAfterwards) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    const OwnWindow<float> window(comm, {1}, GOSS_FLOAT32);
    if (rank == 0) {
      ASSERT_OK(goss_window_lock(window.handle, 2, nullptr));
    }
    ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
    const goss_options brief = withTimeout(100);
    if (rank == 1) {
      EXPECT_EQ(goss_window_lock(window.handle, 2, &brief), GOSS_ERR_TIMEOUT);
      EXPECT_THAT(goss_last_error(), HasSubstr("lock of the window of rank 2"));
    }
    if (rank == 2) {
      EXPECT_EQ(goss_window_lock(window.handle, 2, &brief), GOSS_ERR_TIMEOUT);
    }
    ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
    if (rank == 0) {
      ASSERT_OK(goss_window_unlock(window.handle, 2));
    }
    // The lock passes through the rank that gave up, to whoever wants it now.
    ASSERT_OK(goss_window_lock(window.handle, 2, nullptr));
    ASSERT_OK(goss_window_unlock(window.handle, 2));
  });
}

TEST(Windows, ARequestThatIsNotOverKeepsTheWindow) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    OwnWindow<float> window(comm, {1}, GOSS_FLOAT32);
    if (rank == 0) {
      ASSERT_OK(goss_window_lock(window.handle, 0, nullptr));
    }
    ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
    if (rank == 1) {
      std::thread waiting([&] {
        while (goss_window_lock(window.handle, 0, nullptr) == GOSS_ERR_INVALID_ARGUMENT) { // while this thread waits
        }
        ASSERT_OK(goss_window_unlock(window.handle, 0));
      });
      const goss_options brief = withTimeout(1);
      while (goss_window_lock(window.handle, 0, &brief) != GOSS_ERR_INVALID_ARGUMENT) { // until the other one does
      }
      EXPECT_EQ(goss_window_free(&window.handle), GOSS_ERR_INVALID_ARGUMENT);
      EXPECT_THAT(goss_last_error(), HasSubstr("lock of the window of rank 0 is not over"));
      ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
      waiting.join();
    } else {
      ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
      ASSERT_OK(goss_window_unlock(window.handle, 0));
    }
  });
}

TEST(Windows, SeveralWindowsOfACommunicatorAndItsPartsAreIndependent) {
  runRanks(4, [](goss_comm_t comm, int rank) {
    goss_comm_t half = nullptr;
    ASSERT_OK(goss_comm_split(comm, rank % 2, rank, &half));
    {
      const OwnWindow<float> a(comm, {1, 1}, GOSS_FLOAT32);
      const OwnWindow<std::int8_t> b(comm, {2}, GOSS_INT8);
      const OwnWindow<float> c(half, {3}, GOSS_FLOAT32);
      const float ten = 10;
      ASSERT_OK(goss_window_accumulate(c.handle, &ten, 1, GOSS_SUM, 1 - rank / 2, 0, nullptr, nullptr));
      ASSERT_OK(goss_window_flush(c.handle, GOSS_ALL_TARGETS, nullptr));
      EXPECT_THAT(a.get((rank + 1) % 4), Each(1.0F));
      EXPECT_THAT(b.get((rank + 1) % 4), Each(2));
      EXPECT_THAT(c.get(1 - rank / 2), Each(13.0F));
    }
    ASSERT_OK(goss_comm_destroy(half));
  });
}

TEST(Windows, DestroyingTheCommunicatorFreesThem) {
  runRanks(2, [](goss_comm_t comm, int) {
    goss_comm_t own = nullptr;
    ASSERT_OK(goss_comm_split(comm, 0, 0, &own));
    std::vector<float> memory(4);
    goss_window_t window = nullptr;
    ASSERT_OK(goss_window_create(own, memory.data(), memory.size(), GOSS_FLOAT32, nullptr, &window));
    ASSERT_OK(goss_comm_destroy(own));
    ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

/// Rank 0 of three leaves with the locks of itself and of rank 1; the others do not notice until they ask it.
struct Leaving {
  std::barrier<> locked{3};
  std::barrier<> others{2};
  std::vector<std::vector<float>> memories{3}; ///< Each outlives its communicator, which has a window over it.

  void run(goss_comm_t comm, int rank) {
    std::vector<float>& memory = memories[static_cast<std::size_t>(rank)];
    memory.assign(4, static_cast<float>(rank));
    goss_window_t window = nullptr;
    EXPECT_OK(goss_window_create(comm, memory.data(), memory.size(), GOSS_FLOAT32, nullptr, &window));
    if (rank == 0) {
      EXPECT_OK(goss_window_lock(window, 0, nullptr));
      EXPECT_OK(goss_window_lock(window, 1, nullptr));
      locked.arrive_and_wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(50)); // Usually the others wait for the locks then.
      return;
    }
    locked.arrive_and_wait();
    if (rank == 1) {
      EXPECT_OK(goss_window_lock(window, 1, nullptr));
      EXPECT_OK(goss_window_unlock(window, 1));
    } else {
      EXPECT_EQ(goss_window_lock(window, 0, nullptr), GOSS_ERR_PEER_LOST) << goss_last_error();
    }
    std::vector<float> got(4);
    EXPECT_EQ(goss_window_get(window, got.data(), 1, 0, 0, nullptr, nullptr), GOSS_ERR_PEER_LOST);
    EXPECT_THAT(goss_last_error(), HasSubstr("rank 0 has left: it destroyed its communicator"));
    EXPECT_OK(goss_pair_average(window, 3 - rank, 4, 0, nullptr, nullptr, nullptr));
    EXPECT_OK(
        goss_window_get(window, got.data(), 4, rank, 0, nullptr, nullptr)); // The other's average may be under way.
    EXPECT_THAT(got, Each(1.5F));
    others.arrive_and_wait();
  }
};

TEST_P(OverTransport, ARankThatLeavesGivesUpItsLocksAndEndsTheCallsThatWaitForIt) {
  RanksSetup setup = over(GetParam(), 3);
  setup.leave_at_once = true;
  Leaving leaving;
  runRanks(setup, [&](goss_comm_t comm, int rank) { leaving.run(comm, rank); });
}

TEST_P(OverTransport, ARankThatDestroysADuplicateLeavesThatAlone) {
  Leaving leaving;
  run(3, [&](goss_comm_t comm, int rank) {
    goss_comm_t own = nullptr;
    ASSERT_OK(goss_comm_dup(comm, &own));
    leaving.run(own, rank);
    ASSERT_OK(goss_comm_destroy(own));
    ASSERT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

std::size_t noBytes(void*, std::size_t) { return 1; }
std::size_t encodeTooMuch(void*, const float*, std::size_t, void*) { return 2; }
int decodeNone(void*, const void*, std::size_t, std::size_t, float*) { return 1; }

TEST(Windows, AFailedCommunicatorFreesThemWhateverItFailedWith) {
  std::barrier<> ready(2);
  runRanks(2, [&](goss_comm_t comm, int) {
    std::vector<float> memory(4);
    goss_window_t window = nullptr;
    EXPECT_OK(goss_window_create(comm, memory.data(), memory.size(), GOSS_FLOAT32, nullptr, &window));
    // A codec that breaks its promise is an invalid argument, and fails the communicator.
    const goss_codec_functions broken = {sizeof broken, nullptr, 1, noBytes, encodeTooMuch, decodeNone};
    EXPECT_OK(goss_codec_register(comm, "broken", &broken));
    ready.arrive_and_wait(); // The failure of one rank must not reach the other before it has its window.
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "broken";
    EXPECT_EQ(goss_all_reduce(comm, memory.data(), memory.data(), 4, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_window_free(&window), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(window, nullptr);
  });
}

TEST(Windows, OneRankAlone) {
  runRanks(1, [](goss_comm_t comm, int) {
    const OwnWindow<float> window(comm, {1, 2}, GOSS_FLOAT32);
    const float four = 4;
    ASSERT_OK(goss_window_lock(window.handle, 0, nullptr));
    ASSERT_OK(goss_window_accumulate(window.handle, &four, 1, GOSS_SUM, 0, 1, nullptr, nullptr));
    ASSERT_OK(goss_window_unlock(window.handle, 0));
    ASSERT_OK(goss_window_flush(window.handle, GOSS_ALL_TARGETS, nullptr));
    EXPECT_THAT(window.get(0), ::testing::ElementsAre(1.0F, 6.0F));
  });
}

} // namespace
} // namespace goss::test
