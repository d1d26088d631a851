// Messages that the receiver reads where they lie: out of regions, out of the sender's address space, and out of the
// ring.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gossamer/config.h"
#include "platform/memory/cross_memory.h"
#include "platform/memory/shared_pages.h"
#include "tests/transports/shm/whole_send.h"
#include "transports/common/matcher.h"
#include "transports/shm/direct.h"
#include "transports/shm/direct_sender.h"
#include "transports/shm/regions.h"
#include "transports/shm/shm.h"

namespace goss::transports {
namespace {

constexpr std::size_t kBytes = 8u << 20;
constexpr int kReply = 42;

/// Takes views and checks that each byte is `expected`.
struct Recv final : RecvOperation {
  explicit Recv(std::size_t length, Tag with_tag = 1, std::byte content = std::byte{1}) : expected(content) {
    peer = 0;
    tag = with_tag;
    capacity = length;
    consumes = true;
  }
  Status onMatched(const Envelope&, std::size_t) override { return Status::ok(); }
  void onData(std::size_t offset, std::span<const std::byte> view) override {
    if (taken == 0) first_view = view.data();
    taken += view.size();
    wrong += view.front() != expected || view.back() != expected ? 1 : 0;
    if (in_the_middle) in_the_middle();
    if (reply.buffer != nullptr) std::memset(reply.buffer + offset, kReply, view.size());
  }
  void onReceived(const Status& result) override {
    ++completions;
    status = result;
  }
  std::byte expected;
  std::function<void()> in_the_middle; ///< Called in every window, before its reply is written.
  const std::byte* first_view = nullptr;
  std::size_t taken = 0;
  int wrong = 0;
  int completions = 0;
  Status status;
};

struct Losses final : TransportListener {
  void onPeerLost(int, const Status& status, PeerLoss) override { last = status; }
  Status last;
};

/// Two ranks in one thread.
class ShmDirect : public ::testing::Test {
 protected:
  struct Side {
    Losses losses;
    std::unique_ptr<ShmTransport> transport;
  };

  void meet() {
    std::string addresses[2];
    for (int rank = 0; rank < 2; ++rank) {
      TransportContext context;
      context.self = rank;
      context.size = 2;
      context.config = &config_;
      context.listener = &sides_[rank].losses;
      sides_[rank].transport = std::make_unique<ShmTransport>(context);
      addresses[rank] = sides_[rank].transport->open().take();
    }
    ASSERT_TRUE(from().connect(1, addresses[1]).isOk());
    ASSERT_TRUE(to().connect(0, addresses[0]).isOk());
    drive(10);
    ASSERT_EQ(from().link(1), LinkState::ready);
    ASSERT_EQ(to().link(0), LinkState::ready);
  }
  platform::SharedPages lend(std::byte content = std::byte{1}) {
    platform::SharedPages pages = platform::SharedPages::create(kBytes).take();
    std::memset(pages.data(), std::to_integer<int>(content), pages.bytes());
    from().sharedRegions()->add({pages.data(), pages.bytes(), pages.fd()});
    return pages;
  }
  ShmTransport& from() { return *sides_[0].transport; }
  ShmTransport& to() { return *sides_[1].transport; }
  void drive(int calls) {
    for (int i = 0; i < calls; ++i) {
      from().progress();
      to().progress();
    }
  }

  Config config_;
  Side sides_[2];
};

/// Mappings of lent memory in this process.
int mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("gossamer-memory") != std::string::npos ? 1 : 0;
  return count;
}

TEST_F(ShmDirect, AMessageInARegionIsReadInPlace) {
  meet();
  platform::SharedPages pages = lend();
  WholeSend send(pages.data(), kBytes);
  EXPECT_FALSE(from().send(send));
  // The receiver sees the contents at the time of reading, not of sending: nothing was copied.
  std::memset(pages.data(), 2, kBytes);
  Recv recv(kBytes, 1, std::byte{2});
  to().recv(recv);
  drive(100);
  EXPECT_EQ(recv.completions, 1);
  EXPECT_EQ(recv.wrong, 0);
  EXPECT_EQ(recv.taken, kBytes);
  EXPECT_EQ(send.completions, 1);
  EXPECT_TRUE(send.status.isOk() && recv.status.isOk());
  EXPECT_TRUE(from().sharedRegions()->remove(pages.data()).isOk());
}

TEST_F(ShmDirect, OneCallReadsABoundedNumberOfBytes) {
  meet();
  platform::SharedPages pages = lend();
  WholeSend send(pages.data(), kBytes);
  Recv recv(kBytes);
  to().recv(recv);
  from().send(send);
  for (std::size_t before = 0; recv.completions == 0; before = recv.taken) {
    to().progress();
    ASSERT_LE(recv.taken - before, 1u << 20);
    ASSERT_GT(recv.taken, before);
  }
  drive(2);
  EXPECT_EQ(send.completions, 1);
}

TEST_F(ShmDirect, ARegionOfAMessageUnderWayStaysAndAFreeOneIsUnmappedByThePeer) {
  meet();
  const int before = mappings();
  platform::SharedPages pages = lend();
  WholeSend send(pages.data(), kBytes);
  from().send(send);
  EXPECT_EQ(from().sharedRegions()->remove(pages.data()).kind(), GOSS_ERR_INVALID_ARGUMENT);
  Recv recv(kBytes);
  to().recv(recv);
  drive(100);
  EXPECT_EQ(send.completions, 1);
  EXPECT_EQ(mappings(), before + 2) << "ours and the peer's";
  EXPECT_TRUE(from().sharedRegions()->remove(pages.data()).isOk());
  drive(3000);
  EXPECT_EQ(mappings(), before + 1);
  EXPECT_TRUE(from().sharedRegions()->remove(pages.data()).isOk()) << "what is no region is left alone";
}

TEST_F(ShmDirect, AMessageCancelledBeforeAnybodyReadsItHasNeverBeen) {
  meet();
  platform::SharedPages pages = lend();
  for (const bool looked : {false, true}) {
    auto first = std::make_unique<WholeSend>(pages.data(), kBytes / 2);
    from().send(*first);
    if (looked) drive(5); // The other side knows of the message, but has no receive.
    from().cancel(*first);
    first.reset();
    EXPECT_TRUE(looked || from().sharedRegions()->remove(pages.data()).isOk()) << "cancelled: the memory is ours again";
    if (!looked) from().sharedRegions()->add({pages.data(), pages.bytes(), pages.fd()});
    Recv recv(kBytes);
    to().recv(recv);
    WholeSend second(pages.data(), kBytes);
    from().send(second);
    drive(100);
    EXPECT_EQ(recv.taken, kBytes);
    EXPECT_TRUE(recv.status.isOk());
    EXPECT_EQ(second.completions, 1);
  }
  EXPECT_EQ(from().link(1), LinkState::ready);
}

TEST_F(ShmDirect, AMessageThatIsBeingReadCanBeTakenBack) {
  meet();
  platform::SharedPages pages = lend();
  Recv recv(kBytes);
  to().recv(recv);
  {
    WholeSend send(pages.data(), kBytes);
    from().send(send);
    to().progress();
    ASSERT_GT(recv.taken, 0u);
    ASSERT_LT(recv.taken, kBytes);
    from().cancel(send);
    EXPECT_EQ(send.completions, 0);
  }
  EXPECT_TRUE(from().sharedRegions()->remove(pages.data()).isOk()) << "cancelled: the memory is ours again";
  drive(100);
  EXPECT_EQ(recv.completions, 0) << "the receive waits for another message";
  EXPECT_LT(recv.taken, kBytes);
  ASSERT_EQ(from().link(1), LinkState::ready);
  std::vector<std::byte> memory(kBytes, std::byte{1});
  WholeSend second(memory.data(), kBytes);
  if (from().send(second)) ++second.completions;
  drive(200);
  EXPECT_EQ(recv.completions, 1);
  EXPECT_TRUE(recv.status.isOk());
  EXPECT_EQ(second.completions, 1);
}

TEST_F(ShmDirect, MoreMessagesThanThereAreSlotsArriveInOrder) {
  meet();
  platform::SharedPages pages = lend();
  constexpr std::size_t kEach = 64u << 10;
  std::vector<std::unique_ptr<WholeSend>> sends;
  for (std::size_t i = 0; i < 3 * shm::kDirectSlots; ++i) {
    std::memset(pages.data() + i * kEach, static_cast<int>(i), kEach);
    sends.push_back(std::make_unique<WholeSend>(pages.data() + i * kEach, kEach));
    if (from().send(*sends.back())) ++sends.back()->completions;
  }
  for (std::size_t i = 0; i < sends.size(); ++i) {
    Recv recv(kEach, 1, static_cast<std::byte>(i));
    to().recv(recv);
    drive(50);
    EXPECT_EQ(recv.completions, 1);
    EXPECT_EQ(recv.wrong, 0) << i;
  }
  for (const auto& send : sends)
    EXPECT_EQ(send->completions, 1);
}

TEST_F(ShmDirect, AMessageOutOfTheAddressSpaceIsReadThere) {
  config_.shm_path = "addresses";
  meet();
  std::vector<std::byte> memory(kBytes, std::byte{1});
  WholeSend send(memory.data(), kBytes);
  EXPECT_FALSE(from().send(send));
  std::memset(memory.data(), 2, kBytes);
  Recv recv(kBytes, 1, std::byte{2});
  to().recv(recv);
  drive(300);
  EXPECT_EQ(recv.completions, 1);
  EXPECT_EQ(recv.wrong, 0);
  EXPECT_EQ(send.completions, 1);
}

/// A page of this process that a driver has mapped, as of a device: other processes cannot read it. Null: there is
/// none.
const std::byte* pageOfADriver() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("[vvar]") != std::string::npos)
      return reinterpret_cast<const std::byte*>(std::stoull(line, nullptr, 16));
  return nullptr;
}

TEST_F(ShmDirect, MemoryThatOthersCannotReadIsCopied) {
  constexpr std::size_t kPage = 4096;
  std::byte* page = const_cast<std::byte*>(pageOfADriver()); // It is only read, but iovec has no const.
  if (page == nullptr) GTEST_SKIP() << "this kernel maps no page into every process";
  const iovec piece{page, kPage};
  EXPECT_FALSE(platform::isReadableByOthers({&piece, 1}));
  config_.shm_path = "addresses";
  config_.shm_direct_bytes = kPage;
  meet();
  WholeSend send(page, kPage);
  if (from().send(send)) ++send.completions;
  Recv recv(kPage);
  to().recv(recv);
  drive(50);
  EXPECT_EQ(recv.completions, 1);
  EXPECT_TRUE(recv.status.isOk()) << recv.status.text();
  EXPECT_EQ(send.completions, 1);
}

TEST_F(ShmDirect, AddressesThatCannotBeReadFailTheLinkAndNothingElse) {
  config_.shm_path = "addresses";
  meet();
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  WholeSend send(static_cast<std::byte*>(memory), kBytes);
  from().send(send);
  ::munmap(memory, kBytes);
  Recv recv(kBytes);
  to().recv(recv);
  drive(50);
  EXPECT_EQ(recv.completions, 1);
  EXPECT_EQ(recv.status.kind(), GOSS_ERR_PEER_LOST);
}

TEST(DirectSender, OnlyMessagesThatAreStoredGoWhereThePeerReadsNoOthersAndIsFar) {
  const shm::Segment mine = shm::Segment::create(64 * 1024).take();
  const shm::Segment theirs = shm::Segment::attach(platform::UniqueFd(::dup(mine.fd())), mine.ringBytes(), 1).take();
  Deferred deferred;
  Matcher matcher(1, deferred);
  shm::LentRegions lending;
  shm::DirectSender sender(lending, matcher, 1000, true);
  sender.attach(mine, -1);
  shm::RingWriter writer(mine);
  std::vector<std::byte> memory(64 * 1024);
  const auto offered = [&](shm::AddressReading reads, bool is_stored_whole, bool is_far = true) {
    theirs.mySide().reads_addresses = reads;
    WholeSend send(memory.data(), memory.size());
    send.is_stored_whole = is_stored_whole;
    const auto offer = sender.offer(send, writer, is_far);
    sender.cancel(send);
    return offer == shm::DirectSender::Offer::offered;
  };
  EXPECT_FALSE(offered(shm::AddressReading::none, true));
  EXPECT_FALSE(offered(shm::AddressReading::stored, false));
  EXPECT_TRUE(offered(shm::AddressReading::stored, true));
  EXPECT_FALSE(offered(shm::AddressReading::stored, true, false));
  EXPECT_TRUE(offered(shm::AddressReading::all, false));
  EXPECT_TRUE(offered(shm::AddressReading::all, false, false));
  EXPECT_FALSE(writer.isFar());
}

constexpr Tag kReplyTag = 9;

/// A message in the first half of a region whose reply belongs into the other half, but for a few bytes at its ends.
class ShmReply : public ShmDirect {
 protected:
  static constexpr std::size_t kLength = kBytes / 2 - 200;
  static constexpr std::size_t kRoom = kBytes / 2 + 100;

  void SetUp() override {
    meet();
    pages_ = lend();
    send_ = std::make_unique<WholeSend>(pages_.data(), kLength);
    send_->reply.buffer = pages_.data() + kRoom;
    send_->reply.tag = kReplyTag;
    recv_ = std::make_unique<Recv>(kLength);
    recv_->reply.can_write = true;
    recv_->reply.tag = kReplyTag;
  }
  void run() {
    to().recv(*recv_);
    from().send(*send_);
    drive(100);
  }
  /// Whether the room holds `content` throughout, and what is around it is as it was.
  [[nodiscard]] bool roomHolds(int content) const {
    const auto is = [](int value) { return [value](std::byte at) { return at == static_cast<std::byte>(value); }; };
    const std::byte* first = pages_.data();
    const std::byte* room = first + kRoom;
    return std::all_of(first, room, is(1)) && std::all_of(room, room + kLength, is(content)) &&
           std::all_of(room + kLength, first + kBytes, is(1));
  }
  void poison() { std::memset(pages_.data() + kRoom, 7, kLength); }

  platform::SharedPages pages_;
  std::unique_ptr<WholeSend> send_;
  std::unique_ptr<Recv> recv_;
};

TEST_F(ShmReply, IsWrittenWhereTheSenderWantsIt) {
  run();
  EXPECT_EQ(recv_->completions, 1);
  EXPECT_EQ(send_->completions, 1);
  EXPECT_TRUE(send_->reply.is_written);
  EXPECT_TRUE(roomHolds(kReply));
  EXPECT_EQ(to().statistics(0).bytes_sent, kLength);
  EXPECT_EQ(from().statistics(1).bytes_received, kLength);
  EXPECT_EQ(from().statistics(1).messages_received, 1u);
  EXPECT_TRUE(from().sharedRegions()->remove(pages_.data()).isOk());
}

TEST_F(ShmReply, MayReplaceTheMessage) {
  send_->reply.buffer = pages_.data();
  run();
  EXPECT_TRUE(send_->reply.is_written);
  EXPECT_EQ(recv_->wrong, 0) << "each window is read before it is overwritten";
  EXPECT_EQ(std::to_integer<int>(pages_.data()[0]), kReply);
  EXPECT_EQ(std::to_integer<int>(pages_.data()[kLength - 1]), kReply);
  EXPECT_EQ(std::to_integer<int>(pages_.data()[kLength]), 1);
}

TEST_F(ShmReply, IsLeftToAMessageWhereEitherSideDoesNotKnowIt) {
  std::vector<std::byte> ordinary(kLength);
  for (int way = 0; way < 3; ++way) {
    SCOPED_TRACE(way);
    SetUp();
    if (way == 0) recv_->reply.can_write = false;
    if (way == 1) recv_->reply.tag = kReplyTag + 1;
    if (way == 2) send_->reply.buffer = ordinary.data(); // The buffer is not lent.
    run();
    EXPECT_EQ(recv_->completions, 1);
    EXPECT_EQ(send_->completions, 1);
    EXPECT_FALSE(send_->reply.is_written);
    EXPECT_EQ(recv_->reply.buffer, nullptr);
    EXPECT_TRUE(roomHolds(1));
  }
}

TEST_F(ShmReply, IsNotWrittenAnyFurtherOnceTheMessageIsTakenBack) {
  to().recv(*recv_);
  from().send(*send_);
  to().progress();
  ASSERT_GT(recv_->taken, 0u);
  ASSERT_LT(recv_->taken, kLength);
  from().cancel(*send_);
  poison();
  EXPECT_TRUE(from().sharedRegions()->remove(pages_.data()).isOk()) << "cancelled: the memory is ours again";
  drive(100);
  EXPECT_TRUE(roomHolds(7));
  EXPECT_EQ(from().link(1), LinkState::ready);
  EXPECT_EQ(recv_->completions, 0) << "the receive waits for another message";
}

// As a process that is stopped in the middle of a window and goes on long after.
TEST_F(ShmReply, OfAPeerThatIsStuckGetsNowhere) {
  for (const bool last : {false, true}) {
    SCOPED_TRACE(last);
    SetUp();
    recv_->in_the_middle = [&] {
      if (last && recv_->taken < kLength) return;
      from().cancel(*send_);
      poison();
      recv_->in_the_middle = nullptr;
    };
    run();
    EXPECT_TRUE(roomHolds(7));
    EXPECT_EQ(send_->completions, 0);
    EXPECT_EQ(from().link(1), LinkState::failed);
    EXPECT_TRUE(from().sharedRegions()->remove(pages_.data()).isOk());
  }
}

/// No more address space than there is now, but for a mebibyte.
class NoMoreMemory {
 public:
  NoMoreMemory() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &before_), 0);
    const rlimit now = {pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + (1U << 20), before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &now), 0);
  }
  ~NoMoreMemory() { EXPECT_EQ(::setrlimit(RLIMIT_AS, &before_), 0); }
  NoMoreMemory(const NoMoreMemory&) = delete;
  NoMoreMemory& operator=(const NoMoreMemory&) = delete;

 private:
  rlimit before_{};
};

// Its pages cannot be replaced either: the application is told, and soon.
TEST_F(ShmReply, OfAPeerThatIsStuckIsNotWaitedForWithoutMemory) {
  for (const bool breaks : {false, true}) {
    SCOPED_TRACE(breaks);
    SetUp();
    std::chrono::steady_clock::duration took{};
    recv_->in_the_middle = [&] {
      const NoMoreMemory limit;
      const auto begun = std::chrono::steady_clock::now();
      if (breaks) {
        from().abandon(1, Status::error(GOSS_ERR_PEER_LOST, "given up"));
        from().progress();
      } else {
        from().cancel(*send_);
      }
      took = std::chrono::steady_clock::now() - begun;
      recv_->in_the_middle = nullptr;
    };
    run();
    EXPECT_LT(took, std::chrono::seconds(5)) << "a bound, and no deadline of the application's";
    EXPECT_EQ(from().link(1), LinkState::failed);
    EXPECT_EQ(send_->completions, breaks ? 1 : 0);
    const Status& said = breaks ? send_->status : from().linkError(1);
    EXPECT_EQ(said.kind(), GOSS_ERR_PEER_LOST);
    EXPECT_THAT(said.text(), ::testing::HasSubstr("do not use that buffer"));
  }
}

TEST_F(ShmReply, OfALinkThatBreaksGetsNowhere) {
  recv_->in_the_middle = [&] {
    from().abandon(1, Status::error(GOSS_ERR_PEER_LOST, "given up"));
    from().progress();
    EXPECT_EQ(send_->completions, 1);
    poison();
    recv_->in_the_middle = nullptr;
  };
  run();
  EXPECT_EQ(send_->status.kind(), GOSS_ERR_PEER_LOST);
  EXPECT_FALSE(send_->reply.is_written);
  EXPECT_TRUE(roomHolds(7));
}

TEST(ShmLentRegions, LendsNothingOfARegionOnceAPeerWasStuckInIt) {
  const platform::SharedPages pages = platform::SharedPages::create(kBytes).take();
  std::byte* const other = pages.data() + kBytes / 2;
  shm::LentRegions lending;
  lending.add({pages.data(), pages.bytes(), pages.fd()});
  ASSERT_NE(lending.holding(other, 100), nullptr);
  ASSERT_TRUE(lending.replacePages({pages.data(), 100}));
  EXPECT_EQ(lending.holding(other, 100), nullptr);
  EXPECT_TRUE(lending.replacePages({other, 100})) << "of another peer that had it before";
  EXPECT_NE(lending.find(pages.data()), nullptr) << "it can be taken back";
}

TEST_F(ShmDirect, TheRingCarriesLentMemoryWhereItIsForced) {
  config_.shm_path = "ring";
  meet();
  Recv standing(1, 3); // A receive as the library posts for its control messages.
  to().recv(standing);
  const int before = mappings();
  platform::SharedPages pages = lend();
  WholeSend send(pages.data(), kBytes);
  Recv recv(kBytes);
  to().recv(recv);
  if (from().send(send)) ++send.completions;
  drive(300);
  EXPECT_EQ(recv.taken, kBytes);
  EXPECT_EQ(send.completions, 1);
  EXPECT_EQ(mappings(), before + 1) << "the peer has mapped nothing";
}

// As in a window of receives that are posted one by one while the sender is ahead.
TEST_F(ShmDirect, ALongMessageInTheRingWaitsForTheReceiveThatComesNext) {
  constexpr std::size_t kLong = 32 * 1024;
  config_.shm_path = "ring";
  meet();
  Recv standing(1, 3); // A receive as the library posts for its control messages.
  to().recv(standing);
  std::vector<std::byte> bytes(kLong, std::byte{1});
  WholeSend sends[] = {{bytes.data(), kLong}, {bytes.data(), kLong, 2}};
  for (WholeSend& send : sends)
    EXPECT_TRUE(from().send(send));
  Recv first(kLong);
  to().recv(first);
  to().progress();
  EXPECT_EQ(first.completions, 1);
  Recv second(kLong, 2);
  to().recv(second);
  to().progress();
  EXPECT_EQ(second.completions, 1);
  EXPECT_EQ(second.taken, kLong);
  EXPECT_EQ(second.wrong, 0);
  const auto apart = second.first_view - first.first_view;
  EXPECT_TRUE(apart > 0 && apart < static_cast<std::ptrdiff_t>(kLong + 4096)) << "it was copied out of the ring first";
}

} // namespace
} // namespace goss::transports
