// Bytes arrive whole and unchanged, whatever their number, cut and direction.
#include <memory>

#include "tests/transports/conformance/suite.h"

namespace goss::tests {
namespace {

GOSS_TRANSPORT_SUITE(TransportMessages, allTransports());

constexpr std::size_t kSizes[] = {0,    1,    2,     7,     8,     63,     64,     65,     127,     1000,
                                  4096, 4097, 16383, 65536, 65537, 100001, 262144, 262145, 1048576, 3000001};

TEST_P(TransportMessages, OfEverySizeIntoPostedReceives) {
  runThreads(GetParam(), 2, [](Node& node) {
    for (std::size_t size : kSizes) {
      if (node.rank() == 0) {
        sendMessage(node, 1, 7, size, size);
      } else {
        recvMessage(node, 0, 7, size, size);
      }
    }
  });
}

TEST_P(TransportMessages, OfEverySizeAsViews) {
  runThreads(GetParam(), 2, [](Node& node) {
    for (std::size_t size : kSizes) {
      if (node.rank() == 0) {
        sendMessage(node, 1, 7, size, size);
      } else {
        TestRecv op(node, 0, 7, size, TestRecv::Kind::views);
        op.post();
        expectMessage(node, op, size, size);
      }
    }
  });
}

TEST_P(TransportMessages, UnexpectedOnesWaitForTheirReceive) {
  runThreads(GetParam(), 2, [](Node& node) {
    for (TestRecv::Kind kind : {TestRecv::Kind::scatter, TestRecv::Kind::views}) {
      std::vector<std::unique_ptr<TestSend>> sends;
      if (node.rank() == 0) {
        for (std::size_t size : kSizes)
          sends.push_back(std::make_unique<TestSend>(node, 1, 7, pattern(size, size)));
        for (auto& op : sends)
          op->post();
        node.driveFor(std::chrono::milliseconds(10));
      }
      if (node.rank() == 1) {
        node.driveFor(std::chrono::milliseconds(10));
        for (std::size_t size : kSizes) {
          TestRecv op(node, 0, 7, size + 10, kind);
          op.post();
          expectMessage(node, op, size, size);
        }
      }
      for (auto& op : sends)
        ASSERT_TRUE(node.until([&] { return op->done(); }));
      ASSERT_TRUE(node.barrier());
    }
  });
}

TEST_P(TransportMessages, LongOnesInBothDirectionsAtOnce) {
  const std::size_t bytes = fullOr(64u << 20, 8u << 20);
  runThreads(GetParam(), 2, [bytes](Node& node) {
    int other = 1 - node.rank();
    TestRecv in(node, other, 1, bytes, node.rank() == 0 ? TestRecv::Kind::scatter : TestRecv::Kind::views);
    TestSend out(node, other, 1, pattern(bytes, static_cast<std::uint64_t>(node.rank())));
    in.post();
    out.post();
    ASSERT_TRUE(node.until([&] { return out.done() && in.done(); }, std::chrono::seconds(60)));
    ASSERT_TRUE(out.status.isOk());
    expectMessage(node, in, bytes, static_cast<std::uint64_t>(other));
  });
}

TEST_P(TransportMessages, GatheredAndScatteredByUnevenLists) {
  const std::vector<std::vector<std::size_t>> cuts = {
      {}, {0}, {1, 0, 63}, {64, 1}, {5000, 3, 0, 7}, {1, 1, 1, 1, 9000}};
  runThreads(GetParam(), 2, [&](Node& node) {
    std::uint64_t seed = 0;
    for (std::size_t size : {10000u, 200000u}) {
      for (const auto& out_cuts : cuts) {
        for (const auto& in_cuts : cuts) {
          ++seed;
          if (node.rank() == 0) {
            TestSend op(node, 1, 3, pattern(size, seed), out_cuts);
            op.post();
            ASSERT_TRUE(node.until([&] { return op.done(); }));
          } else {
            TestRecv op(node, 0, 3, size, TestRecv::Kind::scatter, in_cuts);
            op.post();
            expectMessage(node, op, size, seed);
          }
        }
      }
    }
  });
}

TEST_P(TransportMessages, CarryTheirEnvelope) {
  runThreads(GetParam(), 2, [](Node& node) {
    Envelope envelope;
    for (std::size_t i = 0; i < envelope.size(); ++i)
      envelope[i] = static_cast<std::byte>(200 + i);
    if (node.rank() == 0) {
      TestSend op(node, 1, ~Tag{0}, {});
      op.envelope = envelope;
      op.post();
      ASSERT_TRUE(node.until([&] { return op.done(); }));
    } else {
      TestRecv op(node, 0, ~Tag{0}, 0);
      op.post();
      expectMessage(node, op, 0, 0);
      EXPECT_EQ(op.envelope, envelope);
    }
  });
}

TEST_P(TransportMessages, BetweenAllPairsOfFiveRanks) {
  constexpr int kRounds = 20;
  runThreads(GetParam(), 5, [](Node& node) {
    auto seedOf = [](int from, int to, int round) {
      return static_cast<std::uint64_t>((from * 8 + to) * 1000 + round);
    };
    auto sizeOf = [](std::uint64_t seed) { return static_cast<std::size_t>(seed * 7919 % 30011); };
    std::vector<std::unique_ptr<TestSend>> sends;
    std::vector<std::unique_ptr<TestRecv>> recvs;
    for (int round = 0; round < kRounds; ++round) {
      for (int shift = 1; shift < node.ranks(); ++shift) {
        int to = (node.rank() + shift) % node.ranks();
        int from = (node.rank() + node.ranks() - shift) % node.ranks();
        std::uint64_t out = seedOf(node.rank(), to, round);
        std::uint64_t in = seedOf(from, node.rank(), round);
        auto kind = round % 2 ? TestRecv::Kind::views : TestRecv::Kind::scatter;
        sends.push_back(std::make_unique<TestSend>(node, to, 5, pattern(sizeOf(out), out)));
        sends.back()->post();
        recvs.push_back(std::make_unique<TestRecv>(node, from, 5, sizeOf(in), kind));
        recvs.back()->post();
      }
    }
    std::size_t at = 0;
    for (int round = 0; round < kRounds; ++round) {
      for (int shift = 1; shift < node.ranks(); ++shift, ++at) {
        int from = (node.rank() + node.ranks() - shift) % node.ranks();
        std::uint64_t in = seedOf(from, node.rank(), round);
        expectMessage(node, *recvs[at], sizeOf(in), in);
      }
    }
    for (auto& op : sends)
      ASSERT_TRUE(node.until([&] { return op->done(); }));
  });
}

TEST_P(TransportMessages, AreCounted) {
  runThreads(GetParam(), 2, [](Node& node) {
    int other = 1 - node.rank();
    for (std::size_t size : {0u, 10u, 100000u}) {
      TestRecv in(node, other, 1, size);
      in.post();
      sendMessage(node, other, 1, size, 1);
      expectMessage(node, in, size, 1);
    }
    PeerStatistics counted = node.transport().statistics(other);
    EXPECT_EQ(counted.messages_sent, 3u);
    EXPECT_EQ(counted.messages_received, 3u);
    EXPECT_EQ(counted.bytes_sent, 100010u);
    EXPECT_EQ(counted.bytes_received, 100010u);
  });
}

} // namespace
} // namespace goss::tests
