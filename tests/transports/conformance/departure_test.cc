// A peer that says goodbye, and what is left of it.
#include <memory>

#include "tests/transports/conformance/suite.h"

namespace goss::tests {
namespace {

GOSS_TRANSPORT_SUITE(TransportDeparture, allTransports());

/// More than connections that can be resumed keep by themselves; less is enough to see that a receiver has to ask for
/// it.
const std::size_t kHuge = fullOr(80u << 20, 12u << 20);

void expectNamed(const Status& status, int peer) {
  EXPECT_EQ(status.kind(), GOSS_ERR_PEER_LOST) << status.text();
  EXPECT_EQ(status.peer(), peer);
  EXPECT_NE(status.text().find("rank " + std::to_string(peer)), std::string::npos) << status.text();
}

TEST_P(TransportDeparture, IsReportedOnceAndFailsWhatIsPending) {
  runThreads(GetParam(), 3, [](Node& node) {
    if (node.rank() == 2) {
      recvMessage(node, 0, 1, 10, 1);
      node.close();
      return;
    }
    TestRecv pending(node, 2, 9, 100);
    pending.post();
    if (node.rank() == 0) sendMessage(node, 2, 1, 10, 1);
    ASSERT_TRUE(node.until([&] { return !node.losses.empty() && pending.done(); }));
    EXPECT_EQ(node.losses[0].peer, 2);
    EXPECT_EQ(node.losses[0].how, PeerLoss::departed);
    expectNamed(pending.status, 2);
    EXPECT_EQ(node.transport().link(2), LinkState::failed);
    expectNamed(node.transport().linkError(2), 2);

    TestRecv late_recv(node, 2, 9, 100);
    late_recv.post();
    TestSend late_send(node, 2, 9, pattern(100, 1));
    late_send.post();
    ASSERT_TRUE(node.until([&] { return late_recv.done() && late_send.done(); }));
    expectNamed(late_recv.status, 2);
    expectNamed(late_send.status, 2);

    // The other links go on.
    int other = 1 - node.rank();
    TestRecv in(node, other, 2, 50000);
    in.post();
    sendMessage(node, other, 2, 50000, 8);
    expectMessage(node, in, 50000, 8);
    EXPECT_EQ(node.losses.size(), 1u);
  });
}

TEST_P(TransportDeparture, ComesAfterAllMessagesWhoseSendCompleted) {
  runThreads(GetParam(), 2, [](Node& node) {
    if (node.rank() == 0) {
      for (int i = 0; i < 50; ++i) {
        TestSend op(node, 1, 1, pattern(2000, static_cast<std::uint64_t>(i)));
        op.post();
        ASSERT_TRUE(node.until([&] { return op.done(); }));
      }
      node.close();
      return;
    }
    node.driveFor(std::chrono::milliseconds(20));
    for (int i = 0; i < 50; ++i)
      recvMessage(node, 0, 1, 2000, static_cast<std::uint64_t>(i));
    TestRecv nothing(node, 0, 1, 10);
    nothing.post();
    ASSERT_TRUE(node.until([&] { return nothing.done(); }));
    expectNamed(nothing.status, 0);
    ASSERT_EQ(node.losses.size(), 1u);
    EXPECT_EQ(node.losses[0].how, PeerLoss::departed);
  });
}

TEST_P(TransportDeparture, OfAllRanksAtOnceEndsCleanly) {
  for (int round = 0; round < 5; ++round) {
    runThreads(GetParam(), 4, [](Node& node) {
      int to = (node.rank() + 1) % 4;
      int from = (node.rank() + 3) % 4;
      TestRecv in(node, from, 1, 100);
      in.post();
      sendMessage(node, to, 1, 100, 1);
      expectMessage(node, in, 100, 1);
      node.close();
    });
  }
}

TEST_P(TransportDeparture, FailsASendThatItsReceiverNeverTook) {
  Config config;
  config.unexpected_bytes = 64 * 1024;
  runThreads(
      GetParam(), 2,
      [](Node& node) {
        if (node.rank() == 1) {
          node.driveFor(std::chrono::milliseconds(20));
          node.close();
          return;
        }
        TestSend op(node, 1, 1, Bytes(kHuge));
        op.post();
        ASSERT_TRUE(node.until([&] { return op.done() && !node.losses.empty(); }));
        expectNamed(op.status, 1);
      },
      config);
}

TEST_P(TransportDeparture, PendingSendsMayBeCancelledBeforeIt) {
  Config config;
  config.unexpected_bytes = 64 * 1024;
  runThreads(
      GetParam(), 2,
      [](Node& node) {
        if (node.rank() == 0) {
          auto op = std::make_unique<TestSend>(node, 1, 1, Bytes(kHuge));
          op->post();
          node.driveFor(std::chrono::milliseconds(5));
          EXPECT_FALSE(op->done());
          op.reset(); // Cancels, frees the bytes.
          node.driveFor(std::chrono::milliseconds(5));
          node.close();
        } else {
          ASSERT_TRUE(node.until([&] { return !node.losses.empty(); }));
        }
      },
      config);
}

} // namespace
} // namespace goss::tests
