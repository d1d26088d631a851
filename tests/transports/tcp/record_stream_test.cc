// A stream that goes on over one connection after the other: nothing is lost, nothing comes twice.
#include "transports/tcp/stream/record_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "platform/crc32c.h"

namespace goss::transports::tcp {
namespace {

using platform::Stream;
using platform::StreamResult;
using platform::UniqueFd;

std::string bytesOf(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, 0);
  for (char& byte : bytes)
    byte = static_cast<char>(random());
  return bytes;
}

std::pair<Stream, UniqueFd> connected() {
  int pair[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
  return {Stream(UniqueFd(pair[0])), UniqueFd(pair[1])};
}

/// One end: the bytes that it sends and those that it has received.
struct End {
  End(std::size_t window, bool checked) : records(window, checked) {}
  RecordStream records;
  Stream stream;
  bool lost = false;
  std::string sends;
  std::size_t written = 0;
  std::string received;

  void note(const StreamResult& result) {
    ASSERT_FALSE(records.isMalformed());
    lost = lost || result.ended;
  }
  void write(std::size_t most) {
    const iovec piece{sends.data() + written, std::min(most, sends.size() - written)};
    const StreamResult result = records.write(stream, std::span(&piece, 1));
    written += result.bytes;
    note(result);
    note(records.flush(stream));
  }
  /// Into two pieces, the first one small.
  bool read(std::size_t most) {
    std::string room(most, 0);
    const std::size_t first = std::min<std::size_t>(most, 3);
    const std::array<iovec, 3> pieces{iovec{room.data(), first}, iovec{nullptr, 0},
                                      iovec{room.data() + first, most - first}};
    const StreamResult result = records.read(stream, pieces);
    received.append(room, 0, result.bytes);
    note(result);
    return result.bytes > 0;
  }
};

/// Two ends, and between them a wire that carries so many bytes and then breaks.
class Wire {
 public:
  Wire(std::size_t window, std::size_t bytes, unsigned seed, bool checked)
      : a(window, checked), b(window, checked), random_(seed) {
    a.sends = bytesOf(bytes, 1);
    b.sends = bytesOf(bytes, 2);
    connect();
  }
  End a, b;

  void connect() {
    std::tie(a.stream, at_a_) = connected();
    std::tie(b.stream, at_b_) = connected();
    a.lost = b.lost = false;
  }
  void resume() {
    a.records.restart();
    b.records.restart();
    connect();
  }
  /// Carries bytes one way, at most so many. Returns how many.
  std::size_t carry(int from, int to, std::size_t most) {
    std::string bytes(most, 0);
    const StreamResult got = platform::readSome(from, bytes.data(), bytes.size());
    EXPECT_EQ(platform::writeSome(to, bytes.data(), got.bytes).bytes, got.bytes);
    return got.bytes;
  }
  /// Works until both have everything, or the wire has carried `budget` bytes in all; then it breaks.
  void work(std::size_t budget) {
    for (int idle = 0; idle < 1000 && !done();) {
      const std::size_t before = budget;
      for (End* end : {&a, &b}) {
        if (end->lost) continue;
        end->write(1 + random_() % 90);
        if (random_() % 4 == 0)
          end->note(end->records.pull(end->stream));
        else
          end->read(1 + random_() % 90);
      }
      if (budget > 0) budget -= carry(at_a_.get(), at_b_.get(), std::min<std::size_t>(budget, 1 + random_() % 200));
      if (budget > 0) budget -= carry(at_b_.get(), at_a_.get(), std::min<std::size_t>(budget, 1 + random_() % 200));
      if (budget == 0) break;
      idle = before == budget ? idle + 1 : 0;
      ASSERT_FALSE(::testing::Test::HasFatalFailure());
    }
    carried_all_ = budget > 0;
  }
  void cut() {
    at_a_.reset();
    at_b_.reset();
    // Each end finds out on its own, after what has arrived.
    for (End* end : {&a, &b}) {
      for (int turn = 0; turn < 10000 && !end->lost; ++turn)
        end->read(1 + random_() % 90);
      ASSERT_TRUE(end->lost);
    }
  }
  [[nodiscard]] bool done() const { return a.received.size() == b.sends.size() && b.received.size() == a.sends.size(); }
  [[nodiscard]] bool carriedAll() const { return carried_all_; }
  void expectAll() const {
    EXPECT_TRUE(a.received == b.sends);
    EXPECT_TRUE(b.received == a.sends);
  }

 private:
  UniqueFd at_a_, at_b_;
  std::mt19937 random_;
  bool carried_all_ = false;
};

constexpr std::size_t kBytes = 250;
constexpr std::size_t kNoEnd = std::size_t{1} << 40;

/// Without checksums and with them.
class TcpRecords : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Checked, TcpRecords, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "checked" : "plain"; });

TEST_P(TcpRecords, CarryBothDirectionsThroughASmallWindow) {
  for (const std::size_t window : {8u, 64u, 1000u}) {
    Wire wire(window, 20000, 7, GetParam());
    wire.work(kNoEnd);
    wire.expectAll();
  }
}

TEST_P(TcpRecords, GoOnAfterABreakAtEveryByte) {
  for (const std::size_t window : {64u, 4096u}) {
    bool through = false;
    for (std::size_t budget = 0; !through; ++budget) {
      ASSERT_LT(budget, 100000u);
      Wire wire(window, kBytes, static_cast<unsigned>(budget), GetParam());
      wire.work(budget);
      through = wire.carriedAll();
      wire.cut();
      wire.resume();
      wire.work(kNoEnd);
      ASSERT_TRUE(wire.done()) << "broken after " << budget;
      wire.expectAll();
    }
  }
}

TEST_P(TcpRecords, GoOnThoughTheNextConnectionBreaksAtEveryByteToo) {
  for (std::size_t first = 100; first < 500; first += 90) {
    for (std::size_t second = 0; second < 300; second += 5) {
      Wire wire(256, kBytes, static_cast<unsigned>(first + second), GetParam());
      for (const std::size_t budget : {first, second, std::size_t{0}}) {
        wire.work(budget);
        wire.cut();
        wire.resume();
      }
      wire.work(kNoEnd);
      ASSERT_TRUE(wire.done()) << first << ", " << second;
      wire.expectAll();
    }
  }
}

TEST_P(TcpRecords, GetThroughHoweverOftenTheyBreak) {
  // A checked stream progresses by whole records: one of a window's bytes, and those that say where it continues.
  const std::size_t least = GetParam() ? 300 : 80;
  for (std::size_t budget = least; budget < least + 320; budget += 7) {
    Wire wire(128, kBytes, static_cast<unsigned>(budget), GetParam());
    int breaks = 0;
    for (; !wire.done(); ++breaks) {
      ASSERT_LT(breaks, 1000);
      wire.work(budget);
      wire.cut();
      wire.resume();
    }
    wire.expectAll();
  }
}

TEST_P(TcpRecords, OneEndMayFindTheBreakLater) {
  // This end has continued over the next connection while the other end still reads bytes of the last one.
  RecordStream here(kWindowBytes, GetParam()), there(kWindowBytes, GetParam());
  auto [near, far] = connected();
  Stream other(std::move(far));
  const std::string text = bytesOf(1000, 5);
  const iovec all{const_cast<char*>(text.data()), text.size()};
  ASSERT_EQ(here.write(near, std::span(&all, 1)).bytes, text.size());
  here.restart();
  auto [next_near, next_far] = connected();
  here.flush(next_near);
  std::string got(1000, 0);
  const iovec room{got.data(), 600};
  ASSERT_EQ(there.read(other, std::span(&room, 1)).bytes, 600u);
  Stream next_other(std::move(next_far));
  there.restart();
  there.flush(next_other);
  const iovec rest{got.data() + 600, 400};
  EXPECT_EQ(there.read(next_other, std::span(&rest, 1)).bytes, 0u);
  here.pull(next_near);
  here.flush(next_near);
  EXPECT_EQ(there.read(next_other, std::span(&rest, 1)).bytes, 400u);
  EXPECT_EQ(got, text);
}

TEST_P(TcpRecords, NoMoreThanTheWindowGoesOutUnread) {
  RecordStream here(4096, GetParam()), there(4096, GetParam());
  auto [near_end, far] = connected();
  Stream near = std::move(near_end);
  Stream other(std::move(far));
  const std::string text = bytesOf(100000, 3);
  std::size_t written = 0;
  const auto write = [&] {
    const iovec rest{const_cast<char*>(text.data()) + written, text.size() - written};
    written += here.write(near, std::span(&rest, 1)).bytes;
  };
  for (int turn = 0; turn < 100; ++turn) {
    write();
    there.pull(other);
    there.flush(other);
    here.pull(near);
  }
  EXPECT_EQ(written, 4096u);
  std::string got(3000, 0);
  const iovec room{got.data(), got.size()};
  EXPECT_EQ(there.read(other, std::span(&room, 1)).bytes, 3000u);
  there.flush(other);
  here.pull(near);
  write();
  EXPECT_EQ(written, 4096u + 3000u);
}

/// The result of a stream that has sent 10 bytes when it reads these.
bool makesSense(std::string_view bytes, bool checked, bool after_restart) {
  RecordStream records(64, checked);
  auto [stream, fd] = connected();
  const iovec ten{const_cast<char*>("0123456789"), 10};
  EXPECT_EQ(records.write(stream, std::span(&ten, 1)).bytes, 10u);
  if (after_restart) records.restart();
  EXPECT_EQ(platform::writeSome(fd.get(), bytes.data(), bytes.size()).bytes, bytes.size());
  const StreamResult result = records.pull(stream);
  EXPECT_EQ(result.ended, records.isMalformed());
  return !result.ended;
}

TEST_P(TcpRecords, WhatMakesNoSenseEndsThem) {
  const bool checked = GetParam();
  const auto header = [checked](std::uint32_t bytes, std::uint64_t used, std::string_view payload = {}) {
    const auto encoded =
        encodeRecordHeader({bytes, used, checked ? platform::crc32c(payload.data(), payload.size()) : 0}, checked);
    return std::string(encoded.data(), encoded.size()).append(payload);
  };
  EXPECT_TRUE(makesSense(header(0, 10), checked, false));
  EXPECT_TRUE(makesSense(header(0, 0) + header(4, 10, "abcd") + header(0, 10), checked, false));
  EXPECT_FALSE(makesSense(header(0, 11), checked, false)) << "more than was sent";
  EXPECT_FALSE(makesSense(header(0, 5) + header(0, 4), checked, false)) << "less than before";
  EXPECT_FALSE(makesSense(header(kMaxRecordBytes + 1, 0), checked, false));
  EXPECT_TRUE(makesSense(header(0, 7), checked, true));
  EXPECT_FALSE(makesSense(header(0, 11), checked, true));
  EXPECT_FALSE(makesSense(header(4, 7, "abcd"), checked, true)) << "the first record after a break carries nothing";
  EXPECT_FALSE(makesSense(header(200000, 0, std::string(200000, 'x')), checked, false)) << "more than the window";
  EXPECT_FALSE(makesSense("GTF1 is no record of ours", false, false));
}

// ---- Bytes that were changed on their way ----

/// The bytes on the wire when a checked stream writes these, one record each.
std::string recordsOf(RecordStream& records, const std::vector<std::string>& payloads) {
  auto [stream, fd] = connected();
  std::string wire(1 << 20, 0);
  std::size_t size = 0;
  for (const std::string& payload : payloads) {
    const iovec piece{const_cast<char*>(payload.data()), payload.size()};
    EXPECT_EQ(records.write(stream, std::span(&piece, 1)).bytes, payload.size());
    size += platform::readSome(fd.get(), wire.data() + size, wire.size() - size).bytes;
  }
  wire.resize(size);
  return wire;
}

struct Outcome {
  std::string received;
  StreamResult end;
};

/// What a reader that asks for `most` bytes at a time gets of these bytes, and its result afterwards.
Outcome readAll(RecordStream& records, std::string_view wire, std::size_t most) {
  auto [stream, fd] = connected();
  EXPECT_EQ(platform::writeSome(fd.get(), wire.data(), wire.size()).bytes, wire.size());
  Outcome outcome;
  std::string room(most, 0);
  for (;;) {
    const iovec piece{room.data(), room.size()};
    outcome.end = records.read(stream, std::span(&piece, 1));
    outcome.received.append(room, 0, outcome.end.bytes);
    if (outcome.end.bytes == 0) return outcome;
  }
}

TEST(TcpCheckedRecords, ShowEveryBitThatFlips) {
  RecordStream sender(4096, true);
  const std::string good = recordsOf(sender, {"the first of two records", "and the second one"});
  ASSERT_EQ(good.size(), 2 * kRecordHeaderBytes + 42);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string wire = good;
    wire[bit / 8] = static_cast<char>(wire[bit / 8] ^ 1 << bit % 8);
    const bool in_first = bit / 8 < kRecordHeaderBytes + 24;
    for (const std::size_t most : {5u, 1000u}) {
      RecordStream receiver(4096, true);
      const Outcome outcome = readAll(receiver, wire, most);
      EXPECT_EQ(outcome.received, in_first ? "" : "the first of two records") << bit;
      // A length that has grown may mean that more is to come, but for the checksum of the header.
      EXPECT_TRUE(outcome.end.ended) << bit;
      EXPECT_EQ(outcome.end.error, EBADMSG) << bit;
      EXPECT_TRUE(receiver.isCorrupted()) << bit;
      EXPECT_FALSE(receiver.isMalformed() || receiver.hasInput()) << bit;
    }
  }
}

TEST(TcpCheckedRecords, AreSentAgainAfterThat) {
  RecordStream sender(4096, true), receiver(4096, true);
  const std::string first = "the first of two records", second = "and the second one";
  std::string wire = recordsOf(sender, {first, second});
  wire.back() ^= 4;
  EXPECT_EQ(readAll(receiver, wire, 10).received, first);
  sender.restart();
  receiver.restart();
  EXPECT_FALSE(receiver.isCorrupted());
  auto [near, far] = connected();
  Stream other(std::move(far));
  sender.flush(near);
  receiver.flush(other);
  sender.pull(near);
  sender.flush(near);
  std::string room(100, 0);
  const iovec piece{room.data(), room.size()};
  EXPECT_EQ(room.substr(0, receiver.read(other, std::span(&piece, 1)).bytes), second);
}

// Nothing of a record is given away before all of it is there and found right.
TEST(TcpCheckedRecords, GiveNothingUntilTheyAreWhole) {
  RecordStream sender(1 << 20, true), receiver(1 << 20, true);
  const std::string payload = bytesOf(90000, 4);
  const std::string wire = recordsOf(sender, {payload});
  auto [stream, fd] = connected();
  std::string room(payload.size(), 0);
  const iovec piece{room.data(), room.size()};
  for (std::size_t at = 0; at < wire.size();) {
    const std::size_t step = std::min<std::size_t>(7001, wire.size() - at);
    at += platform::writeSome(fd.get(), wire.data() + at, step).bytes;
    const StreamResult got = receiver.read(stream, std::span(&piece, 1));
    ASSERT_EQ(got.bytes, at == wire.size() ? payload.size() : 0u);
    ASSERT_FALSE(got.ended || receiver.hasInput());
  }
  EXPECT_EQ(room, payload);
}

} // namespace
} // namespace goss::transports::tcp
