// In which order a link that sends one frame after the other sends messages, their parts, and answers.
#include "transports/common/multipart_outbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "transports/common/errors.h"

namespace goss::transports {
namespace {

constexpr Tag kFlow = Tag{1} << 48;
constexpr std::size_t kPart = 960;

struct Send final : SendOperation {
  Send(Tag with, std::size_t size) : memory(size), piece{memory.data(), size} {
    tag = with;
    bytes = size;
    pieces = {&piece, 1};
  }
  void onSent(const Status& result) override {
    ++completions;
    status = result;
  }
  std::vector<std::byte> memory;
  iovec piece;
  int completions = 0;
  Status status;
};

/// A link that takes `room` frames, and logs them.
struct Wire final : MultipartOutbox {
  Wire() { sends_.setLimit(64 * 1024, 2 * kPart); }
  [[nodiscard]] bool hasRoom(std::uint64_t) const override { return room > 0; }
  bool goesWhole(const SendOperation& operation) override {
    return operation.bytes <= kPart && sends_.mayGo(operation.tag, operation.bytes);
  }
  void write(const ControlFrame& frame) override {
    note(frame.kind == ControlFrame::Kind::cut ? 'c' : 'g', frame.number);
  }
  void writeWhole(const SendOperation& operation) override {
    note(operation.tag == kUrgentTag ? 'u' : 'w', operation.bytes);
  }
  std::size_t writePart(const SendOperation&, MultipartSend& send, bool first) override {
    const std::size_t bytes = std::min<std::size_t>(send.allowed_bytes, kPart);
    send.rest.advance(bytes);
    note(first ? 'f' : 'm', send.number);
    return bytes;
  }
  void note(char what, std::uint64_t which) {
    --room;
    log += what + std::to_string(which) + ' ';
  }
  /// What the link sends when it has room for `frames` frames.
  std::string with(int frames) {
    room = frames;
    log.clear();
    run();
    return log;
  }
  int room = 0;
  std::string log;
};

TEST(MultipartOutbox, UrgentMessagesGoBeforeAllOthersAndAnswersBeforeThose) {
  Wire wire;
  Send lengthy(kFlow, 10 * kPart);
  Send brief(kFlow, 10);
  Send urgent(kUrgentTag, 5);
  Send urgent_too(kUrgentTag, 6);
  for (Send* send : {&lengthy, &brief, &urgent, &urgent_too})
    EXPECT_FALSE(wire.post(*send, true));
  wire.tell({ControlFrame::Kind::grant, 7, 0});
  EXPECT_EQ(wire.with(3), "g7 u5 u6 ");
  EXPECT_EQ(urgent_too.completions, 1);
  EXPECT_EQ(wire.with(9), "f1 m1 w10 ") << "the rest waits for its grant";
  EXPECT_TRUE(wire.isIdle());
  wire.onAnswer(1, true);
  EXPECT_FALSE(wire.isIdle());
  Send between(kUrgentTag, 8);
  EXPECT_EQ(wire.with(2), "m1 m1 ");
  EXPECT_FALSE(wire.post(between, true));
  EXPECT_EQ(wire.with(2), "u8 m1 ");
  EXPECT_EQ(wire.with(99), "m1 m1 m1 m1 m1 ");
  EXPECT_EQ(lengthy.completions, 1);
}

TEST(MultipartOutbox, ShortMessagesAndPartsGoInTurn) {
  Wire wire;
  Send lengthy(kFlow, 10 * kPart);
  wire.room = 99;
  EXPECT_FALSE(wire.post(lengthy, true));
  wire.room = 0;
  std::vector<std::unique_ptr<Send>> briefs;
  for (std::size_t i = 0; i < 6; ++i) {
    briefs.push_back(std::make_unique<Send>(kFlow, i));
    EXPECT_FALSE(wire.post(*briefs.back(), true));
  }
  wire.onAnswer(1, true);
  EXPECT_EQ(wire.with(8), "w0 m1 w1 m1 w2 m1 w3 m1 ");
  EXPECT_EQ(wire.with(99), "w4 m1 w5 m1 m1 m1 ");
  EXPECT_EQ(lengthy.completions, 1);
}

TEST(MultipartOutbox, WhatIsTakenBackIsCut) {
  Wire wire;
  wire.room = 99;
  Send lengthy(kFlow, 10 * kPart);
  Send waits(kFlow, 10 * kPart);
  EXPECT_FALSE(wire.post(lengthy, true));
  wire.room = 0;
  EXPECT_FALSE(wire.post(waits, true));
  wire.cancel(lengthy);
  wire.cancel(waits);
  wire.cancel(waits);
  wire.onAnswer(1, true); // The answer crosses the frame.
  EXPECT_EQ(wire.with(99), "c1 ");
  EXPECT_TRUE(wire.isIdle());
  EXPECT_EQ(lengthy.completions + waits.completions, 0);
}

TEST(MultipartOutbox, AMessageThatNobodyWantsIsOverWithItsAnswerAndFailureEndsTheRest) {
  Wire wire;
  wire.room = 99;
  Send skipped(kFlow, 10 * kPart);
  Send failed(kFlow, 10 * kPart);
  Send queued(kFlow, 10);
  EXPECT_FALSE(wire.post(skipped, true));
  EXPECT_FALSE(wire.post(failed, true));
  wire.onAnswer(1, false);
  wire.run();
  EXPECT_EQ(skipped.completions, 1);
  EXPECT_TRUE(skipped.status.isOk());
  wire.room = 0;
  EXPECT_FALSE(wire.post(queued, true));
  wire.fail(peerLostError(1, "it was killed"));
  for (const Send* send : {&failed, &queued}) {
    EXPECT_EQ(send->completions, 1);
    EXPECT_EQ(send->status.kind(), GOSS_ERR_PEER_LOST);
  }
  EXPECT_EQ(skipped.completions, 1);
}

} // namespace
} // namespace goss::transports
