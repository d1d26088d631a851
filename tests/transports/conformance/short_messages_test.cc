// Messages without an operation have their place among those with one, and are refused where they cannot have it.
#include <iterator>
#include <random>

#include "gossamer/short_messages.h"
#include "tests/transports/conformance/suite.h"

namespace goss::tests {
namespace {

GOSS_TRANSPORT_SUITE(TransportShortMessages, allTransports());

constexpr Tag kTag = 5;

/// trySend() of `node`; `refused` where the transport has no short messages.
TryResult trySend(Node& node, int to, Tag tag, const Envelope& envelope, const Bytes& message) {
  ShortMessages* way = node.transport().shortMessages();
  return way != nullptr ? way->trySend(to, tag, envelope, message) : TryResult::refused;
}

/// tryRecv() of `node`; `refused` where the transport has no short messages.
TryResult tryRecv(Node& node, int from, std::span<std::byte> room, std::size_t& bytes, Tag tag = kTag) {
  ShortMessages* way = node.transport().shortMessages();
  return way != nullptr ? way->tryRecv(from, tag, Envelope{}, room, bytes) : TryResult::refused;
}

/// Sends within one call where possible, else as an operation.
void sendEither(Node& node, int to, Tag tag, std::size_t size, std::uint64_t seed) {
  const Bytes message = pattern(size, seed);
  if (trySend(node, to, tag, Envelope{}, message) != TryResult::done) {
    sendMessage(node, to, tag, size, seed);
  }
}

/// Asks until the message has come or is refused.
TryResult tryUntilOver(Node& node, int from, Tag tag, std::span<std::byte> room, std::size_t& bytes) {
  TryResult came = TryResult::notYet;
  const auto over = [&] { return came == TryResult::done || came == TryResult::refused; };
  const auto asked = [&] { // Again after it was true, too.
    if (!over()) came = tryRecv(node, from, room, bytes, tag);
    return over();
  };
  EXPECT_TRUE(node.pollUntil(asked));
  return came;
}

void recvEither(Node& node, int from, Tag tag, std::size_t size, std::uint64_t seed) {
  Bytes room(size + 8);
  std::size_t bytes = 0;
  if (tryUntilOver(node, from, tag, room, bytes) != TryResult::done) return recvMessage(node, from, tag, size, seed);
  ASSERT_EQ(bytes, size);
  EXPECT_TRUE(isPattern(std::span(room).first(bytes), seed)) << "wrong bytes in a message of " << size;
}

TEST_P(TransportShortMessages, EitherWayOfSendingMeetsEitherWayOfReceivingInOrder) {
  constexpr int kMessages = 400;
  const auto sizeOf = [](int i) {
    constexpr std::size_t kLong[] = {4096, 4097, 70000, 9001, 16384, 16385};
    return i % 20 == 19 ? kLong[i / 20 % std::size(kLong)] : static_cast<std::size_t>(i % 7 * 97);
  };
  runThreads(GetParam(), 2, [&](Node& node) {
    std::mt19937 random(static_cast<unsigned>(node.rank()));
    for (int i = 0; i < kMessages; ++i) {
      const auto seed = static_cast<std::uint64_t>(i);
      const bool at_once = random() % 2 == 0;
      if (node.rank() == 0) {
        (at_once ? sendEither : sendMessage)(node, 1, kTag, sizeOf(i), seed);
      } else {
        (at_once ? recvEither : recvMessage)(node, 0, kTag, sizeOf(i), seed);
      }
    }
  });
}

TEST_P(TransportShortMessages, TheReceiveThatWasPostedFirstGetsTheFirstMessage) {
  runThreads(GetParam(), 2, [](Node& node) {
    if (node.rank() == 0) {
      ASSERT_TRUE(node.barrier());
      sendEither(node, 1, kTag, 40, 1);
      sendEither(node, 1, kTag, 41, 2);
      return;
    }
    TestRecv first(node, 0, kTag, 64);
    first.post();
    Bytes room(64);
    std::size_t bytes = 0;
    EXPECT_NE(tryRecv(node, 0, room, bytes), TryResult::done);
    ASSERT_TRUE(node.barrier());
    if (tryUntilOver(node, 0, kTag, room, bytes) == TryResult::done) {
      EXPECT_TRUE(first.done());
      ASSERT_EQ(bytes, 41U);
      EXPECT_TRUE(isPattern(std::span(room).first(bytes), 2));
    } else {
      recvMessage(node, 0, kTag, 41, 2);
    }
    expectMessage(node, first, 40, 1);
  });
}

TEST_P(TransportShortMessages, TheMessageThatIsKeptComesBeforeTheOneThatJustCame) {
  runThreads(GetParam(), 2, [](Node& node) {
    if (node.rank() == 0) {
      sendEither(node, 1, kTag, 40, 1);
      sendEither(node, 1, kTag + 1, 41, 2);
      sendEither(node, 1, kTag, 42, 3);
      return;
    }
    recvEither(node, 0, kTag + 1, 41, 2); // The first one is kept meanwhile.
    recvEither(node, 0, kTag, 40, 1);
    recvEither(node, 0, kTag, 42, 3);
  });
}

TEST_P(TransportShortMessages, WhatIsTooLongOrOfAnotherKindIsLeftForAnOperation) {
  runThreads(GetParam(), 2, [](Node& node) {
    Envelope other{};
    other.front() = std::byte{1};
    if (node.rank() == 0) {
      sendEither(node, 1, kTag, 100, 1);
      if (trySend(node, 1, kTag, other, pattern(10, 2)) != TryResult::done) {
        TestSend send(node, 1, kTag, pattern(10, 2));
        send.envelope = other;
        send.post();
        ASSERT_TRUE(node.until([&] { return send.done(); }));
      }
      return;
    }
    Bytes room(99);
    std::size_t bytes = 0;
    EXPECT_EQ(tryUntilOver(node, 0, kTag, room, bytes), TryResult::refused);
    recvMessage(node, 0, kTag, 100, 1);
    EXPECT_EQ(tryUntilOver(node, 0, kTag, room, bytes), TryResult::refused);
    TestRecv receive(node, 0, kTag, 99);
    receive.post();
    expectMessage(node, receive, 10, 2);
    EXPECT_EQ(receive.envelope, other);
  });
}

TEST_P(TransportShortMessages, WhatFillsTheWayIsRefusedAndNothingIsLost) {
  constexpr int kMessages = 3000;
  Config config;
  config.shm_ring_bytes = 64 * 1024;
  const auto run = [](Node& node) {
    for (int i = 0; i < kMessages; ++i) {
      const auto seed = static_cast<std::uint64_t>(i);
      const std::size_t size = i % 30 == 29 ? 16 * 1024 : 200; // A quarter of the ring.
      if (node.rank() == 0) {
        sendEither(node, 1, kTag, size, seed);
      } else {
        recvEither(node, 0, kTag, size, seed);
      }
    }
  };
  runThreads(GetParam(), 2, run, config);
}

TEST_P(TransportShortMessages, WhatWasSentBeforeTheGoodbyeIsStillReceived) {
  runThreads(GetParam(), 2, [](Node& node) {
    if (node.rank() == 0) {
      for (std::uint64_t i = 0; i < 20; ++i)
        sendEither(node, 1, kTag, 30, i);
      return node.close();
    }
    for (std::uint64_t i = 0; i < 20; ++i)
      recvEither(node, 0, kTag, 30, i);
  });
}

} // namespace
} // namespace goss::tests
