// What ranks pay for peers to which they do not talk.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

#include "tests/support/calls.h"
#include "tests/support/quick.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

/// Bytes that this process has allocated.
double allocated() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

/// Bytes that are allocated while so many ranks have just met.
double bytesOf(const std::string& transport, int ranks) {
  const double before = allocated();
  std::atomic<double> taken = 0;
  std::barrier met(ranks);
  runRanks(over(transport, ranks), [&](goss_comm_t, int rank) {
    met.arrive_and_wait();
    if (rank == 0) taken = allocated() - before;
    met.arrive_and_wait();
  });
  return taken;
}

class IdlePeers : public ::testing::TestWithParam<std::string> {};

/// Of what n ranks take, the second difference over n shows what grows with the number of pairs.
TEST_P(IdlePeers, TakeLessThanFourKibibytes) {
  if (fullOr(false, true)) GTEST_SKIP() << "sanitizers have an allocator of their own";
  constexpr int kStep = 16;
  bytesOf(GetParam(), kStep); // What is allocated once.
  const double few = bytesOf(GetParam(), kStep);
  const double more = bytesOf(GetParam(), 2 * kStep);
  const double many = bytesOf(GetParam(), 3 * kStep);
  const double of_peer = (many - 2 * more + few) / (2 * kStep * kStep);
  std::printf("an idle peer: %.0f bytes\n", of_peer);
  EXPECT_LT(of_peer, 4096);
}

INSTANTIATE_TEST_SUITE_P(Transports, IdlePeers, ::testing::Values("", "tcp"), [](const auto& instance) {
  return instance.param.empty() ? std::string("loopback") : instance.param;
});

/// Sockets of this process that are connected over IP.
int connectedSockets() {
  int count = 0;
  for (int fd = 0; fd < 4096; ++fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    if (address.ss_family == AF_INET || address.ss_family == AF_INET6) ++count;
  }
  return count;
}

/// Waits, because a call that another has made superfluous may end a moment later.
bool comesTo(int before, int sockets) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (connectedSockets() - before != sockets && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return connectedSockets() - before == sockets;
}

TEST(ManyRanks, LinkToTwoNeighboursOnEitherSideAndToThoseTheyTalkTo) {
  constexpr int kRanks = 20;
  constexpr int kDistance = 7;
  const int before = connectedSockets();
  std::barrier talked(kRanks);
  runRanks(over("tcp", kRanks), [&](goss_comm_t comm, int rank) {
    talked.arrive_and_wait();
    if (rank == 0) {
      EXPECT_TRUE(comesTo(before, kRanks * 4)) << connectedSockets() - before;
    }
    talked.arrive_and_wait();
    const int32_t out = rank;
    int32_t in = -1;
    const int next = (rank + kDistance) % kRanks;
    const int previous = (rank + kRanks - kDistance) % kRanks;
    goss_request_t sending = nullptr;
    EXPECT_OK(goss_send(comm, &out, 1, GOSS_INT32, next, 3, nullptr, &sending));
    EXPECT_OK(goss_recv(comm, &in, 1, GOSS_INT32, previous, 3, nullptr, nullptr));
    EXPECT_OK(goss_wait(&sending, nullptr));
    EXPECT_EQ(in, previous);
    talked.arrive_and_wait();
    if (rank == 0) {
      EXPECT_TRUE(comesTo(before, kRanks * (4 + 2))) << connectedSockets() - before;
    }
    talked.arrive_and_wait();
  });
}

/// A rank that has left is not one that has died, also for ranks that had no link to it.
TEST(ManyRanks, OneThatLeavesFailsNothingButMessagesToIt) {
  constexpr int kRanks = 12;
  constexpr int kLeaver = 6;
  RanksSetup setup = over("tcp", kRanks);
  setup.leave_at_once = true;
  std::barrier rest(kRanks - 1);
  runRanks(setup, [&](goss_comm_t comm, int rank) {
    if (rank == kLeaver) return;
    int32_t value = rank;
    if (rank == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      goss_status status = GOSS_SUCCESS;
      for (int i = 0; i < 1000 && status == GOSS_SUCCESS; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        status = goss_send(comm, &value, 1, GOSS_INT32, kLeaver, 3, nullptr, nullptr);
      }
      EXPECT_EQ(status, GOSS_ERR_PEER_LOST);
      EXPECT_NE(std::string(goss_last_error()).find("rank 6: it has left or ended"), std::string::npos)
          << goss_last_error();
    }
    rest.arrive_and_wait();
    if (rank < 3) {
      EXPECT_OK(goss_send(comm, &value, 1, GOSS_INT32, rank + 8, 4, nullptr, nullptr));
    }
    if (rank >= 8 && rank < 11) {
      EXPECT_OK(goss_recv(comm, &value, 1, GOSS_INT32, rank - 8, 4, nullptr, nullptr));
      EXPECT_EQ(value, rank - 8);
    }
    rest.arrive_and_wait();
  });
}

TEST(ManyRanks, ADeadlineNamesTheRankThatHasNotCalled) {
  constexpr int kRanks = 12;
  constexpr int kAbsent = 6;
  std::barrier over_all(kRanks);
  runRanks(over("tcp", kRanks, 2000), [&](goss_comm_t comm, int rank) {
    if (rank != kAbsent) {
      EXPECT_EQ(goss_barrier(comm, nullptr, nullptr), GOSS_ERR_TIMEOUT);
      EXPECT_NE(std::string(goss_last_error()).find("rank 6 has not called it yet"), std::string::npos)
          << goss_last_error();
    }
    over_all.arrive_and_wait();
  });
}

/// The ranks of the smaller communicator have no link to each other, and the one that aborts it leaves at once.
TEST(ManyRanks, AnAbortGoesOverLinksThatAreMadeForIt) {
  constexpr int kRanks = 18;
  RanksSetup setup = over("tcp", kRanks);
  setup.leave_at_once = true;
  std::barrier split(kRanks);
  std::barrier rest(kRanks - 1);
  runRanks(setup, [&](goss_comm_t comm, int rank) {
    goss_comm_t smaller = nullptr;
    EXPECT_OK(goss_comm_split(comm, rank % 6 == 0 ? 0 : -1, rank, &smaller));
    split.arrive_and_wait();
    if (rank == 0) {
      EXPECT_OK(goss_comm_abort(smaller, "enough"));
      goss_comm_destroy(smaller);
      return;
    }
    if (rank % 6 == 0) {
      int32_t value = 0;
      EXPECT_EQ(goss_recv(smaller, &value, 1, GOSS_INT32, 0, 3, nullptr, nullptr), GOSS_ERR_ABORTED);
      EXPECT_NE(std::string(goss_last_error()).find("enough"), std::string::npos) << goss_last_error();
      goss_comm_destroy(smaller);
    }
    rest.arrive_and_wait();
  });
}

/// The ranks that would pass the abort on have destroyed the communicator, and so has the one that aborted it.
TEST(ManyRanks, AnAbortReachesARankToWhichNobodyPassesItOn) {
  constexpr int kRanks = 16;
  constexpr int kFar = 5; // No link to rank 0 exists, nor is one made for an abort.
  std::barrier step(kRanks);
  runRanks(over("tcp", kRanks), [&](goss_comm_t comm, int rank) {
    goss_comm_t twin = nullptr;
    EXPECT_OK(goss_comm_dup(comm, &twin));
    step.arrive_and_wait();
    if (rank != 0 && rank != kFar) {
      EXPECT_OK(goss_comm_destroy(twin));
    }
    step.arrive_and_wait();
    if (rank == 0) {
      EXPECT_OK(goss_comm_abort(twin, "enough"));
      EXPECT_OK(goss_comm_destroy(twin));
    }
    step.arrive_and_wait();
    if (rank == kFar) {
      int32_t value = 0;
      EXPECT_EQ(goss_recv(twin, &value, 1, GOSS_INT32, 0, 3, nullptr, nullptr), GOSS_ERR_ABORTED);
      EXPECT_NE(std::string(goss_last_error()).find("enough"), std::string::npos) << goss_last_error();
      EXPECT_OK(goss_comm_destroy(twin));
    }
    step.arrive_and_wait();
  });
}

/// Every rank sends to every other at once, so that both ends of each link call.
TEST(ManyRanks, AllToAllRightAfterTheStart) {
  constexpr int kRanks = 12;
  runRanks(over("tcp", kRanks), [&](goss_comm_t comm, int rank) {
    std::array<int32_t, kRanks> out{};
    std::array<int32_t, kRanks> in{};
    for (int peer = 0; peer < kRanks; ++peer)
      out[static_cast<std::size_t>(peer)] = 100 * rank + peer;
    EXPECT_OK(goss_all_to_all(comm, out.data(), in.data(), 1, GOSS_INT32, nullptr, nullptr));
    for (int peer = 0; peer < kRanks; ++peer)
      EXPECT_EQ(in[static_cast<std::size_t>(peer)], 100 * peer + rank);
  });
}

} // namespace
} // namespace goss::test
