// Both ends of every pair call at the same time: one of the calls becomes the link, the same one at both ends.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/transports/tcp/world.h"

namespace goss::test {
namespace {

/// Sockets of this process that are connected to something else.
std::size_t connectedSockets() {
  std::size_t count = 0;
  for (int fd = 0; fd < 2048; ++fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
    if (address.ss_family == AF_INET || address.ss_family == AF_INET6) ++count;
  }
  return count;
}

/// Tries all orders: which rank starts first, and how soon the lower rank calls.
bool connectInOrder(World& world, int ranks, int round) {
  for (int i = 0; i < ranks * ranks; ++i) {
    const int mixed = (i * (2 * round + 1) + round) % (ranks * ranks);
    const int from = mixed / ranks;
    const int to = mixed % ranks;
    if (from != to && !world.transport(from).connect(to, world[to].address).isOk()) return false;
    if (round % 3 == 2) world.transport(to).progress();
  }
  return world.until([&] {
    for (int from = 0; from < ranks; ++from)
      for (int to = 0; to < ranks; ++to)
        if (from != to && world.transport(from).link(to) != LinkState::ready) return false;
    return true;
  });
}

TEST(TcpStart, CallsFromBothSidesBecomeOneLink) {
  constexpr int kRanks = 8;
  constexpr int kRounds = 15;
  const std::size_t before = connectedSockets();
  for (int round = 0; round < kRounds; ++round) {
    const int payload = round % 5 == 4 ? 2 : 1;
    World world(kRanks, kRanks, [payload](Config& config) { config.connections_per_peer = payload; });
    world.setPatience({std::chrono::milliseconds(0), std::chrono::milliseconds(60000)});
    ASSERT_TRUE(connectInOrder(world, kRanks, round)) << round;
    const std::size_t each = payload == 1 ? 1 : 1 + static_cast<std::size_t>(payload);
    const std::size_t expected = before + kRanks * (kRanks - 1) * each;
    EXPECT_TRUE(world.until([&] { return connectedSockets() == expected; }))
        << connectedSockets() << " instead of " << expected << " in round " << round;
    for (int rank = 0; rank < kRanks; ++rank) {
      const int next = (rank + 1 + round % (kRanks - 1)) % kRanks;
      EXPECT_TRUE(world.exchange(rank, next, 1000)) << rank << " to " << next << " in round " << round;
      EXPECT_TRUE(world[rank].losses.empty());
    }
  }
}

/// Connects `rank` with all others, which connect too if `both`.
void connectToAll(World& world, int rank, int ranks, bool both) {
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    EXPECT_TRUE(world.transport(rank).connect(peer, world[peer].address).isOk());
    if (both) EXPECT_TRUE(world.transport(peer).connect(rank, world[rank].address).isOk());
  }
}

bool hasLinks(World& world, int rank, int ranks) {
  for (int peer = 0; peer < ranks; ++peer)
    if (peer != rank && world.transport(rank).link(peer) != LinkState::ready) return false;
  return true;
}

TEST(TcpStart, AFewPeersAreCalledAtATime) {
  constexpr int kRanks = 41;
  constexpr int kCaller = kRanks - 1;
  const std::size_t before = connectedSockets();
  World world(kRanks, kRanks);
  connectToAll(world, kCaller, kRanks, false);
  EXPECT_EQ(connectedSockets() - before, 16u); // Nobody has answered yet.
  EXPECT_TRUE(world.until([&] { return hasLinks(world, kCaller, kRanks); }));
  EXPECT_TRUE(world.exchange(kCaller, 0, 1000));
}

TEST(TcpStart, PeersThatDoNotAnswerMakeWayForOthers) {
  constexpr int kRanks = 41;
  constexpr int kCaller = kRanks - 1;
  const std::size_t before = connectedSockets();
  World world(kRanks, kRanks);
  connectToAll(world, kCaller, kRanks, false);
  const platform::Deadline deadline = platform::Deadline::after(kLong);
  while (connectedSockets() - before < kRanks - 1 && !deadline.expired())
    world.transport(kCaller).progress(); // The others do not.
  EXPECT_EQ(connectedSockets() - before, kRanks - 1u);
  EXPECT_TRUE(world.until([&] { return hasLinks(world, kCaller, kRanks); }));
}

// The lower rank of each pair calls too, also a rank that has not yet had its turn at the higher one.
TEST(TcpStart, ACallFromAPeerThatWaitsToBeCalledBecomesTheLink) {
  constexpr int kRanks = 41;
  constexpr int kCaller = kRanks - 1;
  World world(kRanks, kRanks);
  world.setPatience({std::chrono::milliseconds(0), std::chrono::milliseconds(60000)});
  connectToAll(world, kCaller, kRanks, true);
  EXPECT_TRUE(world.until([&] {
    for (int peer = 0; peer < kCaller; ++peer)
      if (world.transport(peer).link(kCaller) != LinkState::ready) return false;
    return hasLinks(world, kCaller, kRanks);
  }));
  for (const int peer : {0, 20, 39})
    EXPECT_TRUE(world.exchange(kCaller, peer, 1000)) << peer;
}

} // namespace
} // namespace goss::test
