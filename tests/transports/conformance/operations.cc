#include <gtest/gtest.h>

#include <cstring>

#include "gossamer/shared_regions.h"
#include "tests/transports/conformance/harness.h"

namespace goss::tests {

namespace {

constexpr std::size_t kMinLent = 2000; ///< Each region takes a descriptor.
constexpr std::size_t kLentOffset = 3; ///< Offset of messages in regions, so that nothing is aligned.

/// Fills words that nobody else sees yet: a sanitizer would look at each of them in vain.
__attribute__((no_sanitize("thread", "address", "undefined"))) void fill(std::uint64_t* words, std::size_t count,
                                                                         std::uint64_t seed) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t x = seed * 0x10001 + 8 * i + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    words[i] = x ^ (x >> 31);
  }
}

/// At least `size` bytes, whose first are the pattern.
std::vector<std::uint64_t> patternWords(std::size_t size, std::uint64_t seed) {
  std::vector<std::uint64_t> words((size + 7) / 8);
  fill(words.data(), words.size(), seed);
  return words;
}

std::vector<iovec> cutUp(std::span<std::byte> bytes, const std::vector<std::size_t>& cuts) {
  std::vector<iovec> pieces;
  std::size_t at = 0;
  for (std::size_t cut : cuts) {
    pieces.push_back({bytes.data() + at, cut});
    at += cut;
  }
  if (at < bytes.size() || pieces.empty()) pieces.push_back({bytes.data() + at, bytes.size() - at});
  return pieces;
}

} // namespace

Bytes pattern(std::size_t size, std::uint64_t seed) {
  Bytes bytes(size);
  if (size > 0) std::memcpy(bytes.data(), patternWords(size, seed).data(), size);
  return bytes;
}

bool isPattern(std::span<const std::byte> bytes, std::uint64_t seed) {
  return bytes.empty() || std::memcmp(bytes.data(), patternWords(bytes.size(), seed).data(), bytes.size()) == 0;
}

TestSend::TestSend(Node& node, int to, Tag with_tag, Bytes message, const std::vector<std::size_t>& cuts)
    : node_(node), message_(std::move(message)) {
  std::span<std::byte> from = message_;
  if (node.lends() && from.size() >= kMinLent) {
    lent_ = platform::SharedPages::create(from.size() + kLentOffset).take();
    std::memcpy(lent_.data() + kLentOffset, from.data(), from.size());
    from = {lent_.data() + kLentOffset, from.size()};
    node_.transport().sharedRegions()->add({lent_.data(), lent_.bytes(), lent_.fd()});
  }
  cut_ = cutUp(from, cuts);
  peer = to;
  tag = with_tag;
  pieces = cut_;
  bytes = message_.size();
}

TestSend::~TestSend() {
  if (pending_) cancel();
  if (!lent_.valid() || !node_.isOpen()) return;
  EXPECT_TRUE(node_.transport().sharedRegions()->remove(lent_.data()).isOk());
}

void TestSend::post() {
  pending_ = true;
  const int before = completions;
  node_.enter();
  bool complete = node_.transport().send(*this);
  node_.leave();
  if (!complete) return;
  EXPECT_EQ(completions, before) << "send() returned true and called back as well";
  pending_ = false;
  ++completions;
}

void TestSend::cancel() {
  node_.enter();
  node_.transport().cancel(*this);
  node_.leave();
  pending_ = false;
}

void TestSend::onSent(const Status& result) {
  node_.checkCallback("onSent");
  EXPECT_TRUE(pending_) << "onSent on an operation that was complete, cancelled or not posted";
  pending_ = false;
  ++completions;
  status = result;
  if (then) then();
}

// NOLINTNEXTLINE(readability-function-size): two of them have defaults
TestRecv::TestRecv(Node& node, int from, Tag with_tag, std::size_t room, Kind kind,
                   const std::vector<std::size_t>& cuts)
    : node_(node), room_(room), cut_(cutUp(room_, cuts)) {
  peer = from;
  tag = with_tag;
  capacity = room;
  consumes = kind == Kind::views;
  if (!consumes) pieces = cut_;
}

TestRecv::~TestRecv() {
  if (pending_) cancel();
}

void TestRecv::post() {
  pending_ = true;
  matches = 0;
  viewed_ = 0;
  node_.enter();
  node_.transport().recv(*this);
  node_.leave();
}

void TestRecv::cancel() {
  node_.enter();
  node_.transport().cancel(*this);
  node_.leave();
  pending_ = false;
}

Status TestRecv::onMatched(const Envelope& with, std::size_t length) {
  node_.checkCallback("onMatched");
  EXPECT_TRUE(pending_);
  EXPECT_LE(++matches, may_be_taken_back ? 2 : 1) << "onMatched comes once, but for messages that are taken back";
  envelope = with;
  length_ = length;
  if (on_match) on_match();
  if (refuse) return Status::error(GOSS_ERR_MISMATCH, "the test refuses this message");
  if (length > capacity) return Status::error(GOSS_ERR_TRUNCATED, "the message is longer than the receive");
  return Status::ok();
}

void TestRecv::onData(std::size_t offset, std::span<const std::byte> view) {
  node_.checkCallback("onData");
  EXPECT_TRUE(pending_ && consumes && matches == 1);
  EXPECT_EQ(offset, viewed_);
  EXPECT_FALSE(view.empty());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data()) % 16, 0u);
  ASSERT_LE(offset + view.size(), length_);
  EXPECT_TRUE(offset + view.size() == length_ || view.size() % 64 == 0) << "only the last view may be odd";
  std::memcpy(room_.data() + offset, view.data(), view.size());
  viewed_ += view.size();
  if (on_data) on_data();
}

void TestRecv::onReceived(const Status& result) {
  node_.checkCallback("onReceived");
  EXPECT_TRUE(pending_) << "onReceived on an operation that was complete, cancelled or not posted";
  pending_ = false;
  ++completions;
  status = result;
  if (result.isOk()) {
    EXPECT_GE(matches, 1);
    EXPECT_TRUE(!consumes || viewed_ == length_);
  }
  if (then) then();
}

} // namespace goss::tests
