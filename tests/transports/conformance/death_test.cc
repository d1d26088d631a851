// Processes that are killed or stopped.
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "tests/transports/conformance/suite.h"

namespace goss::tests {
namespace {

GOSS_TRANSPORT_SUITE(TransportProcesses, processTransports());

using Pids = std::vector<pid_t>;

void expectKilled(Node& node, int peer, std::chrono::steady_clock::time_point killed_at) {
  ASSERT_TRUE(node.until([&] { return !node.losses.empty(); }, std::chrono::seconds(5)));
  EXPECT_LT(std::chrono::steady_clock::now() - killed_at, std::chrono::seconds(3));
  EXPECT_EQ(node.losses[0].peer, peer);
  EXPECT_EQ(node.losses[0].how, PeerLoss::ended) << "its own host says so";
  EXPECT_EQ(node.losses[0].status.kind(), GOSS_ERR_PEER_LOST);
}

TEST_P(TransportProcesses, ExchangeMessages) {
  runProcesses(GetParam(), 4, [](Node& node, const Pids&) {
    for (std::size_t size : {0u, 100u, 70000u, 4000000u}) {
      std::vector<std::unique_ptr<TestRecv>> recvs;
      std::vector<std::unique_ptr<TestSend>> sends;
      for (int peer = 0; peer < 4; ++peer) {
        if (peer == node.rank()) continue;
        recvs.push_back(std::make_unique<TestRecv>(node, peer, 1, size, TestRecv::Kind::views));
        sends.push_back(
            std::make_unique<TestSend>(node, peer, 1, pattern(size, static_cast<std::uint64_t>(node.rank()))));
        recvs.back()->post();
        sends.back()->post();
      }
      for (auto& op : recvs)
        expectMessage(node, *op, size, static_cast<std::uint64_t>(op->peer));
      for (auto& op : sends)
        ASSERT_TRUE(node.until([&] { return op->done(); }));
    }
    node.barrier();
  });
}

TEST_P(TransportProcesses, AKilledPeerIsReportedAndItsOperationsFailOnce) {
  runProcesses(GetParam(), 3,
               [](Node& node, const Pids& pids) {
                 if (node.rank() == 2) {
                   node.barrier();
                   node.driveFor(std::chrono::seconds(10));
                   return;
                 }
                 TestRecv recv(node, 2, 1, 100);
                 recv.post();
                 ASSERT_TRUE(node.barrier());
                 if (node.rank() == 0) ::kill(pids[2], SIGKILL);
                 expectKilled(node, 2, std::chrono::steady_clock::now());
                 ASSERT_TRUE(node.until([&] { return recv.done(); }));
                 EXPECT_EQ(recv.status.peer(), 2);
                 EXPECT_NE(recv.status.text().find("rank 2"), std::string::npos);
                 TestSend send(node, 2, 1, pattern(10, 1));
                 send.post();
                 ASSERT_TRUE(node.until([&] { return send.done(); }));
                 EXPECT_EQ(send.status.kind(), GOSS_ERR_PEER_LOST);
                 // The survivors still talk.
                 int other = 1 - node.rank();
                 TestRecv in(node, other, 2, 1000);
                 in.post();
                 sendMessage(node, other, 2, 1000, 5);
                 expectMessage(node, in, 1000, 5);
                 EXPECT_EQ(recv.completions, 1);
                 // Stay until the other survivor is here too.
                 TestRecv last(node, other, 3, 0);
                 last.post();
                 sendMessage(node, other, 3, 0, 0);
                 ASSERT_TRUE(node.until([&] { return last.done(); }));
               },
               {2});
}

TEST_P(TransportProcesses, APeerKilledInTheMiddleOfTrafficInBothDirections) {
  const int rounds = fullOr(5, 3);
  const std::size_t bytes = fullOr(32u << 20, 8u << 20);
  for (int round = 0; round < rounds; ++round) {
    runProcesses(GetParam(), 2,
                 [round, bytes](Node& node, const Pids& pids) {
                   int other = 1 - node.rank();
                   TestRecv in(node, other, 1, bytes, round % 2 ? TestRecv::Kind::views : TestRecv::Kind::scatter);
                   TestSend out(node, other, 1, Bytes(bytes));
                   in.post();
                   out.post();
                   if (node.rank() == 1) {
                     node.driveFor(std::chrono::seconds(10));
                     return;
                   }
                   node.driveFor(std::chrono::milliseconds(round));
                   ::kill(pids[1], SIGKILL);
                   expectKilled(node, 1, std::chrono::steady_clock::now());
                   ASSERT_TRUE(node.until([&] { return in.done() && out.done(); }));
                   EXPECT_EQ(in.completions, 1);
                   EXPECT_EQ(out.completions, 1);
                 },
                 {1});
  }
}

TEST_P(TransportProcesses, AnAbandonedPeerIsLostAtBothEnds) {
  runProcesses(GetParam(), 2, [](Node& node, const Pids&) {
    const int other = 1 - node.rank();
    TestRecv recv(node, other, 1, 100);
    recv.post();
    ASSERT_TRUE(node.barrier());
    if (node.rank() == 0)
      node.transport().abandon(other, Status::error(GOSS_ERR_TIMEOUT, "it is silent", ErrorScope::peer, other));
    ASSERT_TRUE(node.until([&] { return recv.done() && !node.losses.empty(); }, std::chrono::seconds(5)));
    EXPECT_EQ(recv.status.kind(), node.rank() == 0 ? GOSS_ERR_TIMEOUT : GOSS_ERR_PEER_LOST);
    EXPECT_EQ(node.losses[0].how, PeerLoss::silent) << "it lives";
    node.barrier();
  });
}

// TestRecv sees to it that nothing calls back but progress().
TEST_P(TransportProcesses, APeerAbandonedInTheMiddleOfAMessageIsHeardInProgressAlone) {
  runProcesses(GetParam(), 2, [](Node& node, const Pids&) {
    const std::size_t bytes = fullOr(16u << 20, 8u << 20);
    if (node.rank() == 1) {
      TestSend send(node, 0, 1, Bytes(bytes));
      send.post();
      ASSERT_TRUE(node.until([&] { return send.done() && !node.losses.empty(); }));
      node.barrier();
      return;
    }
    TestRecv recv(node, 1, 1, bytes, TestRecv::Kind::views);
    bool begun = false;
    recv.on_data = [&] { begun = true; };
    recv.post();
    ASSERT_TRUE(node.until([&] { return begun; }));
    const bool whole = recv.done();
    std::this_thread::sleep_for(std::chrono::milliseconds(5)); // More of it lies there unread.
    node.transport().abandon(1, Status::error(GOSS_ERR_TIMEOUT, "it is silent", ErrorScope::peer, 1));
    ASSERT_TRUE(node.until([&] { return recv.done() && !node.losses.empty(); }, std::chrono::seconds(5)));
    EXPECT_EQ(recv.status.kind(), whole ? GOSS_SUCCESS : GOSS_ERR_TIMEOUT);
    node.barrier();
  });
}

TEST_P(TransportProcesses, AKilledPeerIsReportedThoughItsMessagesAreHeldBack) {
  Config config;
  config.unexpected_bytes = 64 * 1024;
  runProcesses(
      GetParam(), 2,
      [](Node& node, const Pids& pids) {
        TestSend out(node, 1 - node.rank(), 1, Bytes(8u << 20));
        if (node.rank() == 1) out.post();
        node.driveFor(std::chrono::milliseconds(50));
        ASSERT_TRUE(node.barrier());
        if (node.rank() == 1) {
          node.driveFor(std::chrono::seconds(10));
          return;
        }
        ::kill(pids[1], SIGKILL);
        expectKilled(node, 1, std::chrono::steady_clock::now());
      },
      {1}, config);
}

TEST_P(TransportProcesses, AStoppedPeerKeepsOperationsPendingUntilItGoesOn) {
  runProcesses(GetParam(), 2, [](Node& node, const Pids& pids) {
    if (node.rank() == 1) {
      node.barrier();
      recvMessage(node, 0, 1, 8u << 20, 1);
      sendMessage(node, 0, 2, 100, 2);
      node.barrier();
      return;
    }
    ASSERT_TRUE(node.barrier());
    ::kill(pids[1], SIGSTOP);
    {
      TestSend out(node, 1, 1, pattern(8u << 20, 1));
      TestRecv in(node, 1, 2, 100);
      in.post();
      out.post();
      node.driveFor(std::chrono::milliseconds(100));
      EXPECT_FALSE(in.done());
      EXPECT_TRUE(node.losses.empty());
      ::kill(pids[1], SIGCONT);
      expectMessage(node, in, 100, 2);
      ASSERT_TRUE(node.until([&] { return out.done(); }));
    }
    node.barrier();
  });
}

} // namespace
} // namespace goss::tests
