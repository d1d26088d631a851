// Attacks of another process: garbage in the ring, foreign callers, descriptors that could shrink, odd forks.
#include <errno.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/config.h"
#include "tests/lib/platform/descriptor_limit.h"
#include "tests/transports/shm/whole_send.h"
#include "transports/shm/board_memory.h"
#include "transports/shm/packet.h"
#include "transports/shm/rendezvous.h"
#include "transports/shm/ring.h"
#include "transports/shm/shm.h"

namespace goss::transports {
namespace {

struct Recv final : RecvOperation {
  explicit Recv(int from) : piece{room, sizeof room} {
    peer = from;
    tag = 1;
    pieces = {&piece, 1};
    capacity = sizeof room;
  }
  Status onMatched(const Envelope&, std::size_t) override { return Status::ok(); }
  void onReceived(const Status& result) override {
    ++completions;
    status = result;
  }
  char room[64] = {};
  iovec piece;
  int completions = 0;
  Status status;
};

struct Losses : TransportListener {
  void onPeerLost(int peer, const Status& status, PeerLoss how) override {
    EXPECT_EQ(peer, 1);
    EXPECT_NE(how, PeerLoss::departed);
    last = status;
    ++count;
  }
  int count = 0;
  Status last;
};

/// Rank 0 of two; the test plays rank 1.
class ShmHostile : public ::testing::Test {
 protected:
  ShmHostile() {
    context_.size = 2;
    context_.config = &config_;
    context_.listener = &losses_;
    context_.job.fill(std::byte{7});
    victim_ = std::make_unique<ShmTransport>(context_);
    address_ = victim_->open().take();
    EXPECT_TRUE(
        victim_->connect(1, shm::ShmAddress{shm::ShmAddress::decode(address_)->host, "nobody"}.encode()).isOk());
  }
  TransportContext attacker() {
    TransportContext context = context_;
    context.self = 1;
    return context;
  }
  platform::UniqueFd call() { return shm::dial(shm::ShmAddress::decode(address_)->name, 0).take(); }
  /// Meets the victim as the real rank 1 would.
  static constexpr std::size_t kLongBytes = 20000;
  /// A message in several records, with tag 1; the first such message, or the next one.
  static void writeLong(shm::RingWriter& writer, std::uint64_t number) {
    std::vector<std::byte> bytes(kLongBytes);
    const iovec piece{bytes.data(), bytes.size()};
    PieceCursor from({&piece, 1});
    std::uint64_t left = bytes.size();
    left -= writer.writePiece(shm::RecordKind::first, {Tag{1}, bytes.size(), {}}, from, left);
    while (left > 0)
      left -= writer.writePiece(shm::RecordKind::more, {number, bytes.size(), {}}, from, left);
  }
  void meet() {
    segment_ = shm::Segment::create(64 * 1024).take();
    socket_ = call();
    ASSERT_TRUE(shm::sendHello(socket_.get(), attacker(), 0, segment_, board_.fd()).isOk());
    drive(10);
    ASSERT_EQ(victim_->link(1), LinkState::ready);
  }
  void drive(int calls) {
    for (int i = 0; i < calls; ++i)
      victim_->progress();
  }
  void expectProtocolError() {
    Recv op(1);
    victim_->recv(op);
    drive(5000);
    EXPECT_EQ(losses_.count, 1);
    EXPECT_EQ(losses_.last.kind(), GOSS_ERR_PROTOCOL);
    EXPECT_NE(losses_.last.text().find("rank 1"), std::string::npos);
    EXPECT_EQ(op.completions, 1);
    EXPECT_EQ(victim_->link(1), LinkState::failed);
  }
  void putRecord(shm::RecordHeader record) { std::memcpy(segment_.outBytes(), &record, sizeof record); }

  Config config_;
  Losses losses_;
  TransportContext context_;
  std::unique_ptr<ShmTransport> victim_;
  std::string address_;
  shm::Segment segment_;
  shm::BoardMemory board_ = shm::BoardMemory::create().take();
  platform::UniqueFd socket_;
};

TEST_F(ShmHostile, ARealMessageArrives) {
  meet();
  Recv op(1);
  victim_->recv(op);
  shm::RingWriter writer(segment_);
  EXPECT_TRUE(writer.writeBrief(1, {}, {}));
  drive(10);
  EXPECT_EQ(op.completions, 1);
  EXPECT_TRUE(op.status.isOk());
}

// As a probe behind messages that a rank has not asked for yet: it computes, and looks a few times a second.
TEST_F(ShmHostile, WhatNobodyWaitsForHoldsUpNothingBehindIt) {
  meet();
  Recv standing(1);
  standing.tag = 2;
  victim_->recv(standing);
  shm::RingWriter writer(segment_);
  for (int i = 0; i < 101; ++i) {
    ASSERT_TRUE(writer.writeBrief(i < 100 ? Tag{1} : Tag{2}, {}, {}));
  }
  drive(2);
  EXPECT_EQ(standing.completions, 1);
}

TEST_F(ShmHostile, WhatAPeerHadWrittenBeforeItDiedArrivesWithoutAnyReceive) {
  meet();
  shm::RingWriter writer(segment_);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(writer.writeBrief(1, {}, {}));
  }
  socket_.reset();
  victim_->sleepEnded(); // Makes it look at its sockets in the same call that reads the ring.
  drive(10);
  EXPECT_EQ(losses_.count, 1);
  for (int i = 0; i < 3; ++i) {
    Recv op(1);
    victim_->recv(op);
    drive(1);
    EXPECT_EQ(op.completions, 1);
    EXPECT_TRUE(op.status.isOk()) << "message " << i << ": " << op.status.text();
  }
}

// No receive for them comes soon, unlike in a window; a probe may be behind them, and a rank that computes polls
// seldom.
TEST_F(ShmHostile, LongMessagesThatNobodyWaitsForHoldUpNothingBehindThem) {
  meet();
  Recv standing(1);
  standing.tag = 2;
  victim_->recv(standing);
  shm::RingWriter writer(segment_);
  for (const std::uint64_t number : {1, 2})
    writeLong(writer, number);
  ASSERT_TRUE(writer.writeBrief(Tag{2}, {}, {}));
  drive(1);
  EXPECT_EQ(standing.completions, 1);
}

TEST_F(ShmHostile, LongMessagesWrittenBeforeADeathArriveWithoutAnyReceive) {
  meet();
  shm::RingWriter writer(segment_);
  for (const std::uint64_t number : {1, 2})
    writeLong(writer, number);
  socket_.reset();
  victim_->sleepEnded(); // Makes it look at its sockets.
  drive(10);
  EXPECT_EQ(losses_.count, 1);
  for (int i = 0; i < 2; ++i) {
    std::vector<std::byte> room(kLongBytes);
    Recv recv(1);
    recv.piece = {room.data(), room.size()};
    recv.capacity = room.size();
    victim_->recv(recv);
    drive(1);
    EXPECT_EQ(recv.completions, 1);
    EXPECT_TRUE(recv.status.isOk()) << "message " << i << ": " << recv.status.text();
  }
}

TEST_F(ShmHostile, RecordsThatMakeNoSenseAreAProtocolError) {
  using shm::RecordKind;
  const shm::RecordHeader cases[] = {
      {static_cast<RecordKind>(0x12345678), 0, 0, 1, {}},   // No such kind.
      {RecordKind::brief, 10, 0, 1, {}},                    // Lengths that disagree.
      {RecordKind::brief, 1u << 20, 1u << 20, 1, {}},       // Longer than the ring.
      {RecordKind::brief, 64 * 1024, 64 * 1024, 1, {}},     // As long as the ring.
      {RecordKind::brief, 0xffffffffu, 0xffffffffu, 1, {}}, // As long as can be said.
      {RecordKind::more, 64, 0, 0, {}},                     // A continuation of nothing.
      {RecordKind::more, 0, 100, 1, {}},                    // An empty piece would never end.
      {RecordKind::first, 128, 64, 1, {}},                  // A piece longer than its message.
      {RecordKind::first, 64, 128, 1, {}},                  // A piece of what was to wait for a grant.
      {RecordKind::grant, 64, 1, 0, {}},                    // An answer with payload.
      {RecordKind::repeat, 8, 0, 0, {}},                    // A repetition of nothing.
      {RecordKind::align, 0, 0, 0, {}},                     // A line of nothing.
  };
  for (const shm::RecordHeader& record : cases) {
    SCOPED_TRACE(&record - cases);
    losses_ = Losses();
    victim_ = std::make_unique<ShmTransport>(context_);
    address_ = victim_->open().take();
    ASSERT_TRUE(victim_->connect(1, address_).isOk());
    meet();
    putRecord(record);
    expectProtocolError();
  }
}

TEST_F(ShmHostile, DescriptionsThatMakeNoSenseAreAProtocolError) {
  constexpr std::uint64_t kRegionBytes = 1u << 16;
  constexpr std::uint64_t kFar = ~std::uint64_t{0};
  struct Case {
    std::uint64_t slot, pieces;
    shm::DirectPiece piece;
    std::uint64_t bytes;
    shm::DirectPiece reply = {0, 0, 0};
  };
  const Case cases[] = {
      {99, 1, {7, 0, 100}, 100},                        // No such slot.
      {0, 0, {7, 0, 0}, 0},                             // No piece.
      {0, 65, {7, 0, 100}, 100},                        // More pieces than the record holds.
      {0, 1, {8, 0, 100}, 100},                         // A region that nobody lent.
      {0, 1, {7, 0, 100}, 200},                         // Pieces that do not add up.
      {0, 1, {7, kRegionBytes, 100}, 100},              // Behind the region,
      {0, 1, {7, kFar, 100}, 100},                      // far behind,
      {0, 1, {7, 100, kRegionBytes}, kRegionBytes},     // partly,
      {0, 1, {7, 100, kFar}, kFar},                     // and so far that sums wrap around.
      {0, 1, {7, 0, 100}, 100, {8, 0, 100}},            // A reply in a region that nobody lent,
      {0, 1, {7, 0, 100}, 100, {7, 0, 99}},             // of another length,
      {0, 1, {7, 0, 100}, 100, {0, 4096, 100}},         // at an address,
      {0, 1, {7, 0, 100}, 100, {7, kRegionBytes, 100}}, // behind the region,
      {0, 1, {0, 4096, 100}, 100, {7, 0, 100}},         // or of a message at an address.
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(&one - cases);
    losses_ = Losses();
    victim_ = std::make_unique<ShmTransport>(context_);
    address_ = victim_->open().take();
    ASSERT_TRUE(victim_->connect(1, address_).isOk());
    meet();
    platform::SharedPages pages = platform::SharedPages::create(kRegionBytes).take();
    ASSERT_TRUE(shm::sendRegion(socket_.get(), 7, pages.bytes(), pages.fd()));
    shm::DirectMessage message{one.slot, 9, one.reply, one.pieces, {one.piece}};
    shm::RingWriter writer(segment_);
    const std::span<const std::byte> all(reinterpret_cast<const std::byte*>(&message), sizeof message);
    const std::size_t length = shm::DirectMessage::bytesFor(one.pieces == 65 ? 64 : one.pieces);
    ASSERT_TRUE(writer.writeDirect({1, one.bytes, {}}, all.first(length)));
    expectProtocolError();
  }
}

TEST_F(ShmHostile, AReplyThatNobodyAskedForIsNone) {
  meet();
  platform::SharedPages pages = platform::SharedPages::create(1u << 16).take();
  victim_->sharedRegions()->add({pages.data(), pages.bytes(), pages.fd()});
  WholeSend op(pages.data(), pages.bytes());
  EXPECT_FALSE(victim_->send(op));
  ASSERT_EQ(segment_.theirSide().direct[0].state.load(), shm::DirectState::offered);
  segment_.theirSide().direct[0].state.store(shm::DirectState::replied);
  drive(5);
  EXPECT_EQ(op.completions, 1);
  EXPECT_TRUE(op.status.isOk());
  EXPECT_FALSE(op.reply.is_written);
  EXPECT_TRUE(victim_->sharedRegions()->remove(pages.data()).isOk());
}

TEST_F(ShmHostile, LentMemoryThatCouldShrinkIsAProtocolError) {
  meet();
  platform::UniqueFd open_ended(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(open_ended.get(), 1 << 16), 0);
  ASSERT_TRUE(shm::sendRegion(socket_.get(), 7, 1 << 16, open_ended.get()));
  expectProtocolError();
}

TEST_F(ShmHostile, PacketsThatMakeNoSenseAreAProtocolError) {
  meet();
  ASSERT_EQ(::send(socket_.get(), "no packet", 9, 0), 9);
  expectProtocolError();
}

TEST_F(ShmHostile, RandomRecordsNeverCrash) {
  unsigned state = 1;
  auto next = [&] { return state = state * 1664525u + 1013904223u; };
  for (int round = 0; round < 300; ++round) {
    losses_ = Losses();
    victim_ = std::make_unique<ShmTransport>(context_);
    address_ = victim_->open().take();
    ASSERT_TRUE(victim_->connect(1, address_).isOk());
    meet();
    Recv op(1);
    victim_->recv(op);
    std::vector<std::uint32_t> words(16 * 1024 / 4);
    for (auto& word : words)
      word = next() % 4 == 0 ? 0x47530001u + next() % 10 : next() % 3 == 0 ? next() : next() % 200;
    std::memcpy(segment_.outBytes(), words.data(), words.size() * 4);
    drive(5);
    socket_.reset();
    drive(2100);
    EXPECT_EQ(op.completions, 1) << "delivered, or failed with the link";
  }
}

TEST_F(ShmHostile, AHeadThatRunsAwayFillsTheRingInsteadOfOverwritingIt) {
  meet();
  shm::RingWriter writer(segment_);
  segment_.outControl().head.store(std::uint64_t{1} << 40);
  int written = 0;
  for (Tag tag = 0; written < 5000 && writer.writeBrief(tag, {}, {}); ++tag)
    ++written;
  EXPECT_EQ(written, 1023) << "64 KiB of records of 64 bytes, and the line behind them";
}

TEST_F(ShmHostile, ForeignCallersAreTurnedAwayAndTheRealOneIsHeard) {
  platform::UniqueFd silent = call();
  platform::UniqueFd garbage = call();
  ASSERT_GT(::send(garbage.get(), "GET / HTTP/1.1\r\n\r\n", 18, 0), 0);
  platform::UniqueFd stranger = call();
  TransportContext wrong = attacker();
  wrong.job.fill(std::byte{8});
  shm::Segment segment = shm::Segment::create(64 * 1024).take();
  ASSERT_TRUE(shm::sendHello(stranger.get(), wrong, 0, segment, board_.fd()).isOk());
  platform::UniqueFd impostor = call();
  wrong = attacker();
  wrong.self = 5;
  ASSERT_TRUE(shm::sendHello(impostor.get(), wrong, 0, segment, board_.fd()).isOk());
  drive(20);
  EXPECT_EQ(victim_->link(1), LinkState::connecting);
  char byte = 0;
  for (const auto* fd : {&garbage, &stranger, &impostor})
    EXPECT_EQ(::recv(fd->get(), &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_EQ(::recv(silent.get(), &byte, 1, MSG_DONTWAIT), -1) << "still waited for";
  meet();
  EXPECT_EQ(losses_.count, 0);
}

TEST_F(ShmHostile, ACallerWhoseMemoryCannotBeMappedIsGivenUpAtOnce) {
  segment_ = shm::Segment::create(64 * 1024).take();
  platform::UniqueFd no_board(::memfd_create("empty", MFD_CLOEXEC));
  socket_ = call();
  ASSERT_TRUE(shm::sendHello(socket_.get(), attacker(), 0, segment_, no_board.get()).isOk());
  drive(20);
  EXPECT_EQ(victim_->link(1), LinkState::failed);
  EXPECT_EQ(losses_.count, 1);
  EXPECT_FALSE(losses_.last.text().empty());
}

TEST_F(ShmHostile, SilentCallersDoNotKeepTheRealOneOut) {
  std::vector<platform::UniqueFd> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(call());
    drive(1);
  }
  drive(20);
  char byte = 0;
  EXPECT_EQ(::recv(silent.front().get(), &byte, 1, MSG_DONTWAIT), 0) << "the first is hung up on";
  EXPECT_EQ(::recv(silent.back().get(), &byte, 1, MSG_DONTWAIT), -1) << "the last is waited for";
  meet();
  EXPECT_EQ(losses_.count, 0);
}

TEST_F(ShmHostile, CallersAreHungUpOnWithoutDescriptorsAndNobodySpins) {
  drive(10); // UBSan looks at a fixture's type with descriptors of its own.
  std::vector<platform::UniqueFd> callers(3);
  for (platform::UniqueFd& caller : callers)
    caller = call();
  pollfd polled{victim_->pollFd(), POLLIN, 0};
  ASSERT_EQ(::poll(&polled, 1, 5000), 1);
  {
    const test::DescriptorLimit limit(0);
    drive(10);
    EXPECT_EQ(::poll(&polled, 1, 0), 0) << "who sleeps until something comes would wake at once, again and again";
  }
  char byte = 0;
  for (const platform::UniqueFd& caller : callers)
    EXPECT_EQ(::recv(caller.get(), &byte, 1, MSG_DONTWAIT), 0);
  meet();
  EXPECT_EQ(losses_.count, 0);
}

TEST_F(ShmHostile, AnUnsealedSegmentIsRefused) {
  // Cut short after it was mapped, it would kill the reader with SIGBUS.
  constexpr std::uint64_t kRing = 64 * 1024;
  platform::UniqueFd open_ended(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(open_ended.get(), 64 * 1024 + 2 * kRing), 0);
  Result<shm::Segment> attached = shm::Segment::attach(std::move(open_ended), kRing, 1);
  ASSERT_FALSE(attached.isOk());
  EXPECT_EQ(attached.status().kind(), GOSS_ERR_PROTOCOL);
  EXPECT_FALSE(shm::Segment::attach(platform::UniqueFd(), 12345, 1).isOk());
}

TEST_F(ShmHostile, ASecondCallOfTheSameRankChangesNothing) {
  meet();
  platform::UniqueFd again = call();
  shm::Segment segment = shm::Segment::create(64 * 1024).take();
  ASSERT_TRUE(shm::sendHello(again.get(), attacker(), 0, segment, board_.fd()).isOk());
  drive(3000);
  EXPECT_EQ(victim_->link(1), LinkState::ready);
  char byte = 0;
  EXPECT_EQ(::recv(again.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST_F(ShmHostile, AForkedChildThatExitsDoesNotSayGoodbyeForItsParent) {
  meet();
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    victim_.reset(); // As a global of a Python program would be destroyed.
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(segment_.theirSide().goodbye.load(), 0u);
  char byte = 0;
  EXPECT_EQ(::recv(socket_.get(), &byte, 1, MSG_DONTWAIT), 1) << "the welcome";
  EXPECT_EQ(::recv(socket_.get(), &byte, 1, MSG_DONTWAIT), -1) << "and no end";
  EXPECT_EQ(victim_->link(1), LinkState::ready);
}

TEST_F(ShmHostile, AddressesThatAreNoneAreRefused) {
  for (std::string bad :
       {std::string(), std::string("GSM1"), std::string(2000, 'x'), address_.substr(0, 20), address_ + "x"}) {
    EXPECT_FALSE(victim_->reaches(bad));
  }
  shm::ShmAddress elsewhere{"another host", "name"};
  EXPECT_FALSE(victim_->reaches(elsewhere.encode()));
  ShmTransport other(context_);
  ASSERT_TRUE(other.open().isOk());
  EXPECT_FALSE(other.connect(1, elsewhere.encode()).isOk());
  EXPECT_EQ(other.link(1), LinkState::failed);
}

TEST(ShmRing, KeepsBytesAndOrderThroughManyTurns) {
  shm::Segment mine = shm::Segment::create(64 * 1024).take();
  shm::Segment theirs = shm::Segment::attach(platform::UniqueFd(::dup(mine.fd())), mine.ringBytes(), 1).take();
  shm::RingWriter writer(mine);
  shm::RingReader reader(theirs);
  std::vector<unsigned char> data(300000);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<unsigned char>(i * 31 + i / 256);
  for (std::size_t size : {0u, 1u, 16u, 17u, 64u, 4096u, 4097u, 16384u, 16385u, 70000u, 300000u}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      iovec piece{data.data(), size};
      PieceCursor from({&piece, 1});
      std::vector<unsigned char> got;
      std::size_t left = size;
      do {
        if (size <= shm::kShortBytes) {
          ASSERT_TRUE(writer.hasSpaceFor(size));
          writer.writeShort({5, size, {}}, from);
          left = 0;
        }
        while (left > 0 && writer.hasSpaceFor(left))
          left -= writer.writePiece(left == size ? shm::RecordKind::first : shm::RecordKind::more, {5, size, {}}, from,
                                    left);
        shm::RingReader::Record record;
        while (reader.peek(record) == shm::RingReader::Peek::record) {
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(record.payload.data()) % 16, 0u);
          auto* bytes = reinterpret_cast<const unsigned char*>(record.payload.data());
          got.insert(got.end(), bytes, bytes + record.payload.size());
          reader.pop(record);
        }
        reader.release();
      } while (left > 0);
      ASSERT_EQ(got, std::vector<unsigned char>(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size)))
          << size << " turn " << repeat;
    }
  }
}

// Messages that repeat the one before, at all positions within a line, between others that begin lines of their own.
TEST(ShmRing, KeepsShortMessagesThatShareLines) {
  shm::Segment mine = shm::Segment::create(64 * 1024).take();
  shm::Segment theirs = shm::Segment::attach(platform::UniqueFd(::dup(mine.fd())), mine.ringBytes(), 1).take();
  shm::RingWriter writer(mine);
  shm::RingReader reader(theirs);
  std::mt19937 random(1);
  std::deque<std::pair<Tag, std::vector<std::byte>>> under_way;
  std::size_t shared = 0;
  const auto takeOne = [&] {
    shm::RingReader::Record record;
    ASSERT_EQ(reader.peek(record), shm::RingReader::Peek::record);
    const auto& [tag, bytes] = under_way.front();
    ASSERT_EQ(record.message.tag, tag);
    ASSERT_EQ(record.message.envelope[3], static_cast<std::byte>(tag));
    ASSERT_EQ(record.message.bytes, bytes.size());
    ASSERT_EQ(std::vector<std::byte>(record.payload.begin(), record.payload.end()), bytes);
    shared += record.ring_bytes < shm::kLine ? 1 : 0;
    reader.pop(record);
    reader.release();
    under_way.pop_front();
  };
  for (int i = 0; i < 100000; ++i) {
    SCOPED_TRACE(i);
    const Tag tag = random() % 8 == 0 ? 2 : 1;
    std::vector<std::byte> bytes(random() % 50 == 0 ? 3000 : random() % 30);
    for (std::byte& at : bytes)
      at = static_cast<std::byte>(random());
    Envelope envelope{};
    envelope[3] = static_cast<std::byte>(tag);
    while (!writer.writeBrief(tag, envelope, bytes) && !HasFatalFailure())
      takeOne();
    under_way.emplace_back(tag, bytes);
    while (!under_way.empty() && random() % 2 == 0 && !HasFatalFailure())
      takeOne();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(shared, 20000u);
}

TEST_F(ShmHostile, ARepetitionThatIsTooLongIsAProtocolError) {
  meet();
  shm::RingWriter writer(segment_);
  ASSERT_TRUE(writer.writeBrief(1, {}, {}));
  const shm::RecordHeader record = {shm::RecordKind::repeat, shm::kMaxRepeatBytes + 1, 0, 0, {}};
  std::memcpy(segment_.outBytes() + shm::kLine, &record, sizeof record);
  Recv first(1);
  victim_->recv(first);
  drive(5);
  EXPECT_TRUE(first.status.isOk());
  expectProtocolError();
}

// Behind a repetition, where only another or the way to the next line may be; and what is there in the next line.
TEST_F(ShmHostile, RecordsOutOfPlaceInALineAreAProtocolError) {
  using shm::RecordKind;
  const std::pair<RecordKind, RecordKind> cases[] = {
      {RecordKind::brief, RecordKind::none},
      {RecordKind::align, RecordKind::none},
      {RecordKind::align, RecordKind::align},
      {RecordKind::align, RecordKind::repeat},
  };
  for (const auto& kinds : cases) {
    SCOPED_TRACE(&kinds - cases);
    losses_ = Losses();
    victim_ = std::make_unique<ShmTransport>(context_);
    address_ = victim_->open().take();
    ASSERT_TRUE(victim_->connect(1, address_).isOk());
    meet();
    shm::RingWriter writer(segment_);
    ASSERT_TRUE(writer.writeBrief(1, {}, {}));
    ASSERT_TRUE(writer.writeBrief(1, {}, {}));
    const shm::RecordHeader first = {kinds.first, 0, 0, 1, {}};
    const shm::RecordHeader second = {kinds.second, 0, 0, 1, {}};
    std::memcpy(segment_.outBytes() + 2 * shm::kLine, &second, sizeof second);
    std::memcpy(segment_.outBytes() + shm::kLine + shm::kUnit, &first, sizeof first);
    Recv one(1);
    Recv other(1);
    victim_->recv(one);
    victim_->recv(other);
    drive(5);
    EXPECT_EQ(one.completions + other.completions, 2);
    EXPECT_TRUE(one.status.isOk() && other.status.isOk());
    expectProtocolError();
  }
}

TEST(ShmRing, SizesArePowersOfTwoWithinBounds) {
  EXPECT_EQ(shm::Segment::ringBytesFor(0), 64u * 1024);
  EXPECT_EQ(shm::Segment::ringBytesFor(100000), 128u * 1024);
  EXPECT_EQ(shm::Segment::ringBytesFor(1u << 20), 1u << 20);
  EXPECT_EQ(shm::Segment::ringBytesFor(~std::size_t{0}), std::size_t{1} << 30);
}

} // namespace
} // namespace goss::transports
