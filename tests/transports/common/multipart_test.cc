// Messages in parts: what may leave before there is a receive, and what the two halves tell each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "transports/common/deferred.h"
#include "transports/common/multipart_recvs.h"
#include "transports/common/multipart_sends.h"

namespace goss::transports {
namespace {

constexpr Tag kFlow = Tag{1} << 48;

class Send final : public SendOperation {
 public:
  Send(Tag with, std::size_t size) : memory_(size) {
    tag = with;
    bytes = size;
    for (std::size_t i = 0; i < size; ++i)
      memory_[i] = static_cast<std::byte>(i * 31);
    piece_ = {memory_.data(), size};
    pieces = {&piece_, 1};
  }
  void onSent(const Status&) override {}
  [[nodiscard]] std::span<const std::byte> all() const { return memory_; }

 private:
  std::vector<std::byte> memory_;
  iovec piece_{};
};

class Recv final : public RecvOperation {
 public:
  Recv(Tag with, std::size_t size) : memory_(size) {
    tag = with;
    capacity = size;
    piece_ = {memory_.data(), size};
    pieces = {&piece_, 1};
  }
  Status onMatched(const Envelope&, std::size_t) override { return answer; }
  void onReceived(const Status& result) override {
    done = true;
    status = result;
  }
  [[nodiscard]] bool has(const Send& send) const {
    return done && status.isOk() && std::ranges::equal(std::span(memory_).first(send.bytes), send.all());
  }
  Status answer;
  bool done = false;
  Status status;

 private:
  std::vector<std::byte> memory_;
  iovec piece_{};
};

/// Both halves, with frames that arrive at once.
class Multipart : public ::testing::Test {
 protected:
  Multipart() { sends_.setLimit(64 * 1024, 8 * 1024); }
  MessageHeader headerOf(const Send& send) { return {send.tag, send.bytes, send.envelope}; }
  std::span<const std::byte> cut(MultipartSend& parted, const Send& send, std::size_t most) {
    const std::size_t bytes = std::min<std::size_t>(parted.allowed_bytes, most);
    const auto part = send.all().subspan(send.bytes - parted.rest_bytes, bytes);
    if (bytes > 0) sends_.advance(parted, bytes);
    return part;
  }
  void begin(MultipartSend& parted, const Send& send) {
    sends_.begin(parted, send);
    const std::uint64_t ahead = parted.allowed_bytes;
    EXPECT_TRUE(recvs_.begin(headerOf(send), ahead, cut(parted, send, 4096)).isOk());
  }
  /// All parts that may go, and all answers to them. Only `send` has more than its header.
  void exchange(MultipartSend& parted, const Send& send) {
    do {
      while (sends_.next() == &parted)
        EXPECT_TRUE(recvs_.more(parted.number, cut(parted, send, 4096)).isOk());
      matcher_.drain();
      recvs_.settle();
      for (const MultipartRecvs::Answer& answer : recvs_.takeAnswers()) {
        if (MultipartSend* over = sends_.answer(answer.number, answer.wanted)) over_ = over;
      }
    } while (sends_.next() == &parted);
  }

  Deferred deferred_;
  Matcher matcher_{1, deferred_};
  MultipartSends sends_;
  MultipartRecvs recvs_{matcher_, 64 * 1024};
  MultipartSend* over_ = nullptr; ///< The last one that was over with its answer.
};

TEST_F(Multipart, OnlyTheBeginningGoesBeforeThereIsAReceive) {
  const Send send(kFlow, 100000);
  MultipartSend parted;
  begin(parted, send);
  exchange(parted, send);
  EXPECT_EQ(parted.rest_bytes, 100000u - 8192u);
  Recv recv(kFlow, 100000);
  matcher_.post(recv);
  exchange(parted, send);
  EXPECT_EQ(parted.rest_bytes, 0u);
  EXPECT_TRUE(recv.has(send));
  EXPECT_EQ(recvs_.owed().of(kFlow), kMessageCost + 8192);
}

TEST_F(Multipart, WithoutCreditNothingGoesButTheHeader) {
  int whole = 0;
  while (sends_.mayGo(kFlow, 4000))
    ++whole;
  EXPECT_EQ(whole, 7); // A flow alone gets half of 64 KiB.
  EXPECT_TRUE(sends_.mayGo(2 * kFlow, 4000)) << "another flow has its share";
  const Send send(kFlow, 5000);
  MultipartSend parted;
  begin(parted, send);
  EXPECT_EQ(parted.rest_bytes, 5000u);
  Recv recv(kFlow, 5000);
  matcher_.post(recv);
  exchange(parted, send);
  EXPECT_TRUE(recv.has(send));
  EXPECT_EQ(recvs_.owed().total(), 0u) << "it took no credit";
  sends_.giveBack(kFlow, std::uint64_t{2} * (kMessageCost + 4000));
  EXPECT_TRUE(sends_.mayGo(kFlow, 4000));
}

TEST_F(Multipart, WithoutCreditAMessageOfNoBytesIsOverWhenItHasMetItsReceive) {
  for (int whole = 0; sends_.mayGo(kFlow, 0); ++whole)
    ASSERT_LT(whole, 1000) << "they cost nothing";
  const Send send(kFlow, 0);
  MultipartSend parted;
  begin(parted, send);
  exchange(parted, send);
  EXPECT_FALSE(parted.isOver());
  Recv recv(kFlow, 0);
  matcher_.post(recv);
  exchange(parted, send);
  EXPECT_TRUE(recv.has(send));
  EXPECT_EQ(over_, &parted);
  EXPECT_TRUE(parted.isOver());
  Recv posted(kFlow, 0);
  matcher_.post(posted);
  MultipartSend second;
  begin(second, send);
  exchange(second, send);
  EXPECT_TRUE(posted.has(send));
  EXPECT_EQ(over_, &second);
}

TEST_F(Multipart, UrgentMessagesHaveCreditWhenAllOthersHaveNone) {
  for (Tag flow = 1; flow < 100; ++flow)
    while (sends_.mayGo(flow * kFlow, 0)) {
    }
  EXPECT_TRUE(sends_.mayGo(kUrgentTag, 100));
}

TEST_F(Multipart, WhatNobodyWantsIsNotSent) {
  const Send send(kFlow, 100000);
  MultipartSend parted;
  Recv recv(kFlow, 100000);
  recv.answer = Status::error(GOSS_ERR_MISMATCH, "another call");
  matcher_.post(recv);
  begin(parted, send);
  exchange(parted, send);
  EXPECT_EQ(recv.status.kind(), GOSS_ERR_MISMATCH);
  EXPECT_EQ(over_, &parted);
  EXPECT_EQ(parted.rest_bytes, 0u);
  const Send late(kFlow, 100000);
  MultipartSend second;
  begin(second, late);
  while (sends_.next() == &second)
    EXPECT_TRUE(recvs_.more(second.number, cut(second, late, 4096)).isOk());
  matcher_.discard(~Tag{0}, kFlow);
  exchange(second, late);
  EXPECT_EQ(over_, &second);
}

TEST_F(Multipart, WhatIsTakenBackHasNeverBeen) {
  const Send send(kFlow, 100000);
  Recv recv(kFlow, 100000);
  matcher_.post(recv);
  auto first = std::make_unique<MultipartSend>();
  begin(*first, send);
  sends_.end(*first);
  recvs_.withdraw(first->number);
  first.reset();
  EXPECT_EQ(sends_.answer(1, true), nullptr); // The answer crosses the withdrawal.
  recvs_.takeAnswers();
  EXPECT_EQ(sends_.next(), nullptr);
  MultipartSend second;
  begin(second, send);
  exchange(second, send);
  matcher_.drain();
  exchange(second, send);
  EXPECT_TRUE(recv.has(send));
}

TEST_F(Multipart, RefusesWhatMakesNoSense) {
  const std::vector<std::byte> bytes(100);
  EXPECT_EQ(recvs_.more(1, bytes).kind(), GOSS_ERR_PROTOCOL);
  EXPECT_EQ(recvs_.begin({kFlow, 50, {}}, 100, bytes).kind(), GOSS_ERR_PROTOCOL);
  EXPECT_EQ(recvs_.begin({kFlow, 1000, {}}, 50, bytes).kind(), GOSS_ERR_PROTOCOL);
  EXPECT_TRUE(recvs_.begin({kFlow, 1000, {}}, 100, bytes).isOk());
  EXPECT_EQ(recvs_.more(1, bytes).kind(), GOSS_ERR_PROTOCOL) << "more than was allowed";
  recvs_.withdraw(7);
}

TEST_F(Multipart, APeerThatSendsMoreThanItHasCreditForIsNamed) {
  const std::vector<std::byte> bytes(30000);
  EXPECT_TRUE(recvs_.message({kFlow, bytes.size(), {}}, bytes).isOk());
  EXPECT_TRUE(recvs_.begin({2 * kFlow, 40000, {}}, 30000, {}).isOk());
  for (const Status& refused : {recvs_.message({kFlow, bytes.size(), {}}, bytes),
                                recvs_.begin({3 * kFlow, std::uint64_t{1} << 62, {}}, std::uint64_t{1} << 61, {})}) {
    EXPECT_EQ(refused.kind(), GOSS_ERR_PROTOCOL);
    EXPECT_NE(refused.text().find("rank 1"), std::string::npos) << refused.text();
  }
  Recv recv(kFlow, bytes.size());
  matcher_.post(recv);
  matcher_.drain();
  recvs_.settle();
  EXPECT_EQ(recvs_.message({kFlow, bytes.size(), {}}, bytes).kind(), GOSS_ERR_PROTOCOL) << "it was not told of room";
  EXPECT_EQ(takeOwed(recvs_.owed(), kFlow), kMessageCost + bytes.size());
  EXPECT_TRUE(recvs_.message({kFlow, bytes.size(), {}}, bytes).isOk());
}

TEST_F(Multipart, EmptyMessagesAreChargedToo) {
  int count = 0;
  while (count < 1000 && recvs_.message({kFlow, 0, {}}, {}).isOk())
    ++count;
  EXPECT_EQ(count, 256);
}

} // namespace
} // namespace goss::transports
