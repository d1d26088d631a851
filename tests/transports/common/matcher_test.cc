#include "transports/common/matcher.h"

#include "transports/common/message_sink.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "transports/common/errors.h"

namespace goss::transports {
namespace {

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::byte> out(bytes);
  for (std::byte& b : out)
    b = static_cast<std::byte>(random() & 0xff);
  return out;
}

struct TestRecv : RecvOperation {
  explicit TestRecv(Tag t, std::size_t room = 1 << 20, bool views = false) : buffer(room), piece{buffer.data(), room} {
    tag = t;
    capacity = room;
    consumes = views;
    if (!views) pieces = {&piece, 1};
  }
  Status onMatched(const Envelope& envelope, std::size_t bytes) override {
    ++matched;
    first_envelope_byte = envelope[0];
    length = bytes;
    if (in_match) in_match();
    if (refuse) return Status::error(GOSS_ERR_MISMATCH, "refused");
    return bytes > capacity ? Status::error(GOSS_ERR_TRUNCATED, "too long") : Status::ok();
  }
  void onData(std::size_t offset, std::span<const std::byte> bytes) override {
    EXPECT_EQ(offset, seen);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 16, 0u);
    EXPECT_FALSE(ended) << "a view that is not a multiple of 64 bytes must be the last";
    if (bytes.size() % 64 != 0) ended = true;
    std::memcpy(buffer.data() + offset, bytes.data(), bytes.size());
    seen += bytes.size();
    if (in_data) in_data();
  }
  void onReceived(const Status& s) override {
    ++received;
    status = s;
    if (in_received) in_received();
  }
  bool holds(const std::vector<std::byte>& expected) const {
    return length == expected.size() &&
           (expected.empty() || std::memcmp(buffer.data(), expected.data(), expected.size()) == 0);
  }
  std::vector<std::byte> buffer;
  iovec piece;
  int matched = 0, received = 0;
  std::byte first_envelope_byte{};
  std::size_t length = 0, seen = 0;
  bool refuse = false, ended = false;
  Status status;
  std::function<void()> in_match, in_data, in_received;
};

class MatcherTest : public ::testing::Test {
 protected:
  MessageHeader header(Tag tag, std::size_t bytes, int mark = 0) {
    MessageHeader h{tag, bytes, {}};
    h.envelope[0] = static_cast<std::byte>(mark);
    return h;
  }
  void send(Tag tag, const std::vector<std::byte>& bytes, int mark = 0) {
    ASSERT_TRUE(sink.begin(header(tag, bytes.size(), mark)));
    sink.deliver(bytes);
  }
  Deferred deferred;
  Matcher matcher{3, deferred};
  MessageSink sink{matcher};
};

TEST_F(MatcherTest, DeliversIntoAPostedReceive) {
  TestRecv op(7);
  matcher.post(op);
  auto data = pattern(1001);
  send(7, data, 9);
  EXPECT_EQ(op.received, 1);
  EXPECT_EQ(op.first_envelope_byte, std::byte{9});
  EXPECT_TRUE(op.holds(data));
  EXPECT_EQ(matcher.statistics().messages_received, 1u);
  EXPECT_EQ(matcher.statistics().bytes_received, 1001u);
}

TEST_F(MatcherTest, KeepsAnUnexpectedMessageUntilDrain) {
  auto data = pattern(100);
  send(7, data);
  TestRecv op(7);
  matcher.post(op);
  EXPECT_EQ(op.matched + op.received, 0) << "post() must not call back";
  EXPECT_TRUE(matcher.hasWork());
  EXPECT_TRUE(matcher.drain());
  EXPECT_TRUE(op.holds(data));
  EXPECT_EQ(op.received, 1);
  EXPECT_EQ(matcher.statistics().messages_received, 1u);
  EXPECT_FALSE(matcher.hasWork());
}

TEST_F(MatcherTest, EqualTagsMeetInOrderAndOthersAreIndependent) {
  send(1, pattern(10, 1));
  send(2, pattern(20, 2));
  send(1, pattern(30, 3));
  TestRecv b(2), a1(1), a2(1);
  matcher.post(b);
  matcher.post(a1);
  matcher.post(a2);
  matcher.drain();
  EXPECT_TRUE(a1.holds(pattern(10, 1)));
  EXPECT_TRUE(b.holds(pattern(20, 2)));
  EXPECT_TRUE(a2.holds(pattern(30, 3)));
}

TEST_F(MatcherTest, ANewMessageDoesNotOvertakeAKeptOneOfItsTag) {
  send(1, pattern(10, 1));
  TestRecv first(1), second(1);
  matcher.post(first);
  matcher.post(second);
  send(1, pattern(11, 2)); // Before anyone drained.
  EXPECT_TRUE(first.holds(pattern(10, 1)));
  EXPECT_TRUE(second.holds(pattern(11, 2)));
}

TEST_F(MatcherTest, AReceiveTakesOverAHalfArrivedMessage) {
  auto data = pattern(1000);
  ASSERT_TRUE(sink.begin(header(5, data.size())));
  sink.deliver(std::span(data).first(333));
  TestRecv plain(5);
  matcher.post(plain);
  matcher.drain();
  EXPECT_EQ(plain.matched, 1);
  EXPECT_EQ(plain.received, 0);
  sink.deliver(std::span(data).subspan(333));
  EXPECT_TRUE(plain.holds(data));
  EXPECT_EQ(plain.received, 1);
  EXPECT_EQ(matcher.statistics().messages_received, 1u);
}

TEST_F(MatcherTest, ViewsKeepTheirContractForAnyCutOfTheStream) {
  for (std::size_t size : {0u, 1u, 63u, 64u, 65u, 1000u, 70000u, 200001u}) {
    for (std::size_t cut : {1u, 7u, 64u, 100u, 65536u, 1u << 20}) {
      if (size / cut > 5000) continue;
      TestRecv op(5, size + 1, true);
      matcher.post(op);
      auto data = pattern(size + 1, 3);
      data.pop_back();
      ASSERT_TRUE(sink.begin(header(5, size)));
      for (std::size_t at = 0; at < size;) {
        std::size_t step = std::min(cut, size - at);
        if (at / cut % 2 == 0) {
          sink.deliver(std::span(data).subspan(at, step));
        } else {
          iovec room[2];
          ASSERT_EQ(sink.space(room, step), 1u);
          step = room[0].iov_len;
          std::memcpy(room[0].iov_base, data.data() + at, step);
          sink.commit(step);
        }
        at += step;
      }
      EXPECT_EQ(op.seen, size);
      EXPECT_EQ(op.received, 1);
      EXPECT_TRUE(op.holds(data)) << size << " cut " << cut;
    }
  }
}

TEST_F(MatcherTest, SpaceScattersStraightIntoThePieces) {
  std::vector<std::byte> a(10), b(0), c(20);
  iovec pieces[] = {{a.data(), 10}, {b.data(), 0}, {c.data(), 20}};
  TestRecv op(5, 30);
  op.pieces = pieces;
  matcher.post(op);
  auto data = pattern(25);
  ASSERT_TRUE(sink.begin(header(5, 25)));
  sink.deliver(std::span(data).first(4));
  iovec room[4];
  ASSERT_EQ(sink.space(room, 1000), 2u);
  EXPECT_EQ(room[0].iov_base, a.data() + 4);
  EXPECT_EQ(room[0].iov_len, 6u);
  EXPECT_EQ(room[1].iov_base, c.data());
  EXPECT_EQ(room[1].iov_len, 15u) << "never past the end of the message";
  std::memcpy(room[0].iov_base, data.data() + 4, 6);
  std::memcpy(room[1].iov_base, data.data() + 10, 15);
  sink.commit(21);
  EXPECT_EQ(op.received, 1);
  EXPECT_EQ(std::memcmp(a.data(), data.data(), 10), 0);
  EXPECT_EQ(std::memcmp(c.data(), data.data() + 10, 15), 0);
}

TEST_F(MatcherTest, ARefusedMessageIsDroppedAndTheStreamGoesOn) {
  TestRecv refused(5), small(5, 8), good(5);
  refused.refuse = true;
  for (TestRecv* op : {&refused, &small, &good})
    matcher.post(*op);
  send(5, pattern(500));
  send(5, pattern(500));
  send(5, pattern(500, 9));
  EXPECT_EQ(refused.status.kind(), GOSS_ERR_MISMATCH);
  EXPECT_EQ(small.status.kind(), GOSS_ERR_TRUNCATED);
  EXPECT_TRUE(good.status.isOk());
  EXPECT_TRUE(good.holds(pattern(500, 9)));
}

TEST_F(MatcherTest, CancelForgetsAPostedReceive) {
  TestRecv gone(1), op(1);
  matcher.post(gone);
  matcher.post(op);
  matcher.cancel(gone);
  matcher.cancel(gone);
  send(1, pattern(10));
  EXPECT_EQ(gone.matched + gone.received, 0);
  EXPECT_EQ(op.received, 1);
}

TEST_F(MatcherTest, CancelInTheMiddleDropsTheRest) {
  for (bool views : {false, true}) {
    auto gone = std::make_unique<TestRecv>(1, 1 << 12, views);
    matcher.post(*gone);
    auto data = pattern(1000);
    ASSERT_TRUE(sink.begin(header(1, data.size())));
    sink.deliver(std::span(data).first(100));
    matcher.cancel(*gone);
    EXPECT_EQ(gone->received, 0);
    gone.reset(); // The address sanitizer watches that nobody touches it.
    sink.deliver(std::span(data).subspan(100));
    TestRecv op(1);
    matcher.post(op);
    send(1, data);
    EXPECT_TRUE(op.holds(data));
  }
}

TEST_F(MatcherTest, CancelInsideItsOwnCallbacks) {
  auto data = pattern(1000);
  TestRecv in_match(1), in_data(1, 1 << 12, true);
  in_match.in_match = [&] { matcher.cancel(in_match); };
  in_data.in_data = [&] { matcher.cancel(in_data); };
  matcher.post(in_match);
  matcher.post(in_data);
  send(1, data);
  ASSERT_TRUE(sink.begin(header(1, data.size())));
  for (std::size_t at = 0; at < data.size(); at += 100)
    sink.deliver(std::span(data).subspan(at, 100));
  EXPECT_EQ(in_match.matched, 1);
  EXPECT_EQ(in_data.seen, 64u);
  EXPECT_EQ(in_match.received + in_data.received, 0);
}

TEST_F(MatcherTest, CallbacksMayPostTheSameOperationAgain) {
  TestRecv op(1);
  int again = 4;
  op.in_received = [&] {
    if (again-- > 0) matcher.post(op);
  };
  for (unsigned i = 0; i < 5; ++i)
    send(1, pattern(10, i));
  matcher.post(op);
  matcher.drain();
  EXPECT_EQ(op.received, 5);
  EXPECT_TRUE(op.holds(pattern(10, 4)));
}

TEST_F(MatcherTest, FailEndsEverythingOnceButKeepsWholeMessages) {
  send(1, pattern(10));
  send(2, pattern(20));
  auto data = pattern(100);
  TestRecv active(3), posted(4), kept(1);
  matcher.post(active);
  matcher.post(posted);
  matcher.post(kept);
  ASSERT_TRUE(sink.begin(header(3, 100)));
  sink.deliver(std::span(data).first(50));
  matcher.fail(peerLostError(3, "it was killed"));
  matcher.fail(peerDepartedError(3));
  for (TestRecv* op : {&active, &posted}) {
    EXPECT_EQ(op->received, 1);
    EXPECT_EQ(op->status.kind(), GOSS_ERR_PEER_LOST);
    EXPECT_NE(op->status.text().find("rank 3"), std::string::npos);
  }
  EXPECT_TRUE(kept.status.isOk());
  TestRecv late(2), too_late(2);
  matcher.post(late);
  matcher.post(too_late);
  matcher.drain();
  EXPECT_TRUE(late.holds(pattern(20)));
  EXPECT_EQ(too_late.received, 1);
  EXPECT_EQ(too_late.status.kind(), GOSS_ERR_PEER_LOST);
}

TEST_F(MatcherTest, AReceivePostedAfterTheLossFailsOutOfProgress) {
  matcher.fail(peerLostError(3, "it was killed"));
  TestRecv op(1), cancelled(1);
  matcher.post(op);
  matcher.post(cancelled);
  matcher.cancel(cancelled);
  EXPECT_EQ(op.received, 0);
  EXPECT_TRUE(deferred.drain());
  EXPECT_EQ(op.received, 1);
  EXPECT_EQ(cancelled.received, 0);
  EXPECT_EQ(op.status.peer(), 3);
}

TEST_F(MatcherTest, WhatIsDiscardedIsDroppedAndNeighboursAreRememberedAsOne) {
  constexpr Tag kMask = Tag{0xffff} << 48;
  const auto tagOf = [](Tag number) { return number << 48; };
  for (const Tag number : {5, 2, 0, 0xffff, 4, 1, 8}) {
    matcher.discard(kMask, tagOf(number));
  }
  EXPECT_EQ(matcher.unwanted().size(), 4u) << "0-2, 4-5, 8 and the last";
  for (const Tag number : {0, 1, 2, 4, 5, 8, 0xffff}) {
    send(tagOf(number) | 77, pattern(2000));
  }
  EXPECT_TRUE(sink.isIdle());
  for (const Tag number : {3, 6, 0xfffe}) {
    send(tagOf(number) | 77, pattern(10));
    TestRecv wanted(tagOf(number) | 77);
    matcher.post(wanted);
    matcher.drain();
    EXPECT_EQ(wanted.received, 1) << number;
  }
  matcher.discard(kMask, tagOf(3));
  EXPECT_EQ(matcher.unwanted().size(), 3u);
  // A communicator after the other, as a program makes them that splits in a loop.
  for (Tag number = 9; number < 5000; ++number)
    matcher.discard(kMask, tagOf(number));
  EXPECT_EQ(matcher.unwanted().size(), 3u);
}

TEST_F(MatcherTest, ClaimsADiscardedMessageThatIsStillWithItsSenderAndDropsIt) {
  int claims = 0;
  ASSERT_TRUE(sink.beginAbsent(header(7, 100), [&] { return ++claims > 0; }));
  MessageSink cancelled(matcher), wanted(matcher);
  ASSERT_TRUE(cancelled.beginAbsent(header(7, 100), [] { return false; }));
  ASSERT_TRUE(wanted.beginAbsent(header(8, 100), [] { return true; }));
  matcher.discard(~Tag{0}, 7);
  EXPECT_EQ(claims, 1);
  EXPECT_TRUE(sink.isDropped()) << "the transport tells the sender that the message was received";
  sink.finishDropped();
  EXPECT_TRUE(sink.isIdle());
  EXPECT_TRUE(cancelled.waits()) << "the sender's word of it is still to come";
  cancelled.revoke();
  EXPECT_TRUE(wanted.waits());
  TestRecv op(8);
  matcher.post(op);
  matcher.drain();
  wanted.deliver(pattern(100));
  EXPECT_TRUE(op.holds(pattern(100)));
  EXPECT_FALSE(matcher.keepsAny());
}

TEST_F(MatcherTest, ForgetsOneOfManyKeptMessagesAndNoOther) {
  matcher.trackReleased(false);
  std::vector<std::unique_ptr<MessageSink>> streams;
  for (std::uint64_t ticket = 1; ticket <= 5; ++ticket) {
    streams.push_back(std::make_unique<MessageSink>(matcher));
    ASSERT_TRUE(streams.back()->beginPart(header(9, 100, static_cast<int>(ticket)), 10, ticket));
    ASSERT_TRUE(streams.back()->waits());
  }
  streams[1]->revoke(); // By its place in the list,
  matcher.forget(4);    // and by its ticket.
  matcher.forget(4);
  matcher.forget(77);
  EXPECT_FALSE(streams[1]->waits());
  EXPECT_FALSE(streams[3]->waits());
  EXPECT_EQ(matcher.takeReleased().size(), 2u);
  for (const int left : {1, 3, 5}) {
    TestRecv op(9);
    matcher.post(op);
    matcher.drain();
    EXPECT_EQ(op.first_envelope_byte, static_cast<std::byte>(left));
    matcher.cancel(op);
  }
  EXPECT_FALSE(matcher.keepsAny());
  EXPECT_EQ(matcher.keptBytes(), 0u);
}

TEST_F(MatcherTest, AHalfArrivedKeptMessageDiesWithThePeer) {
  auto data = pattern(100);
  ASSERT_TRUE(sink.begin(header(3, 100)));
  sink.deliver(std::span(data).first(50));
  matcher.fail(peerLostError(3, "it was killed"));
  TestRecv op(3);
  matcher.post(op);
  EXPECT_TRUE(deferred.drain());
  EXPECT_EQ(op.status.kind(), GOSS_ERR_PEER_LOST);
}

TEST(PieceCursorTest, GatherScatterAndListAgreeWithAFlatCopy) {
  auto data = pattern(300);
  std::vector<iovec> pieces = {{data.data(), 0}, {data.data(), 1},         {data.data() + 1, 199},
                               {nullptr, 0},     {data.data() + 200, 100}, {nullptr, 0}};
  PieceCursor from(pieces);
  std::vector<std::byte> flat(300);
  std::size_t at = 0;
  for (std::size_t step : {1u, 5u, 250u, 44u})
    at += from.gather(std::span(flat).subspan(at, step));
  EXPECT_EQ(at, 300u);
  EXPECT_EQ(flat, data);
  EXPECT_TRUE(from.current().empty());

  PieceCursor listed(pieces);
  listed.advance(150);
  iovec out[4];
  ASSERT_EQ(listed.list(out, 100), 2u);
  EXPECT_EQ(out[0].iov_len, 50u);
  EXPECT_EQ(out[1].iov_len, 50u);
  EXPECT_EQ(out[1].iov_base, data.data() + 200);

  std::vector<std::byte> target(300);
  std::vector<iovec> parts = {{target.data(), 100}, {target.data() + 100, 200}};
  PieceCursor to(parts);
  EXPECT_EQ(to.scatter(std::span(data).first(150)), 150u);
  EXPECT_EQ(to.scatter(std::span(data).subspan(150)), 150u);
  EXPECT_EQ(target, data);
  EXPECT_EQ(to.scatter(data), 0u);
}

TEST(OperationListTest, KeepsOrderUnderRemoval) {
  TestRecv a(1), b(2), c(3);
  OperationList<RecvOperation> list;
  for (TestRecv* op : {&a, &b, &c})
    list.pushBack(*op);
  EXPECT_TRUE(list.contains(b));
  list.remove(b);
  EXPECT_FALSE(list.contains(b));
  list.pushBack(b);
  EXPECT_EQ(list.popFront(), &a);
  EXPECT_EQ(list.popFront(), &c);
  EXPECT_EQ(list.popFront(), &b);
  EXPECT_EQ(list.popFront(), nullptr);
  EXPECT_TRUE(list.empty());
}

TEST_F(MatcherTest, PeeksAtWhatNoPostedReceiveGets) {
  constexpr Tag kAll = ~Tag{0};
  Arrived found;
  EXPECT_FALSE(matcher.peek(kAll, 5, found));
  send(5, pattern(10), 1);
  send(6, pattern(20), 2);
  send(5, pattern(30), 3);
  ASSERT_TRUE(matcher.peek(kAll, 5, found));
  EXPECT_EQ(found.bytes, 10u);
  EXPECT_EQ(found.envelope[0], std::byte{1});
  ASSERT_TRUE(matcher.peek(~Tag{7}, 0, found)) << "any tag from 0 to 7";
  EXPECT_EQ(found.bytes, 10u) << "the first that came";
  TestRecv first(5);
  matcher.post(first);
  ASSERT_TRUE(matcher.peek(kAll, 5, found)) << "the first one has its receive";
  EXPECT_EQ(found.bytes, 30u);
  ASSERT_TRUE(matcher.peek(~Tag{7}, 0, found));
  EXPECT_EQ(found.tag, 6u);
  TestRecv second(5), third(5);
  matcher.post(second);
  matcher.post(third);
  EXPECT_FALSE(matcher.peek(kAll, 5, found));
  matcher.drain();
  EXPECT_EQ(first.received + second.received + third.received, 2);
  EXPECT_FALSE(matcher.peek(kAll, 5, found));
  ASSERT_TRUE(matcher.peek(kAll, 6, found));
  matcher.cancel(third);
}

} // namespace
} // namespace goss::transports
