// Receives that wait for short messages through shared memory: most of them become no operation of the loop, and nobody
// may notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/calls.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

goss_request_t startReceive(goss_comm_t comm, std::int32_t& value, int peer, int tag,
                            const goss_options* options = nullptr) {
  goss_request_t request = nullptr;
  EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, peer, tag, options, &request));
  return request;
}

/// What both ranks know of a round: by message its tag and length, and how the receiver takes it.
struct Round {
  enum class Wait { all, inOrder, backwards, any, polling, kinds };

  explicit Round(unsigned seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned limit) { return random() % limit; };
    const bool plain = below(3) == 0; // As a benchmark's window.
    late = static_cast<int>(below(3));
    wait = static_cast<Wait>(below(static_cast<unsigned>(Wait::kinds)));
    const std::size_t messages = 1 + below(70);
    for (std::size_t i = 0; i < messages; ++i) {
      constexpr std::array<std::size_t, 6> kLengths{1, 2, 7, 300, 4000, 30000};
      tags.push_back(plain ? 3 : static_cast<int>(below(3)));
      counts.push_back(plain ? 2 : kLengths[below(below(8) == 0 ? 6 : 4)]);
      blocking.push_back(!plain && below(12) == 0);
    }
  }

  /// The first element of message `i` that is sent: tags are matched apart, and each has its own order.
  [[nodiscard]] std::int32_t valueOf(std::size_t i) const { return static_cast<std::int32_t>(i) * 10 + tags[i]; }

  std::vector<int> tags;
  std::vector<std::size_t> counts;
  std::vector<bool> blocking;
  int late = 0; ///< The sender waits for this time times 20 us.
  Wait wait = Wait::all;
};

void sendRound(goss_comm_t comm, const Round& round, int peer) {
  std::vector<std::vector<std::int32_t>> data;
  std::vector<goss_request_t> requests(round.tags.size());
  std::this_thread::sleep_for(round.late * 20us);
  for (std::size_t i = 0; i < round.tags.size(); ++i) {
    data.emplace_back(round.counts[i], round.valueOf(i));
    ASSERT_OK(goss_send(comm, data[i].data(), data[i].size(), GOSS_INT32, peer, round.tags[i], nullptr, &requests[i]));
  }
  ASSERT_OK(goss_wait_all(requests.data(), requests.size()));
}

void waitFor(std::vector<goss_request_t>& requests, Round::Wait way) {
  switch (way) {
    case Round::Wait::backwards:
      std::for_each(requests.rbegin(), requests.rend(), [](goss_request_t& r) { EXPECT_OK(goss_wait(&r, nullptr)); });
      break;
    case Round::Wait::inOrder:
      std::for_each(requests.begin(), requests.end(), [](goss_request_t& r) { EXPECT_OK(goss_wait(&r, nullptr)); });
      break;
    case Round::Wait::any:
      for (std::size_t index = 0; index < requests.size();)
        ASSERT_OK(goss_wait_any(requests.data(), requests.size(), &index, nullptr));
      break;
    case Round::Wait::polling:
      for (goss_request_t& request : requests) {
        for (int done = 0; done == 0;)
          ASSERT_OK(goss_test(&request, &done, nullptr));
      }
      break;
    default:
      EXPECT_OK(goss_wait_all(requests.data(), requests.size()));
  }
}

void receiveRound(goss_comm_t comm, const Round& round, int peer) {
  std::vector<std::vector<std::int32_t>> data;
  std::vector<goss_request_t> requests(round.tags.size());
  for (std::size_t i = 0; i < round.tags.size(); ++i) {
    data.emplace_back(round.counts[i], -1);
    ASSERT_OK(goss_recv(comm, data[i].data(), data[i].size(), GOSS_INT32, peer, round.tags[i], nullptr,
                        round.blocking[i] ? nullptr : &requests[i]));
  }
  waitFor(requests, round.wait);
  for (std::size_t i = 0; i < data.size(); ++i) {
    EXPECT_EQ(data[i], std::vector<std::int32_t>(round.counts[i], round.valueOf(i))) << "message " << i;
  }
}

TEST(LightReceives, KeepTheirOrderAmongLongBlockingAndOtherTagsHoweverTheyAreWaitedFor) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    for (unsigned seed = 0; seed < 600 && !testing::Test::HasFailure(); ++seed) {
      const Round round(seed);
      SCOPED_TRACE(seed);
      if (static_cast<int>(seed % 2) == rank) {
        receiveRound(comm, round, 1 - rank);
      } else {
        sendRound(comm, round, 1 - rank);
      }
    }
  });
}

TEST(LightReceives, OfTwoCommunicatorsDoNotMix) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    goss_comm_t other = nullptr;
    ASSERT_OK(goss_comm_dup(comm, &other));
    for (std::int32_t round = 0; round < 200; ++round) {
      std::array<std::int32_t, 8> values{};
      std::array<goss_request_t, 8> requests{};
      for (std::size_t i = 0; i < values.size() && rank == 1; ++i)
        requests[i] = startReceive(i / 2 % 2 == 0 ? comm : other, values[i], 0, 0);
      // Messages of the other rank are sent first, and the last of them is waited for first.
      for (const std::size_t i : {2, 3, 6, 7, 0, 1, 4, 5}) {
        if (rank == 1) break;
        values[i] = round * 8 + static_cast<std::int32_t>(i);
        ASSERT_OK(goss_send(i / 2 % 2 == 0 ? comm : other, &values[i], 1, GOSS_INT32, 1, 0, nullptr, &requests[i]));
      }
      if (round % 2 == 0) {
        ASSERT_OK(goss_wait(&requests.back(), nullptr));
      }
      ASSERT_OK(goss_wait_all(requests.data(), requests.size()));
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(values[i], round * 8 + static_cast<std::int32_t>(i));
    }
    ASSERT_OK(goss_comm_destroy(other));
  });
}

TEST(LightReceives, TellWhatTheyGot) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    if (rank == 0) {
      std::this_thread::sleep_for(2ms);
      const std::array<std::int32_t, 3> data{1, 2, 3};
      goss_message message{5, 5, 5};
      goss_request_t request = nullptr;
      EXPECT_OK(goss_send(comm, data.data(), 3, GOSS_INT32, 1, 9, nullptr, &request));
      EXPECT_OK(goss_wait(&request, &message));
      EXPECT_EQ(request, nullptr);
      EXPECT_EQ(message.source, -1);
      EXPECT_OK(goss_send(comm, data.data(), 2, GOSS_INT32, 1, 8, nullptr, &request));
      EXPECT_OK(goss_request_free(&request));
    } else {
      std::array<std::array<std::int32_t, 10>, 2> data{};
      std::array<goss_request_t, 2> requests{};
      for (std::size_t i = 0; i < 2; ++i) {
        const int tag = 9 - static_cast<int>(i);
        EXPECT_OK(goss_recv(comm, data[i].data(), 10, GOSS_INT32, 0, tag, nullptr, &requests[i]));
      }
      for (std::size_t i = 0; i < 2; ++i) {
        goss_message message{};
        EXPECT_OK(goss_wait(&requests[i], &message));
        EXPECT_EQ(message.source, 0);
        EXPECT_EQ(message.tag, 9 - static_cast<int>(i));
        EXPECT_EQ(message.bytes, 12 - 4 * i);
      }
      goss_counters counters{};
      counters.size = sizeof counters;
      EXPECT_OK(goss_comm_counters(comm, &counters));
      EXPECT_EQ(counters.operations, 2U);
      EXPECT_EQ(counters.payload_bytes, 80U);
      EXPECT_EQ(counters.wire_bytes_received, 20U);
    }
  });
}

TEST(LightReceives, FailAloneWhereTheMessageDoesNotFit) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    for (int round = 0; round < 50; ++round) {
      std::array<std::int32_t, 4> values{-1, -1, -1, -1};
      std::array<goss_request_t, 4> requests{};
      if (rank == 0) {
        const std::array<std::int32_t, 2> data{round, round};
        const float other = 1;
        ASSERT_OK(goss_send(comm, data.data(), 1, GOSS_INT32, 1, 0, nullptr, nullptr));
        ASSERT_OK(goss_send(comm, data.data(), 2, GOSS_INT32, 1, 0, nullptr, nullptr));
        ASSERT_OK(goss_send(comm, &other, 1, GOSS_FLOAT32, 1, 0, nullptr, nullptr));
        ASSERT_OK(goss_send(comm, data.data(), 1, GOSS_INT32, 1, 0, nullptr, nullptr));
      } else {
        for (std::size_t i = 0; i < 4; ++i)
          requests[i] = startReceive(comm, values[i], 0, 0);
        EXPECT_OK(goss_wait(&requests[0], nullptr));
        EXPECT_EQ(goss_wait(&requests[1], nullptr), GOSS_ERR_TRUNCATED);
        EXPECT_EQ(goss_wait(&requests[2], nullptr), GOSS_ERR_MISMATCH);
        EXPECT_OK(goss_wait(&requests[3], nullptr));
        EXPECT_EQ(values[0], round);
        EXPECT_EQ(values[3], round);
      }
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(LightReceives, ExpireAndNameTheirPeer) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    if (rank == 1) {
      std::array<std::int32_t, 3> values{};
      std::array<goss_request_t, 3> requests{};
      const goss_options options = withTimeout(100);
      for (std::size_t i = 0; i < 3; ++i)
        requests[i] = startReceive(comm, values[i], 0, static_cast<int>(i), &options);
      EXPECT_EQ(goss_request_free(&requests[0]), GOSS_ERR_INVALID_ARGUMENT) << "still active";
      EXPECT_EQ(goss_wait_all(requests.data(), 3), GOSS_ERR_TIMEOUT);
      EXPECT_THAT(goss_last_error(), HasSubstr("receive of 1 int32 from rank 0, tag 0"));
      EXPECT_THAT(goss_last_error(), HasSubstr("within 100 ms"));
      EXPECT_THAT(requests, testing::Each(nullptr));
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    // Receives that have expired take no message.
    std::int32_t value = 7;
    if (rank == 0) {
      EXPECT_OK(goss_send(comm, &value, 1, GOSS_INT32, 1, 0, nullptr, nullptr));
    } else {
      value = 0;
      goss_request_t request = startReceive(comm, value, 0, 0);
      EXPECT_OK(goss_wait(&request, nullptr));
      EXPECT_EQ(value, 7);
    }
  });
}

TEST(LightReceives, ExpireWhileNobodyWaits) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    if (rank == 1) {
      std::array<std::int32_t, 2> values{};
      const goss_options options = withTimeout(50);
      std::array<goss_request_t, 2> requests{startReceive(comm, values[0], 0, 0, &options),
                                             startReceive(comm, values[1], 0, 0, &options)};
      goss_counters counters{};
      counters.size = sizeof counters;
      for (int i = 0; i < 1000 && counters.failures < 2; ++i) {
        std::this_thread::sleep_for(10ms);
        EXPECT_OK(goss_comm_counters(comm, &counters)); // Takes no turn of the loop.
      }
      EXPECT_EQ(counters.failures, 2U);
      for (goss_request_t& request : requests)
        EXPECT_EQ(goss_wait(&request, nullptr), GOSS_ERR_TIMEOUT);
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(LightReceives, EndWithTheirCommunicator) {
  for (const bool own : {true, false}) {
    runRanks(over("shm"), [own](goss_comm_t comm, int rank) {
      goss_comm_t other = nullptr;
      ASSERT_OK(goss_comm_dup(comm, &other));
      if (rank == 1) {
        std::array<std::int32_t, 3> values{};
        std::array<goss_request_t, 3> requests{};
        for (std::size_t i = 0; i < 3; ++i)
          requests[i] = startReceive(other, values[i], 0, 0);
        std::int32_t ready = 1;
        EXPECT_OK(goss_send(comm, &ready, 1, GOSS_INT32, 0, 0, nullptr, nullptr));
        if (own) {
          EXPECT_OK(goss_comm_abort(other, "enough"));
        }
        for (goss_request_t& request : requests) {
          EXPECT_EQ(goss_wait(&request, nullptr), GOSS_ERR_ABORTED);
          EXPECT_THAT(goss_last_error(), HasSubstr("enough"));
        }
        goss_request_t late = nullptr;
        EXPECT_EQ(goss_recv(other, values.data(), 1, GOSS_INT32, 0, 0, nullptr, &late), GOSS_ERR_ABORTED);
        EXPECT_EQ(late, nullptr);
      } else {
        std::int32_t ready = 0;
        EXPECT_OK(goss_recv(comm, &ready, 1, GOSS_INT32, 1, 0, nullptr, nullptr));
        if (!own) {
          EXPECT_OK(goss_comm_abort(other, "enough"));
        }
      }
      EXPECT_OK(goss_comm_destroy(other));
      std::int64_t sum = 1;
      EXPECT_OK(goss_all_reduce(comm, &sum, &sum, 1, GOSS_INT64, GOSS_SUM, nullptr, nullptr));
      EXPECT_EQ(sum, 2);
    });
  }
}

// The receive polls the ring before it becomes an operation, and the abort may come then.
TEST(LightReceives, ThatBlockAreEndedByAnAbortAtAnyMoment) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    for (int round = 0; round < 100; ++round) {
      goss_comm_t other = nullptr;
      ASSERT_OK(goss_comm_dup(comm, &other));
      std::int32_t value = 0;
      if (rank == 0) {
        EXPECT_OK(goss_comm_abort(other, "enough"));
      } else {
        EXPECT_EQ(goss_recv(other, &value, 1, GOSS_INT32, 0, 0, nullptr, nullptr), GOSS_ERR_ABORTED);
      }
      for (int again = 0; again < 2; ++again) {
        goss_request_t request = nullptr;
        EXPECT_EQ(goss_recv(other, &value, 1, GOSS_INT32, 1 - rank, again, nullptr, &request), GOSS_ERR_ABORTED);
      }
      ASSERT_OK(goss_comm_destroy(other));
    }
  });
}

TEST(LightReceives, MayBePendingWhereTheirCommunicatorIsDestroyed) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    for (std::int32_t round = 0; round < 20; ++round) {
      goss_comm_t other = nullptr;
      ASSERT_OK(goss_comm_dup(comm, &other));
      std::array<std::int32_t, 3> values{-1, -1, -1};
      if (rank == 1) {
        for (std::int32_t& value : values)
          (void)startReceive(other, value, 0, 0);
      }
      ASSERT_OK(goss_comm_destroy(other));
      std::int32_t value = round;
      if (rank == 0) {
        ASSERT_OK(goss_send(comm, &value, 1, GOSS_INT32, 1, 0, nullptr, nullptr));
      } else {
        goss_request_t request = startReceive(comm, value, 0, 0);
        ASSERT_OK(goss_wait(&request, nullptr));
        EXPECT_EQ(value, round);
        EXPECT_THAT(values, testing::Each(-1));
      }
    }
  });
}

TEST(LightReceives, GoOnWhileOthersWaitForCollectivesAndPersistentOnes) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_PERSISTENT;
    std::int32_t held = -1;
    goss_request_t persistent = nullptr;
    if (rank == 1) {
      ASSERT_OK(goss_recv(comm, &held, 1, GOSS_INT32, 0, 0, &options, &persistent));
    }
    for (std::int32_t round = 0; round < 100; ++round) {
      std::array<std::int32_t, 6> values{};
      std::array<goss_request_t, 6> requests{};
      const auto post = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to && rank == 1; ++i)
          requests[i] = startReceive(comm, values[i], 0, 0);
      };
      post(0, 3);
      if (rank == 1) {
        ASSERT_OK(goss_start(persistent)); // The fourth.
      }
      post(3, 6);
      std::int32_t sum = 1;
      ASSERT_OK(goss_all_reduce(comm, &sum, &sum, 1, GOSS_INT32, GOSS_SUM, nullptr, nullptr));
      EXPECT_EQ(sum, 2);
      for (std::int32_t i = 0; i < 7 && rank == 0; ++i)
        ASSERT_OK(goss_send(comm, &i, 1, GOSS_INT32, 1, 0, nullptr, nullptr));
      if (rank == 0) continue;
      ASSERT_OK(goss_wait_all(requests.data(), requests.size()));
      ASSERT_OK(goss_wait(&persistent, nullptr));
      EXPECT_EQ(held, 3);
      EXPECT_THAT(values, testing::ElementsAre(0, 1, 2, 4, 5, 6));
    }
    if (rank == 1) {
      ASSERT_OK(goss_request_free(&persistent));
    }
  });
}

TEST(LightReceives, OfManyThreadsGetTheirOwnMessages) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    std::vector<std::thread> threads;
    for (int tag = 0; tag < 3; ++tag) {
      threads.emplace_back([comm, rank, tag] {
        for (std::int32_t round = 0; round < 150; ++round) {
          std::array<std::int32_t, 16> in{};
          std::array<std::int32_t, 16> out{};
          std::array<goss_request_t, 32> requests{};
          std::iota(out.begin(), out.end(), round * 100 + tag * 1000000);
          for (std::size_t i = 0; i < in.size(); ++i)
            requests[i] = startReceive(comm, in[i], 1 - rank, tag);
          for (std::size_t i = 0; i < out.size(); ++i)
            ASSERT_OK(goss_send(comm, &out[i], 1, GOSS_INT32, 1 - rank, tag, nullptr, &requests[16 + i]));
          ASSERT_OK(goss_wait_all(requests.data(), requests.size()));
          ASSERT_EQ(in, out);
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
  });
}

TEST(LightReceives, MoreThanAreKeptForLater) {
  runRanks(over("shm"), [](goss_comm_t comm, int rank) {
    constexpr std::size_t kMessages = 3000;
    std::vector<std::int32_t> values(kMessages, -1);
    for (int round = 0; round < 2; ++round) {
      std::vector<goss_request_t> requests(kMessages);
      if (rank == 0) std::iota(values.begin(), values.end(), round);
      for (std::size_t i = 0; i < kMessages; ++i) {
        if (rank == 1) {
          requests[i] = startReceive(comm, values[i], 0, 0);
        } else {
          ASSERT_OK(goss_send(comm, &values[i], 1, GOSS_INT32, 1, 0, nullptr, &requests[i]));
        }
      }
      ASSERT_OK(goss_wait_all(requests.data(), kMessages));
      for (std::size_t i = 0; i < kMessages; ++i)
        ASSERT_EQ(values[i], static_cast<std::int32_t>(i) + round);
    }
  });
}

} // namespace
} // namespace goss::test
