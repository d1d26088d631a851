// Receives from any rank and of any tag, and probes: the calls one by one. matching_test.cc checks MPI's rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/calls.h"
#include "tests/support/environment.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class AnySource : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, AnySource, ::testing::Values("loopback", "shm", "tcp", "sim"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(AnySource, ReceivesTellWhomTheyHeardAndMissNobody) {
  constexpr int kRanks = 4;
  runRanks(over(GetParam(), kRanks), [](goss_comm_t comm, int rank) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{3000}, std::size_t{1} << 20}) {
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
      if (rank != 0) {
        const std::vector<std::int32_t> mine(count, rank);
        EXPECT_OK(goss_send(comm, mine.data(), count, GOSS_INT32, 0, 10 + rank, nullptr, nullptr));
        continue;
      }
      std::array<bool, kRanks> heard{};
      for (int i = 1; i < kRanks; ++i) {
        std::vector<std::int32_t> theirs(count + 1, -1);
        goss_request_t request = nullptr;
        goss_message message{};
        ASSERT_OK(
            goss_recv(comm, theirs.data(), count + 1, GOSS_INT32, GOSS_ANY_SOURCE, GOSS_ANY_TAG, nullptr, &request));
        ASSERT_OK(goss_wait(&request, &message));
        ASSERT_GE(message.source, 1);
        EXPECT_EQ(message.tag, 10 + message.source);
        EXPECT_EQ(message.bytes, count * sizeof(std::int32_t));
        EXPECT_EQ(theirs[0], message.source);
        EXPECT_EQ(theirs[count - 1], message.source);
        EXPECT_EQ(theirs[count], -1);
        EXPECT_FALSE(heard[static_cast<std::size_t>(message.source)]) << "of this count each rank sends one";
        heard[static_cast<std::size_t>(message.source)] = true;
      }
    }
  });
}

TEST_P(AnySource, AReceiveThatWasStartedFirstGetsTheFirstMessage) {
  runRanks(over(GetParam(), 2), [](goss_comm_t comm, int rank) {
    for (std::int32_t round = 0; round < 50; ++round) {
      // The receive that names its rank and the one that does not alternate in coming first.
      const std::array<std::int32_t, 3> sources{round % 2 == 0 ? GOSS_ANY_SOURCE : 1, round % 2 == 0 ? 1 : -1, 1};
      std::array<std::int32_t, 3> values{-1, -1, -1};
      std::array<goss_request_t, 3> requests{};
      for (std::size_t i = 0; i < 3 && rank == 0; ++i)
        ASSERT_OK(goss_recv(comm, &values[i], 1, GOSS_INT32, sources[i], 4, nullptr, &requests[i]));
      if (round % 3 != 0) {
        EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
      }
      for (std::int32_t i = 0; i < 3 && rank == 1; ++i)
        ASSERT_OK(goss_send(comm, &i, 1, GOSS_INT32, 0, 4, nullptr, nullptr));
      ASSERT_OK(goss_wait_all(requests.data(), requests.size()));
      if (rank == 0) {
        EXPECT_EQ(values, (std::array<std::int32_t, 3>{0, 1, 2})) << "round " << round;
      }
    }
  });
}

TEST_P(AnySource, WhatIsOfAnotherTagGoesPastAReceiveThatWaits) {
  runRanks(over(GetParam(), 2), [](goss_comm_t comm, int rank) {
    std::int32_t any = -1, other = -1, late = -1;
    goss_request_t waits = nullptr;
    if (rank == 0) {
      ASSERT_OK(goss_recv(comm, &any, 1, GOSS_INT32, GOSS_ANY_SOURCE, 1, nullptr, &waits));
    }
    const std::int32_t two = 2, three = 3, one = 1;
    if (rank == 1) {
      EXPECT_OK(goss_send(comm, &two, 1, GOSS_INT32, 0, 2, nullptr, nullptr));
    }
    if (rank == 0) {
      EXPECT_OK(goss_recv(comm, &other, 1, GOSS_INT32, 1, 2, nullptr, nullptr));
    }
    if (rank == 1) {
      EXPECT_OK(goss_send(comm, &three, 1, GOSS_INT32, 0, 3, nullptr, nullptr));
    }
    if (rank == 0) {
      EXPECT_OK(goss_recv(comm, &late, 1, GOSS_INT32, GOSS_ANY_SOURCE, GOSS_ANY_TAG, nullptr, nullptr));
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    if (rank == 1) {
      EXPECT_OK(goss_send(comm, &one, 1, GOSS_INT32, 0, 1, nullptr, nullptr));
    }
    EXPECT_OK(goss_wait(&waits, nullptr));
    if (rank == 0) {
      EXPECT_EQ(any * 100 + other * 10 + late, 123);
    }
  });
}

TEST_P(AnySource, ProbesTellOfAMessageAndLeaveIt) {
  runRanks(over(GetParam(), 3), [](goss_comm_t comm, int rank) {
    for (const std::size_t count : {std::size_t{2}, std::size_t{1} << 21}) {
      if (rank == 2) {
        const std::vector<std::int32_t> mine(count, 7);
        EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
        EXPECT_OK(goss_send(comm, mine.data(), count, GOSS_INT32, 0, 9, nullptr, nullptr));
      } else if (rank == 0) {
        int found = 1;
        goss_message message{-5, -5, 5};
        EXPECT_OK(goss_iprobe(comm, GOSS_ANY_SOURCE, GOSS_ANY_TAG, &found, &message));
        EXPECT_EQ(found, 0);
        EXPECT_EQ(message.source, -5) << "written only if there is one";
        EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
        EXPECT_OK(goss_probe(comm, GOSS_ANY_SOURCE, 9, nullptr, &message));
        EXPECT_EQ(message.source, 2);
        EXPECT_EQ(message.tag, 9);
        EXPECT_EQ(message.bytes, count * 4);
        EXPECT_OK(goss_iprobe(comm, 2, GOSS_ANY_TAG, &found, nullptr));
        EXPECT_EQ(found, 1);
        EXPECT_OK(goss_iprobe(comm, 2, 8, &found, nullptr));
        EXPECT_EQ(found, 0);
        EXPECT_OK(goss_iprobe(comm, 1, 9, &found, nullptr));
        EXPECT_EQ(found, 0);
        std::vector<std::int32_t> theirs(message.bytes / 4);
        EXPECT_OK(
            goss_recv(comm, theirs.data(), theirs.size(), GOSS_INT32, message.source, message.tag, nullptr, nullptr));
        EXPECT_EQ(theirs.back(), 7);
        EXPECT_OK(goss_iprobe(comm, GOSS_ANY_SOURCE, GOSS_ANY_TAG, &found, nullptr));
        EXPECT_EQ(found, 0);
      } else {
        EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
      }
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    }
  });
}

TEST_P(AnySource, AProbeBeforeTheMessageWaitsForIt) {
  runRanks(over(GetParam(), 2), [](goss_comm_t comm, int rank) {
    if (rank == 1) {
      std::this_thread::sleep_for(30ms);
      EXPECT_OK(goss_send(comm, &rank, 1, GOSS_INT32, 0, 0, nullptr, nullptr));
      return;
    }
    goss_message message{};
    EXPECT_OK(goss_probe(comm, GOSS_ANY_SOURCE, GOSS_ANY_TAG, nullptr, &message));
    EXPECT_EQ(message.source, 1);
    std::int32_t value = 0;
    EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, GOSS_ANY_SOURCE, 0, nullptr, nullptr));
  });
}

TEST_P(AnySource, OwnMessagesAndSendrecvCountToo) {
  runRanks(over(GetParam(), 3), [](goss_comm_t comm, int rank) {
    std::int32_t in = -1;
    goss_request_t own = nullptr;
    ASSERT_OK(goss_send(comm, &rank, 1, GOSS_INT32, rank, 6, nullptr, &own));
    int found = 0;
    goss_message message{};
    EXPECT_OK(goss_iprobe(comm, GOSS_ANY_SOURCE, 6, &found, &message));
    EXPECT_EQ(found, 1);
    EXPECT_EQ(message.source, rank);
    EXPECT_EQ(message.bytes, 4u);
    EXPECT_OK(goss_recv(comm, &in, 1, GOSS_INT32, GOSS_ANY_SOURCE, GOSS_ANY_TAG, nullptr, nullptr));
    EXPECT_EQ(in, rank);
    EXPECT_OK(goss_wait(&own, nullptr));
    EXPECT_OK(goss_sendrecv(comm, &rank, 1, (rank + 1) % 3, &in, 1, GOSS_ANY_SOURCE, GOSS_INT32, 1, nullptr, &message));
    EXPECT_EQ(in, (rank + 2) % 3);
    EXPECT_EQ(message.source, in);
  });
}

TEST_P(AnySource, DeadlinesTruncationAndOtherTypesFailAReceiveAlone) {
  runRanks(over(GetParam(), 2), [](goss_comm_t comm, int rank) {
    if (rank == 0) {
      const goss_options options = withTimeout(100);
      std::array<std::int32_t, 2> values{};
      EXPECT_EQ(goss_recv(comm, values.data(), 1, GOSS_INT32, GOSS_ANY_SOURCE, 3, &options, nullptr), GOSS_ERR_TIMEOUT);
      EXPECT_THAT(goss_last_error(), HasSubstr("receive of 1 int32 from any rank, tag 3"));
      EXPECT_EQ(goss_probe(comm, GOSS_ANY_SOURCE, GOSS_ANY_TAG, &options, nullptr), GOSS_ERR_TIMEOUT);
      EXPECT_THAT(goss_last_error(), HasSubstr("probe for a message from any rank, any tag"));
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
      EXPECT_EQ(goss_recv(comm, values.data(), 1, GOSS_INT32, GOSS_ANY_SOURCE, 3, nullptr, nullptr),
                GOSS_ERR_TRUNCATED);
      EXPECT_EQ(goss_recv(comm, values.data(), 2, GOSS_FLOAT32, GOSS_ANY_SOURCE, 3, nullptr, nullptr),
                GOSS_ERR_MISMATCH);
      EXPECT_OK(goss_recv(comm, values.data(), 2, GOSS_INT32, 1, 3, nullptr, nullptr));
      EXPECT_EQ(values[1], 2);
    } else {
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
      for (std::int32_t i = 0; i < 3; ++i) {
        const std::array<std::int32_t, 2> values{i, i};
        EXPECT_OK(goss_send(comm, values.data(), 2, GOSS_INT32, 0, 3, nullptr, nullptr));
      }
    }
  });
}

/// The message that a receive from any rank is about to get is taken back: it gets another one.
TEST_P(AnySource, WhatWaitsEndsWhenAllOtherRanksHaveLeft) {
  RanksSetup setup = over(GetParam(), 3, 10000);
  setup.leave_at_once = true;
  runRanks(setup, [](goss_comm_t comm, int rank) {
    std::int32_t value = -1, late = -1;
    goss_request_t early = nullptr;
    if (rank == 0) {
      ASSERT_OK(goss_recv(comm, &late, 1, GOSS_INT32, GOSS_ANY_SOURCE, 5, nullptr, &early));
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    if (rank != 0) {
      if (rank == 1) {
        EXPECT_OK(goss_send(comm, &rank, 1, GOSS_INT32, 0, 3, nullptr, nullptr));
      }
      return;
    }
    EXPECT_EQ(goss_wait(&early, nullptr), GOSS_ERR_PEER_LOST);
    EXPECT_THAT(goss_last_error(), HasSubstr("all other ranks have left"));
    EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, GOSS_ANY_SOURCE, GOSS_ANY_TAG, nullptr, nullptr));
    EXPECT_EQ(value, 1);
    EXPECT_EQ(goss_probe(comm, GOSS_ANY_SOURCE, 3, nullptr, nullptr), GOSS_ERR_PEER_LOST);
    EXPECT_THAT(goss_last_error(), HasSubstr("all other ranks have left"));
    int found = -1;
    EXPECT_OK(goss_iprobe(comm, GOSS_ANY_SOURCE, 3, &found, nullptr));
    EXPECT_EQ(found, 0);
    goss_request_t own = nullptr;
    ASSERT_OK(goss_send(comm, &rank, 1, GOSS_INT32, 0, 3, nullptr, &own));
    EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, GOSS_ANY_SOURCE, 3, nullptr, nullptr));
    EXPECT_EQ(value, 0);
    EXPECT_OK(goss_wait(&own, nullptr));
  });
}

TEST(AnySourceOf, AMessageThatItsSenderTakesBackIsAsIfItHadNeverBeenSent) {
  ScopedEnvironment environment;
  environment.set("GOSS_UNEXPECTED_BYTES", "1048576"); // The message stays with its sender.
  runRanks(over("loopback", 3), [](goss_comm_t comm, int rank) {
    constexpr std::size_t kCount = 4u << 20;
    std::vector<std::int32_t> data(kCount, rank);
    for (int round = 0; round < 5; ++round) {
      if (rank == 1) { // No receive for it comes in time.
        const goss_options options = withTimeout(30);
        const goss_status status = goss_send(comm, data.data(), kCount, GOSS_INT32, 0, 8, &options, nullptr);
        EXPECT_TRUE(status == GOSS_ERR_TIMEOUT || status == GOSS_SUCCESS) << goss_last_error();
        std::int32_t sent = status == GOSS_SUCCESS ? 1 : 0;
        EXPECT_OK(goss_send(comm, &sent, 1, GOSS_INT32, 0, 100, nullptr, nullptr));
      } else if (rank == 2) {
        std::this_thread::sleep_for(std::chrono::milliseconds(15 * round));
        EXPECT_OK(goss_send(comm, data.data(), kCount, GOSS_INT32, 0, 8, nullptr, nullptr));
      } else {
        std::this_thread::sleep_for(29ms); // About when the first one gives up.
        std::vector<std::int32_t> got(kCount);
        goss_message message{};
        goss_request_t request = nullptr;
        ASSERT_OK(goss_recv(comm, got.data(), kCount, GOSS_INT32, GOSS_ANY_SOURCE, 8, nullptr, &request));
        ASSERT_OK(goss_wait(&request, &message));
        EXPECT_EQ(got.front(), message.source);
        EXPECT_EQ(got.back(), message.source);
        const bool both = message.source == 1; // The other message is on its way.
        std::int32_t sent = 0;
        EXPECT_OK(goss_recv(comm, &sent, 1, GOSS_INT32, 1, 100, nullptr, nullptr));
        if (both || sent == 1) {
          ASSERT_OK(goss_recv(comm, got.data(), kCount, GOSS_INT32, GOSS_ANY_SOURCE, 8, nullptr, nullptr));
        }
      }
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    }
  });
}

/// Rank 1 sends one message and leaves.
TEST(AnySourceOf, ARankThatHasLeftNothingMoreComes) {
  goss_unique_id id;
  ASSERT_OK(goss_unique_id_create(&id));
  const auto join = [&](int rank) {
    goss_config config;
    EXPECT_OK(goss_config_init(&config));
    config.rank = rank;
    config.ranks = 2;
    config.unique_id = &id;
    config.transport = "tcp";
    goss_comm_t comm = nullptr;
    EXPECT_OK(goss_comm_create(&config, &comm));
    return comm;
  };
  std::thread leaver([&] {
    goss_comm_t comm = join(1);
    const std::int32_t value = 17;
    EXPECT_OK(goss_send(comm, &value, 1, GOSS_INT32, 0, 3, nullptr, nullptr));
    EXPECT_OK(goss_comm_destroy(comm));
  });
  goss_comm_t comm = join(0);
  leaver.join();
  std::int32_t value = 0;
  EXPECT_OK(goss_probe(comm, 1, GOSS_ANY_TAG, nullptr, nullptr));
  EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, 1, GOSS_ANY_TAG, nullptr, nullptr));
  EXPECT_EQ(value, 17);
  EXPECT_EQ(goss_probe(comm, 1, GOSS_ANY_TAG, nullptr, nullptr), GOSS_ERR_PEER_LOST);
  EXPECT_EQ(goss_recv(comm, &value, 1, GOSS_INT32, 1, GOSS_ANY_TAG, nullptr, nullptr), GOSS_ERR_PEER_LOST);
  int found = 0;
  EXPECT_EQ(goss_iprobe(comm, 1, 0, &found, nullptr), GOSS_ERR_PEER_LOST);
  const goss_options options = withTimeout(50);
  EXPECT_EQ(goss_recv(comm, &value, 1, GOSS_INT32, GOSS_ANY_SOURCE, 0, &options, nullptr), GOSS_ERR_PEER_LOST);
  EXPECT_OK(goss_comm_destroy(comm));
}

TEST(AnySourceOf, ManyRanksAllHaveTheirTurn) {
  constexpr int kRanks = 6;
  constexpr int kMessages = 40;
  runRanks(over("shm", kRanks), [](goss_comm_t comm, int rank) {
    std::array<int, kRanks> heard{};
    if (rank != 0) {
      for (int i = 0; i < kMessages; ++i)
        EXPECT_OK(goss_send(comm, &i, 1, GOSS_INT32, 0, 0, nullptr, nullptr));
    }
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    for (int i = 0; rank == 0 && i < kMessages * (kRanks - 1); ++i) {
      std::int32_t value = -1;
      goss_message message{};
      goss_request_t request = nullptr;
      ASSERT_OK(goss_recv(comm, &value, 1, GOSS_INT32, GOSS_ANY_SOURCE, 0, nullptr, &request));
      ASSERT_OK(goss_wait(&request, &message));
      EXPECT_EQ(value, heard[static_cast<std::size_t>(message.source)]++);
    }
  });
}

TEST(AnySourceOf, PersistentReceivesLookAgainEachTime) {
  runRanks(over("tcp", 3), [](goss_comm_t comm, int rank) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_PERSISTENT;
    std::int32_t value = 0;
    goss_request_t receive = nullptr;
    if (rank == 0) {
      ASSERT_OK(goss_recv(comm, &value, 1, GOSS_INT32, GOSS_ANY_SOURCE, 0, &options, &receive));
    }
    for (int round = 0; round < 20; ++round) {
      if (rank == 0) {
        goss_message message{};
        ASSERT_OK(goss_start(receive));
        ASSERT_OK(goss_wait(&receive, &message));
        EXPECT_EQ(message.source, 1 + round % 2);
      } else if (rank == 1 + round % 2) {
        EXPECT_OK(goss_send(comm, &round, 1, GOSS_INT32, 0, 0, nullptr, nullptr));
      }
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    }
    EXPECT_OK(goss_request_free(&receive));
  });
}

TEST(AnySourceOf, AnAbortEndsWhatWaits) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    if (rank == 1) {
      std::this_thread::sleep_for(20ms);
      EXPECT_OK(goss_comm_abort(comm, "enough"));
      return;
    }
    std::int32_t value = 0;
    std::array<goss_request_t, 2> requests{};
    EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, GOSS_ANY_SOURCE, 0, nullptr, &requests[0]));
    EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, 1, 0, nullptr, &requests[1]));
    EXPECT_EQ(goss_probe(comm, 1, 5, nullptr, nullptr), GOSS_ERR_ABORTED);
    EXPECT_EQ(goss_wait_all(requests.data(), 2), GOSS_ERR_ABORTED);
    int found = 0;
    EXPECT_EQ(goss_iprobe(comm, 1, 5, &found, nullptr), GOSS_ERR_ABORTED);
  });
}

TEST(AnySourceOf, NonsenseIsRefused) {
  runRanks(1, [](goss_comm_t comm, int) {
    std::int32_t value = 0;
    int found = 0;
    EXPECT_EQ(goss_send(comm, &value, 1, GOSS_INT32, GOSS_ANY_SOURCE, 0, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_send(comm, &value, 1, GOSS_INT32, 0, GOSS_ANY_TAG, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_recv(comm, &value, 1, GOSS_INT32, -2, 0, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_recv(comm, &value, 1, GOSS_INT32, 0, -2, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_sendrecv(comm, &value, 1, 0, &value, 1, 0, GOSS_INT32, GOSS_ANY_TAG, nullptr, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_probe(comm, 1, 0, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_iprobe(comm, -2, 0, &found, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_iprobe(comm, 0, -2, &found, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_iprobe(comm, 0, 0, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_iprobe(nullptr, 0, 0, &found, nullptr), GOSS_ERR_INVALID_ARGUMENT);
  });
}

} // namespace
} // namespace goss::test
