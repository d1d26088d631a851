// Links that are made at their first use: by either end, by both at once, to peers that have ended or do not answer.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/transports/tcp/world.h"
#ifdef GOSS_TEST_TLS
#include "security/security.h"
#include "tests/support/credential_files.h"
#endif

namespace goss::test {
namespace {

using std::chrono::milliseconds;

void prepareAll(World& world, int ranks) {
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      ASSERT_TRUE(world.transport(from).prepare(to, world[to].address).isOk());
    }
  }
}

int countLinks(World& world, int rank, int ranks, LinkState state) {
  int count = 0;
  for (int peer = 0; peer < ranks; ++peer)
    if (peer != rank && world.transport(rank).link(peer) == state) ++count;
  return count;
}

TEST(TcpOnDemand, ARingMakesTwoLinksARank) {
  constexpr int kRanks = 12;
  World world(kRanks, kRanks);
  prepareAll(world, kRanks);
  world.driveFor(milliseconds(20));
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(countLinks(world, rank, kRanks, LinkState::idle), kRanks - 1);
    EXPECT_TRUE(world.transport(rank).prepareToSleep()) << "there is nothing to do";
    world.transport(rank).sleepEnded();
  }
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_TRUE(world.exchange(rank, (rank + 1) % kRanks, 100000)) << rank;
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(countLinks(world, rank, kRanks, LinkState::ready), 2) << rank;
    EXPECT_EQ(countLinks(world, rank, kRanks, LinkState::idle), kRanks - 3) << rank;
    EXPECT_TRUE(world[rank].losses.empty());
  }
}

/// Messages between two ranks, some of which are posted before their link is ready.
struct Talk {
  Talk(World& with, int one, int other, int count, std::size_t bytes) : world(with) {
    for (int i = 0; i < count; ++i) {
      add(one, other, bytes + static_cast<std::size_t>(i));
      add(other, one, bytes + static_cast<std::size_t>(i));
    }
  }
  void add(int from, int to, std::size_t bytes) {
    recvs.push_back(std::make_unique<Recv>(from, 5, bytes));
    world.transport(to).recv(*recvs.back());
    sends.push_back(std::make_unique<Send>(to, 5, bytes));
    if (world.transport(from).send(*sends.back())) sends.back()->done = true;
  }
  bool ends() {
    return world.until([&] {
      for (std::size_t i = 0; i < sends.size(); ++i)
        if (!sends[i]->done || !recvs[i]->done) return false;
      return true;
    });
  }
  /// In the order in which they were sent.
  void expectRight() {
    for (std::size_t i = 0; i < sends.size(); ++i) {
      EXPECT_TRUE(sends[i]->status.isOk()) << sends[i]->status.text();
      EXPECT_TRUE(recvs[i]->status.isOk()) << recvs[i]->status.text();
      EXPECT_EQ(recvs[i]->contents(), sends[i]->contents());
    }
  }
  World& world;
  std::vector<std::unique_ptr<Send>> sends;
  std::vector<std::unique_ptr<Recv>> recvs;
};

/// Every rank talks with every other; in each pair one end, or the other, is ahead of its peer by some turns.
void talkAtOnce(World& world, int ranks, int round) {
  prepareAll(world, ranks);
  std::vector<std::unique_ptr<Talk>> talks;
  for (int one = 0; one < ranks; ++one) {
    for (int other = one + 1; other < ranks; ++other) {
      talks.push_back(std::make_unique<Talk>(world, one, other, 3, round % 2 == 0 ? 100 : 300000));
      for (int i = 0; i < round % 5; ++i)
        world.transport((one + other + round) % 2 == 0 ? one : other).progress();
    }
  }
  for (auto& talk : talks) {
    ASSERT_TRUE(talk->ends()) << "round " << round;
    talk->expectRight();
  }
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(countLinks(world, rank, ranks, LinkState::ready), ranks - 1);
    EXPECT_TRUE(world[rank].losses.empty());
  }
}

TEST(TcpOnDemand, BothEndsMayCallAtOnce) {
  constexpr int kRanks = 6;
  for (int round = 0; round < 12; ++round) {
    World world(kRanks, kRanks, [&](Config& config) {
      config.connections_per_peer = round % 3 == 2 ? 2 : 1;
      config.reconnect = round % 4 == 3 ? "on" : "auto";
    });
    talkAtOnce(world, kRanks, round);
  }
}

#ifdef GOSS_TEST_TLS
TEST(TcpOnDemand, BothEndsMayCallAtOnceOverTls) {
  CredentialFiles files;
  for (int round = 0; round < 3; ++round) {
    World world(
        3, 3, [&](Config& config) { config.tls = files.certificates(); },
        [](const Config& config) { return [&config] { return security::openSecurity(config); }; });
    talkAtOnce(world, 3, round);
  }
}
#endif

TEST(TcpOnDemand, APeerThatHasEndedIsNamedWithoutAPause) {
  for (const int sender : {0, 2}) {
    World world(3, 3);
    prepareAll(world, 3);
    world.transport(1).progress();
    world[1].transport.reset();
    Recv recv(1, 5, 10);
    world.transport(sender).recv(recv);
    Send send(1, 5, 10);
    EXPECT_FALSE(world.transport(sender).send(send));
    EXPECT_FALSE(send.done) << "a callback outside of progress()";
    EXPECT_TRUE(world.until([&] { return send.done && recv.done; }, milliseconds(1000)));
    EXPECT_EQ(send.status.kind(), GOSS_ERR_PEER_LOST);
    EXPECT_EQ(send.status.peer(), 1);
    EXPECT_NE(send.status.text().find("rank 1"), std::string::npos) << send.status.text();
    EXPECT_EQ(recv.status.kind(), GOSS_ERR_PEER_LOST);
    ASSERT_EQ(world[sender].losses.size(), 1u);
    EXPECT_EQ(world[sender].losses[0].peer, 1);
    EXPECT_EQ(world[sender].losses[0].how, PeerLoss::absent);
    Send later(1, 5, 10);
    EXPECT_FALSE(world.transport(sender).send(later));
    EXPECT_TRUE(world.until([&] { return later.done; }, milliseconds(1000)));
    EXPECT_TRUE(world.exchange(sender, 2 - sender, 1000)) << "others go on";
    EXPECT_EQ(world[sender].losses.size(), 1u);
  }
}

/// The operation's own deadline, and GOSS_SILENCE_MS, say how long such a rank is waited for.
TEST(TcpOnDemand, APeerThatIsBusyIsWaitedForBeyondTheDeadline) {
  World world(3, 3, [](Config& config) { config.bootstrap_timeout_ms = 150; });
  prepareAll(world, 3);
  for (const int sender : {0, 2}) {
    Recv recv(sender, 5, 10);
    world.transport(1).recv(recv);
    Send send(1, 5, 10);
    EXPECT_FALSE(world.transport(sender).send(send));
    const platform::Deadline pause = platform::Deadline::after(milliseconds(700));
    while (!pause.expired())
      world.transport(sender).progress(); // Rank 1 does not.
    EXPECT_FALSE(send.done);
    ASSERT_TRUE(world.until([&] { return send.done && recv.done; }));
    EXPECT_TRUE(send.status.isOk()) << send.status.text();
    EXPECT_EQ(recv.contents(), send.contents());
    EXPECT_TRUE(world[sender].losses.empty());
    EXPECT_TRUE(world[1].losses.empty());
  }
}

/// Rank 0 finds rank 1 at the address of rank 2.
void expectAnotherProcessIsNamed(World& world, const std::string& address, const std::string& reason) {
  ASSERT_TRUE(world.transport(0).prepare(2, address).isOk());
  Send send(2, 5, 10);
  EXPECT_FALSE(world.transport(0).send(send));
  ASSERT_TRUE(world.until([&] { return send.done && !world[0].losses.empty(); }));
  EXPECT_EQ(send.status.kind(), GOSS_ERR_PEER_LOST);
  EXPECT_NE(send.status.text().find("cannot reach rank 2"), std::string::npos) << send.status.text();
  EXPECT_NE(send.status.text().find(reason), std::string::npos) << send.status.text();
  EXPECT_EQ(world[0].losses.size(), 1u);
  EXPECT_EQ(world[0].losses[0].how, PeerLoss::silent) << "nothing shows that its process has ended";
}

TEST(TcpOnDemand, AnotherProcessAtThePeersAddressIsNamedAtTheDeadline) {
  World world(3, 2, [](Config& config) {
    config.bootstrap_timeout_ms = 300;
    config.log_level = "off";
  });
  expectAnotherProcessIsNamed(world, world[1].address, "this is rank 1 of 3");
}

#ifdef GOSS_TEST_TLS
TEST(TcpOnDemand, AProcessWithAnotherCertificateIsNamedAtTheDeadline) {
  CredentialFiles files;
  World world(
      3, 3,
      [&](Config& config) {
        config.tls = files.certificates();
        config.bootstrap_timeout_ms = 300;
        config.log_level = "off";
      },
      [](const Config& config) { return [&config] { return security::openSecurity(config); }; });
  std::string address = world[1].address;
  address[0] = static_cast<char>(address[0] ^ 1); // The identity of another.
  expectAnotherProcessIsNamed(world, address, "another process answers there");
}
#endif

TEST(TcpOnDemand, AKeptMessageCanBeCancelled) {
  World world(2, 2);
  prepareAll(world, 2);
  Send first(1, 5, 10);
  Send second(1, 5, 20);
  EXPECT_FALSE(world.transport(0).send(first));
  EXPECT_FALSE(world.transport(0).send(second));
  world.transport(0).cancel(first);
  Recv recv(0, 5, 20);
  world.transport(1).recv(recv);
  EXPECT_TRUE(world.until([&] { return recv.done && second.done; }));
  EXPECT_TRUE(recv.status.isOk());
  EXPECT_EQ(recv.contents(), second.contents());
  EXPECT_FALSE(first.done);
}

/// Gives the peer up before there is a link; the peer then hears of it, whichever of them calls.
TEST(TcpOnDemand, APeerThatWasGivenUpHearsOfIt) {
  for (const int gone : {0, 1}) {
    World world(2, 2);
    prepareAll(world, 2);
    const int other = 1 - gone;
    Recv waits(gone, 5, 10);
    world.transport(other).recv(waits);
    Recv pending(other, 5, 10);
    world.transport(gone).recv(pending);
    world.transport(gone).abandon(other, Status::error(GOSS_ERR_TIMEOUT, "silent", ErrorScope::peer, other));
    EXPECT_FALSE(pending.done) << "a callback outside of progress()";
    EXPECT_TRUE(world.until([&] { return pending.done && world[gone].losses.size() == 1; }));
    EXPECT_EQ(world[gone].losses[0].how, PeerLoss::silent);
    EXPECT_TRUE(world[other].losses.empty());
    Send send(gone, 5, 10);
    if (world.transport(other).send(send)) send.done = true;
    EXPECT_TRUE(world.until([&] { return waits.done && world[other].losses.size() == 1; }, milliseconds(5000)));
    EXPECT_EQ(world[other].losses[0].how, PeerLoss::silent) << "it lives";
  }
}

TEST(TcpOnDemand, ARankThatLeavesWhileItIsCalledHoldsNobodyUp) {
  for (int round = 0; round < 24; ++round) {
    const int turns = round / 2;
    World world(2, 2, [round](Config& config) { config.connections_per_peer = 1 + round % 2; });
    prepareAll(world, 2);
    Send send(1, 5, 100);
    EXPECT_FALSE(world.transport(0).send(send));
    for (int i = 0; i < turns; ++i) {
      world.transport(0).progress();
      if (i % 2 == 1) world.transport(1).progress();
    }
    world[1].transport.reset();
    EXPECT_TRUE(world.until([&] { return send.done && world[0].losses.size() == 1; }, milliseconds(5000))) << round;
    EXPECT_NE(world[0].losses[0].how, PeerLoss::silent) << round << ": " << world[0].losses[0].status.text();
  }
}

} // namespace
} // namespace goss::test
