// Messages that wait for their receives hold up nothing else, however many and long they are.
#include <memory>
#include <vector>

#include "tests/transports/conformance/suite.h"

namespace goss::tests {
namespace {

GOSS_TRANSPORT_SUITE(TransportFlow, allTransports());

/// More than is sent before there is a receive.
const std::size_t kHuge = fullOr(24u << 20, 6u << 20);

/// The tag of a communicator's messages.
constexpr Tag flow(Tag communicator, Tag tag) { return communicator << 48 | tag; }

Config smallConfig() {
  Config config;
  config.unexpected_bytes = 1u << 20;
  config.shm_ring_bytes = 64 * 1024;
  return config;
}

/// Sends that wait for their receives.
class Sends {
 public:
  explicit Sends(Node& node, int to = 1) : node_(node), to_(to) {}
  void post(Tag tag, std::size_t size, std::uint64_t seed) {
    all_.push_back(std::make_unique<TestSend>(node_, to_, tag, pattern(size, seed)));
    all_.back()->post();
  }
  void expectDone() {
    for (auto& send : all_) {
      ASSERT_TRUE(node_.until([&] { return send->done(); }));
      EXPECT_TRUE(send->status.isOk()) << send->status.text();
    }
  }

 private:
  Node& node_;
  const int to_;
  std::vector<std::unique_ptr<TestSend>> all_;
};

TEST_P(TransportFlow, WhatWaitsForAReceiveHoldsUpNeitherOtherTagsNorCommunicatorsNorUrgentMessages) {
  constexpr std::size_t kLong = 300u << 10;
  const std::uint64_t many = fullOr(40u, 12u);
  constexpr std::uint64_t kShort = 2000;
  runThreads(
      GetParam(), 2,
      [many](Node& node) {
        if (node.rank() == 0) {
          Sends sends(node);
          sends.post(flow(1, 1), kHuge, 1);
          for (std::uint64_t i = 0; i < many; ++i)
            sends.post(flow(1, 2), kLong, i);
          for (std::uint64_t i = 0; i < kShort; ++i)
            sends.post(flow(1, 3), 1000, i);
          sends.post(flow(1, 4), 100, 4);
          sends.post(flow(2, 1), 100000, 5);
          sends.post(kUrgentTag, 24, 6);
          sends.expectDone();
          return;
        }
        recvMessage(node, 0, kUrgentTag, 24, 6);
        recvMessage(node, 0, flow(2, 1), 100000, 5);
        recvMessage(node, 0, flow(1, 4), 100, 4);
        for (std::uint64_t i = 0; i < kShort; ++i)
          recvMessage(node, 0, flow(1, 3), 1000, i);
        for (std::uint64_t i = 0; i < many; ++i)
          recvMessage(node, 0, flow(1, 2), kLong, i);
        recvMessage(node, 0, flow(1, 1), kHuge, 1);
      },
      smallConfig());
}

TEST_P(TransportFlow, BothMaySendWhatIsLongBeforeTheyReceive) {
  runThreads(
      GetParam(), 2,
      [](Node& node) {
        const int other = 1 - node.rank();
        Sends sends(node, other);
        for (std::uint64_t i = 0; i < 3; ++i)
          sends.post(flow(1, i), kHuge, i);
        sends.post(flow(1, 9), 0, 0);
        recvMessage(node, other, flow(1, 9), 0, 0);
        for (std::uint64_t i = 3; i-- > 0;)
          recvMessage(node, other, flow(1, i), kHuge, i);
        sends.expectDone();
      },
      smallConfig());
}

TEST_P(TransportFlow, LateReceivesOfAllKindsGetWhatWaited) {
  runThreads(
      GetParam(), 2,
      [](Node& node) {
        constexpr std::size_t kSizes[] = {0, 1, 63, 4096, 70000, 1u << 20, 5000001};
        if (node.rank() == 0) {
          Sends sends(node);
          for (std::uint64_t round = 0; round < 4; ++round)
            for (const std::size_t size : kSizes)
              sends.post(flow(round, 1), size, size + round);
          ASSERT_TRUE(node.barrier());
          sends.expectDone();
          return;
        }
        ASSERT_TRUE(node.barrier());
        for (std::uint64_t round = 4; round-- > 0;)
          for (const std::size_t size : kSizes) {
            TestRecv recv(node, 0, flow(round, 1), size, round % 2 ? TestRecv::Kind::views : TestRecv::Kind::scatter);
            recv.refuse = round == 3;
            recv.post();
            if (round != 3) {
              expectMessage(node, recv, size, size + round);
              continue;
            }
            ASSERT_TRUE(node.until([&] { return recv.done(); }));
            EXPECT_EQ(recv.status.kind(), GOSS_ERR_MISMATCH);
          }
      },
      smallConfig());
}

/// The receiver keeps a header even of a message of no bytes, so a sender of very many must wait.
TEST_P(TransportFlow, ShortMessagesBeyondTheBoundAreNotCompleteBeforeTheirReceives) {
  const std::uint64_t many = fullOr(20000u, 3000u);
  Config config = smallConfig();
  config.unexpected_bytes = 64 << 10;
  for (const std::size_t size : {0, 8}) {
    runThreads(
        GetParam(), 2,
        [size, many](Node& node) {
          if (node.rank() == 1) {
            ASSERT_TRUE(node.barrier());
            for (std::uint64_t i = 0; i < many; ++i)
              recvMessage(node, 0, flow(1, 1), size, i);
            return;
          }
          std::vector<std::unique_ptr<TestSend>> sends;
          for (std::uint64_t i = 0; i < many; ++i) {
            sends.push_back(std::make_unique<TestSend>(node, 1, flow(1, 1), pattern(size, i)));
            sends.back()->post();
            if (i % 100 == 0) node.turn();
          }
          EXPECT_FALSE(sends.back()->done());
          ASSERT_TRUE(node.barrier());
          for (auto& send : sends)
            ASSERT_TRUE(node.until([&] { return send->done(); }));
        },
        config);
  }
}

TEST_P(TransportFlow, AMessageThatWaitsForItsReceiveMayBeTakenBack) {
  runThreads(
      GetParam(), 2,
      [](Node& node) {
        const std::size_t sizes[] = {0, 100, 100000, kHuge};
        if (node.rank() == 1) {
          ASSERT_TRUE(node.barrier());
          for (const std::size_t size : sizes)
            recvMessage(node, 0, flow(1, 2 + size), size, 7);
          return;
        }
        std::vector<std::unique_ptr<TestSend>> fill; // Takes the room that short ones would go to.
        const std::uint64_t fills = fullOr(6000u, 3500u);
        for (std::uint64_t i = 0; i < 5 * fills; ++i) {
          if (i >= fills && i % 500 == 0) { // Does the room only seem full, because the receiver is not running?
            node.driveFor(std::chrono::milliseconds(100));
            if (!fill.back()->done()) break;
          }
          fill.push_back(std::make_unique<TestSend>(node, 1, flow(1, 1), pattern(500, i)));
          fill.back()->post();
          if (i % 20 == 0) node.turn();
        }
        ASSERT_FALSE(fill.back()->done());
        for (const std::size_t size : sizes) {
          TestSend taken_back(node, 1, flow(1, 2 + size), pattern(size, 6));
          taken_back.post();
          node.driveFor(std::chrono::milliseconds(2));
          ASSERT_FALSE(taken_back.done()) << size;
          taken_back.cancel();
        }
        Sends sends(node);
        for (const std::size_t size : sizes)
          sends.post(flow(1, 2 + size), size, 7);
        ASSERT_TRUE(node.barrier());
        sends.expectDone();
        for (auto& send : fill)
          if (!send->done()) send->cancel();
      },
      smallConfig());
}

} // namespace
} // namespace goss::tests
