// The frames by which messages wait for their receives, over one socket: the sending half, and the receiving one.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platform/poller.h"
#include "platform/stream.h"
#include "tests/support/connected_sockets.h"
#include "transports/common/deferred.h"
#include "transports/tcp/link/frame_reader.h"
#include "transports/tcp/link/frame_writer.h"
#include "transports/tcp/stream/wire.h"

namespace goss::test {
namespace {

using transports::Deferred;
using transports::kMessageCost;
using transports::Matcher;
using transports::tcp::Connection;
using transports::tcp::Frame;
using transports::tcp::FrameKind;
using transports::tcp::FrameReader;
using transports::tcp::FrameWriter;
using transports::tcp::kFrameBytes;

constexpr Tag kFlow = Tag{1} << 48;
constexpr std::size_t kEager = 8192;
constexpr std::uint64_t kRoom = 64 * 1024;
constexpr std::size_t kLong = std::size_t{600} << 10; ///< Is announced.

struct Send final : SendOperation {
  Send(Tag with, std::size_t size, char fill = 'a') : memory(size, fill), piece{memory.data(), size} {
    tag = with;
    bytes = size;
    pieces = {&piece, 1};
  }
  void onSent(const Status&) override { ++completions; }
  std::string memory;
  iovec piece;
  int completions = 0;
};

struct Recv final : RecvOperation {
  Recv(Tag with, std::size_t size) : memory(size, ' '), piece{memory.data(), size} {
    tag = with;
    capacity = size;
    pieces = {&piece, 1};
  }
  Status onMatched(const Envelope&, std::size_t) override { return Status::ok(); }
  void onReceived(const Status& result) override {
    done = true;
    status = result;
  }
  std::string memory;
  iovec piece;
  bool done = false;
  Status status;
};

struct Came {
  Frame frame;
  std::string payload;
};

class TcpCredit : public ::testing::Test {
 protected:
  void SetUp() override {
    auto [here, there] = connectedSockets();
    const int small = 16 * 1024; // Small, so that few bytes are in flight.
    ::setsockopt(here.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    there_ = std::move(there);
    poller_.emplace(platform::Poller::create().take());
    ASSERT_TRUE(connections_[0].open(platform::Stream(std::move(here)), *poller_, 1, true).isOk());
    writer_ = std::make_unique<FrameWriter>(connections_, kEager);
  }
  /// Flushes until nothing comes any more; returns what has come whole. The system may wait 200 ms with the next bytes.
  std::vector<Came> take() {
    for (int quiet = 0; quiet < 20; ++quiet) {
      writer_->flush();
      platform::waitReadable(there_.get(), platform::Deadline::after(std::chrono::milliseconds(20)));
      char bytes[65536];
      const ssize_t got = ::recv(there_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (got <= 0) continue;
      raw_.append(bytes, static_cast<std::size_t>(got));
      quiet = -1;
    }
    std::vector<Came> all;
    while (raw_.size() >= kFrameBytes) {
      Came one;
      EXPECT_TRUE(transports::tcp::decodeFrame(raw_.substr(0, kFrameBytes), one.frame));
      const FrameKind kind = one.frame.kind;
      const std::size_t bytes =
          kind == FrameKind::message || kind == FrameKind::chunk ? one.frame.header.bytes : std::size_t{0};
      if (raw_.size() < kFrameBytes + bytes) break;
      one.payload = raw_.substr(kFrameBytes, bytes);
      raw_.erase(0, kFrameBytes + bytes);
      all.push_back(std::move(one));
    }
    return all;
  }
  static bool has(const std::vector<Came>& all, FrameKind kind, Tag number) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Came& one) { return one.frame.kind == kind && one.frame.header.tag == number; });
  }
  void say(const Frame& frame, const std::string& payload = {}) {
    const transports::tcp::FrameBytes bytes = transports::tcp::encodeFrame(frame);
    const std::string all = std::string(bytes.data(), bytes.size()) + payload;
    ASSERT_EQ(::send(there_.get(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
  }

  platform::UniqueFd there_;
  std::optional<platform::Poller> poller_;
  std::vector<Connection> connections_ = std::vector<Connection>(1);
  std::unique_ptr<FrameWriter> writer_;
  std::string raw_;
};

TEST_F(TcpCredit, AFlowWithoutCreditDoesNotHideAnotherOneThatHasSome) {
  ASSERT_TRUE(writer_->handleRoom(kRoom));
  std::vector<std::unique_ptr<Send>> sends;
  const auto post = [&](Tag flow, int count) {
    for (; count > 0; --count) {
      sends.push_back(std::make_unique<Send>(flow, kLong));
      EXPECT_FALSE(writer_->post(*sends.back()));
    }
  };
  post(kFlow, 40);
  post(2 * kFlow, 5);
  const std::vector<Came> announced = take();
  std::vector<std::uint64_t> waiting; // Numbers of those of the second flow.
  std::uint64_t number = 0;
  int taken = 0;
  for (const Came& one : announced) {
    if (one.frame.kind != FrameKind::announce) continue;
    ++number;
    if (one.frame.header.tag != 2 * kFlow) continue;
    if (one.frame.eager == 0)
      waiting.push_back(number);
    else
      ++taken;
  }
  ASSERT_EQ(number, 45u);
  ASSERT_GT(taken, 0);
  ASSERT_FALSE(waiting.empty());
  ASSERT_TRUE(writer_->handleCredit(2 * kFlow, kMessageCost + kEager));
  EXPECT_TRUE(has(take(), FrameKind::advance, waiting.front()));
  for (auto& send : sends)
    EXPECT_TRUE(writer_->cancel(*send));
}

TEST_F(TcpCredit, AShortMessageThatIsTakenBackHalfWayGoesOnAsACopy) {
  constexpr std::size_t kShort = std::size_t{500} << 10;
  ASSERT_TRUE(writer_->handleRoom(std::uint64_t{8} << 20));
  Send half(kFlow, kShort, 'h');
  Send next(kFlow, 10, 'n');
  ASSERT_FALSE(writer_->post(half)) << "the socket cannot hold it";
  ASSERT_FALSE(writer_->post(next));
  EXPECT_TRUE(writer_->cancel(half));
  half.memory.assign(kShort, 'x');
  const std::vector<Came> came = take();
  ASSERT_EQ(came.size(), 2u);
  EXPECT_EQ(came[0].frame.kind, FrameKind::message);
  EXPECT_TRUE(came[0].payload == std::string(kShort, 'h'));
  EXPECT_EQ(came[1].payload, next.memory);
  EXPECT_EQ(half.completions, 0);
  EXPECT_EQ(next.completions, 1);
}

class TcpCreditReader : public TcpCredit {
 protected:
  void SetUp() override {
    TcpCredit::SetUp();
    reader_ = std::make_unique<FrameReader>(connections_, matcher_, *writer_, kRoom);
  }
  void run() {
    ASSERT_TRUE(platform::waitReadable(connections_[0].fd(), platform::Deadline::after(std::chrono::seconds(20))));
    for (int i = 0; i < 100; ++i)
      reader_->run();
  }

  Deferred deferred_;
  Matcher matcher_{1, deferred_};
  std::unique_ptr<FrameReader> reader_;
};

// The sender had credit again, and its receiver a receive, at the same time.
TEST_F(TcpCreditReader, TakesAPartOfAMessageThatHasMetItsReceiveButIsNotGrantedYet) {
  say({FrameKind::announce, {kFlow + 1, kLong, {}}, 0});
  run();
  Recv recv(kFlow + 1, kLong);
  matcher_.post(recv);
  // All in one turn: with the message the matcher looks at what waits.
  say({FrameKind::message, {kFlow + 2, 1, {}}}, "m");
  say({FrameKind::advance, {1, kEager, {}}});
  say({FrameKind::chunk, {1, kEager, {}}}, std::string(kEager, 'p'));
  run();
  ASSERT_EQ(reader_->end(), FrameReader::End::none) << reader_->endReason();
  EXPECT_TRUE(has(take(), FrameKind::grant, 1));
  for (std::size_t at = kEager; at < kLong;) {
    const std::size_t bytes = std::min<std::size_t>(kLong - at, 16 * 1024);
    say({FrameKind::chunk, {1, bytes, {}}}, std::string(bytes, 'p'));
    at += bytes;
    run();
  }
  EXPECT_TRUE(recv.done && recv.status.isOk());
  EXPECT_TRUE(recv.memory == std::string(kLong, 'p'));
}

TEST_F(TcpCreditReader, MoreThanTheRoomIsAProtocolError) {
  for (int i = 0; i < 7; ++i)
    say({FrameKind::announce, {kFlow, kLong, {}}, kEager});
  run();
  EXPECT_EQ(reader_->end(), FrameReader::End::none);
  say({FrameKind::announce, {kFlow, kLong, {}}, kEager});
  run();
  EXPECT_EQ(reader_->end(), FrameReader::End::malformed);
}

// A message that the sender has finished no longer counts as announced, but may not have been read here.
TEST_F(TcpCreditReader, TakesMoreAnnouncedMessagesThanASenderCounts) {
  const Frame frame{FrameKind::announce, {kFlow, kLong, {}}, 0};
  const transports::tcp::FrameBytes one = transports::tcp::encodeFrame(frame);
  constexpr std::size_t kAtOnce = 256;
  std::string many;
  for (std::size_t i = 0; i < kAtOnce; ++i)
    many.append(one.data(), one.size());
  const auto announce = [&](std::size_t count) {
    for (std::size_t said = 0; said < count; said += kAtOnce) {
      ASSERT_EQ(::send(there_.get(), many.data(), many.size(), 0), static_cast<ssize_t>(many.size()));
      run();
    }
  };
  announce(transports::tcp::kMaxAnnounced + kAtOnce);
  EXPECT_EQ(reader_->end(), FrameReader::End::none);
}

} // namespace
} // namespace goss::test
