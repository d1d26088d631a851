// Links that are made at their first use, and boards that are read without links: by either end, by both at once, to
// peers that have ended or have no memory left.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gossamer/board.h"
#include "gossamer/config.h"
#include "platform/clock.h"
#include "tests/lib/platform/descriptor_limit.h"
#include "tests/transports/shm/prepared_world.h"
#include "transports/shm/shm.h"

namespace goss::transports {
namespace {

using std::chrono::milliseconds;

/// Bytes of rings and boards of peers that are mapped in this process, without the ranks' own boards.
std::size_t mappedBytes() {
  std::ifstream maps("/proc/self/maps");
  std::size_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    const bool ring = line.find("gossamer-ring") != std::string::npos;
    const bool board = line.find("gossamer-board") != std::string::npos;
    const bool own = board && line.find("rw-s") != std::string::npos && line.find(" 00000000 ") != std::string::npos;
    if (!ring && (!board || own)) continue;
    const std::size_t dash = line.find('-');
    bytes += std::stoull(line.substr(dash + 1), nullptr, 16) - std::stoull(line, nullptr, 16);
  }
  return bytes;
}

std::size_t allocatedBytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

int openDescriptors() {
  int count = 0;
  for (int fd = 0; fd < 4096; ++fd)
    count += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

TEST(ShmOnUse, AnIdlePeerCostsARankAtMost4KiBAndNoDescriptor) {
  constexpr int kRanks = 40;
  const std::size_t before = allocatedBytes();
  const std::size_t mapped_before = mappedBytes();
  const int open_before = openDescriptors();
  World world(kRanks);
  std::vector<std::unique_ptr<Recv>> standing; // As a communicator posts them for control messages.
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int peer = 0; peer < kRanks; ++peer) {
      if (peer == rank) continue;
      standing.push_back(std::make_unique<Recv>(peer, 64));
      world.at(rank).recv(*standing.back());
    }
  }
  for (int i = 0; i < 3000; ++i)
    world.turn();
  EXPECT_EQ(mappedBytes(), mapped_before);
  constexpr std::size_t kPairs = kRanks * (kRanks - 1);
  const std::size_t each = (allocatedBytes() - before) / kPairs;
  EXPECT_LE(each, 4096u);
  // Each rank has a poller, a listener and its spare, a board and a bell.
  EXPECT_LE(openDescriptors() - open_before, kRanks * 5);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(world.count(rank, LinkState::idle), kRanks - 1);
    EXPECT_TRUE(world.at(rank).prepareToSleep()) << "there is nothing to do";
    world.at(rank).sleepEnded();
  }
  for (auto& recv : standing) {
    for (int rank = 0; rank < kRanks; ++rank)
      if (rank != recv->peer) world.at(rank).cancel(*recv);
  }
}

TEST(ShmOnUse, ARingMakesTwoLinksARank) {
  constexpr int kRanks = 12;
  World world(kRanks);
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_TRUE(world.exchange(rank, (rank + 1) % kRanks, 100000)) << rank;
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(world.count(rank, LinkState::ready), 2) << rank;
    EXPECT_EQ(world.count(rank, LinkState::idle), kRanks - 3) << rank;
    EXPECT_TRUE(world[rank].losses.empty());
  }
}

/// Messages between two ranks, some of which are posted before their link is ready.
struct Talk {
  Talk(World& with, int one, int other, std::size_t bytes) : world(with) {
    for (std::size_t i = 0; i < 3; ++i) {
      add(one, other, bytes + i);
      add(other, one, bytes + i);
    }
  }
  void add(int from, int to, std::size_t bytes) {
    recvs.push_back(std::make_unique<Recv>(from, bytes));
    world.at(to).recv(*recvs.back());
    sends.push_back(std::make_unique<Send>(to, bytes));
    if (world.at(from).send(*sends.back())) sends.back()->done = true;
  }
  bool ends() {
    return world.until([&] {
      for (std::size_t i = 0; i < sends.size(); ++i)
        if (!sends[i]->done || !recvs[i]->done) return false;
      return true;
    });
  }
  World& world;
  std::vector<std::unique_ptr<Send>> sends;
  std::vector<std::unique_ptr<Recv>> recvs;
};

TEST(ShmOnUse, BothEndsMayCallAtOnce) {
  constexpr int kRanks = 6;
  for (int round = 0; round < 24; ++round) {
    World world(kRanks, true);
    std::vector<std::unique_ptr<Talk>> talks;
    for (int one = 0; one < kRanks; ++one) {
      for (int other = one + 1; other < kRanks; ++other) {
        if (round % 3 == 2) { // Calls for boards are under way, too.
          world.at(one).board()->of(other, 0);
          if (round % 2 == 0) world.at(other).board()->of(one, 0);
          world.at(one).progress();
        }
        talks.push_back(std::make_unique<Talk>(world, one, other, round % 2 == 0 ? 100 : 300000));
        for (int i = 0; i < round % 5; ++i)
          world.at((one + other + round) % 2 == 0 ? one : other).progress();
      }
    }
    for (auto& talk : talks) {
      ASSERT_TRUE(talk->ends()) << "round " << round;
      for (const auto& recv : talk->recvs)
        EXPECT_TRUE(recv->isRight()) << "round " << round;
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_EQ(world.count(rank, LinkState::ready), kRanks - 1);
      EXPECT_TRUE(world[rank].losses.empty());
    }
  }
}

TEST(ShmOnUse, EndsInThreadsOfTheirOwnMayCallAtOnce) {
  constexpr int kRanks = 5;
  for (int round = 0; round < 20; ++round) {
    World world(kRanks);
    std::vector<std::thread> threads;
    std::atomic<int> ready{0};
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&world, &ready, rank, round] {
        std::vector<std::unique_ptr<Recv>> recvs;
        std::vector<std::unique_ptr<Send>> sends;
        for (int i = 0; i < 2; ++i) {
          for (int peer = 0; peer < kRanks; ++peer) {
            if (peer == rank) continue;
            recvs.push_back(std::make_unique<Recv>(peer, 1000));
            world.at(rank).recv(*recvs.back());
            sends.push_back(std::make_unique<Send>(peer, 1000));
            if (world.at(rank).send(*sends.back())) sends.back()->done = true;
            world.at(rank).progress();
          }
        }
        const auto all_done = [&] {
          bool done = true;
          for (std::size_t i = 0; i < sends.size(); ++i)
            done = done && sends[i]->done && recvs[i]->done;
          return done;
        };
        const platform::Deadline deadline = platform::Deadline::after(kLong);
        while (!all_done() && !deadline.expired()) {
          if (world.at(rank).progress() || !world.at(rank).prepareToSleep()) continue;
          pollfd sleep{world.at(rank).pollFd(), POLLIN, 0};
          EXPECT_EQ(::poll(&sleep, 1, 10000), 1) << "a lost wake-up";
          world.at(rank).sleepEnded();
        }
        for (const auto& recv : recvs)
          EXPECT_TRUE(recv->isRight()) << "rank " << rank << " of round " << round;
        ++ready;
        while (ready < kRanks && !deadline.expired())
          world.at(rank).progress();
      });
    }
    for (auto& thread : threads)
      thread.join();
  }
}

TEST(ShmOnUse, APeerThatHasEndedIsNamedWithoutAPause) {
  for (const int sender : {0, 2}) {
    World world(3);
    world.turn();
    world[1].transport.reset();
    Recv recv(1, 10);
    world.at(sender).recv(recv);
    Send send(1, 10);
    EXPECT_FALSE(world.at(sender).send(send));
    EXPECT_FALSE(send.done) << "a callback outside of progress()";
    EXPECT_TRUE(world.until([&] { return send.done && recv.done; }, milliseconds(1000)));
    EXPECT_EQ(send.status.kind(), GOSS_ERR_PEER_LOST);
    EXPECT_EQ(send.status.peer(), 1);
    EXPECT_NE(send.status.text().find("rank 1"), std::string::npos) << send.status.text();
    EXPECT_EQ(recv.status.kind(), GOSS_ERR_PEER_LOST);
    ASSERT_EQ(world[sender].losses.size(), 1u);
    EXPECT_EQ(world[sender].losses[0].how, PeerLoss::absent);
    EXPECT_TRUE(world.exchange(sender, 2 - sender, 1000)) << "others go on";
  }
}

/// A process that has opened the transport of rank 1 of two, and a child of it that keeps all of its sockets.
class ProcessWithChild {
 public:
  ProcessWithChild() {
    int channel[2];
    EXPECT_EQ(::pipe(channel), 0);
    process_ = ::fork();
    if (process_ == 0) {
      const Config config;
      World::Rank listener;
      TransportContext context;
      context.self = 1;
      context.size = 2;
      context.config = &config;
      context.listener = &listener;
      ShmTransport transport(context);
      std::string said = transport.open().take();
      const pid_t child = ::fork();
      if (child == 0) {
        ::close(channel[1]);
        ::pause();
      }
      said.append(reinterpret_cast<const char*>(&child), sizeof child);
      if (::write(channel[1], said.data(), said.size()) < 0) ::_exit(1);
      ::pause();
    }
    ::close(channel[1]);
    std::array<char, 1024> said{};
    const ssize_t bytes = ::read(channel[0], said.data(), said.size());
    ::close(channel[0]);
    EXPECT_GT(bytes, static_cast<ssize_t>(sizeof child_));
    address.assign(said.data(), static_cast<std::size_t>(bytes) - sizeof child_);
    std::memcpy(&child_, said.data() + address.size(), sizeof child_);
  }
  ~ProcessWithChild() {
    end();
    ::kill(child_, SIGKILL);
  }
  ProcessWithChild(const ProcessWithChild&) = delete;
  ProcessWithChild& operator=(const ProcessWithChild&) = delete;
  void end() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  std::string address;

 private:
  pid_t process_ = -1;
  pid_t child_ = -1;
};

TEST(ShmOnUse, AProcessWhoseChildKeepsItsSocketsIsNamedBeforeAndAfterTheCall) {
  for (const bool calls_first : {false, true}) {
    ProcessWithChild peer;
    const Config config;
    World::Rank own;
    TransportContext context;
    context.size = 2;
    context.config = &config;
    context.listener = &own;
    own.transport = std::make_unique<ShmTransport>(context);
    ASSERT_TRUE(own.transport->open().isOk());
    ASSERT_TRUE(own.transport->prepare(1, peer.address).isOk());
    Send send(1, 10);
    if (!calls_first) peer.end();
    EXPECT_FALSE(own.transport->send(send));
    own.transport->progress();
    peer.end();
    const platform::Deadline deadline = platform::Deadline::after(milliseconds(5000));
    while (!send.done && !deadline.expired())
      own.transport->progress();
    EXPECT_EQ(send.status.kind(), GOSS_ERR_PEER_LOST);
    ASSERT_EQ(own.losses.size(), 1u);
    EXPECT_EQ(own.losses[0].how, PeerLoss::absent);
  }
}

TEST(ShmOnUse, ABusyPeerIsWaitedFor) {
  for (const int sender : {0, 1}) {
    World world(2);
    Recv recv(sender, 10);
    world.at(1 - sender).recv(recv);
    Send send(1 - sender, 10);
    EXPECT_FALSE(world.at(sender).send(send));
    const platform::Deadline pause = platform::Deadline::after(milliseconds(300));
    while (!pause.expired())
      world.at(sender).progress(); // The peer does not.
    EXPECT_FALSE(send.done);
    EXPECT_EQ(world.at(sender).link(1 - sender), LinkState::connecting);
    EXPECT_TRUE(world.until([&] { return send.done && recv.done; }));
    EXPECT_TRUE(recv.isRight());
    EXPECT_TRUE(world[0].losses.empty() && world[1].losses.empty());
  }
}

TEST(ShmOnUse, AKeptMessageCanBeCancelled) {
  World world(2);
  Send first(1, 10);
  Send second(1, 20);
  EXPECT_FALSE(world.at(0).send(first));
  EXPECT_FALSE(world.at(0).send(second));
  world.at(0).cancel(first);
  Recv recv(0, 20);
  world.at(1).recv(recv);
  EXPECT_TRUE(world.until([&] { return recv.done && second.done; }));
  EXPECT_TRUE(recv.isRight());
  EXPECT_FALSE(first.done);
}

/// Gives the peer up before there is a link; the peer then hears of it.
TEST(ShmOnUse, APeerThatWasGivenUpHearsOfIt) {
  for (const int gone : {0, 1}) {
    World world(2);
    const int other = 1 - gone;
    Recv waits(gone, 10);
    world.at(other).recv(waits);
    Recv pending(other, 10);
    world.at(gone).recv(pending);
    world.at(gone).abandon(other, Status::error(GOSS_ERR_TIMEOUT, "silent", ErrorScope::peer, other));
    EXPECT_FALSE(pending.done) << "a callback outside of progress()";
    EXPECT_FALSE(world.at(gone).prepareToSleep()) << "it is to be reported";
    EXPECT_TRUE(world.until([&] { return pending.done && world[gone].losses.size() == 1; }));
    EXPECT_TRUE(world[other].losses.empty());
    Send send(gone, 10);
    EXPECT_FALSE(world.at(other).send(send));
    EXPECT_TRUE(world.until([&] { return waits.done && send.done; }, milliseconds(5000)));
    ASSERT_EQ(world[other].losses.size(), 1u);
    EXPECT_EQ(world[other].losses[0].how, PeerLoss::silent) << "it lives";
  }
}

TEST(ShmOnUse, ARankThatLeavesWhileItIsCalledOrCallsIsNotTakenForDead) {
  for (int round = 0; round < 32; ++round) {
    World world(2);
    const int leaver = round % 2;
    Send theirs(leaver, 10);
    Send own(1 - leaver, 10);
    if (round % 4 < 2) {
      EXPECT_FALSE(world.at(leaver).send(own));
    } else {
      EXPECT_FALSE(world.at(1 - leaver).send(theirs));
    }
    for (int i = 0; i < round / 4; ++i)
      world.at(i % 2 == 0 ? leaver : 1 - leaver).progress();
    world[leaver].transport.reset();
    if (round % 4 < 2 && !world.at(1 - leaver).send(theirs)) {
      ASSERT_TRUE(world.until([&] { return theirs.done; })) << "round " << round;
    }
    world.until([&] { return !world[1 - leaver].losses.empty(); }, milliseconds(200));
    for (const Loss& loss : world[1 - leaver].losses)
      EXPECT_TRUE(loss.how == PeerLoss::absent || loss.how == PeerLoss::departed) << "round " << round;
  }
}

/// Rank 0 of three reads the board of rank 1 and wakes it.
void expectBoards(bool hidden) {
  World world(3, hidden);
  std::strcpy(reinterpret_cast<char*>(world.at(1).board()->mine(7)), "read me");
  Board& reader = *world.at(0).board();
  EXPECT_TRUE(reader.reaches(1));
  if (hidden) {
    EXPECT_EQ(reader.of(1, 7), nullptr) << "it was not asked for before";
    EXPECT_FALSE(world.at(0).prepareToSleep()) << "the call is to be made";
    ASSERT_TRUE(world.until([&] { return reader.of(1, 7) != nullptr; }));
  }
  ASSERT_NE(reader.of(1, 7), nullptr);
  EXPECT_STREQ(reinterpret_cast<const char*>(reader.of(1, 7)), "read me");
  EXPECT_NE(world.at(1).board()->of(0, 7), nullptr) << "a call brings the caller's";
  EXPECT_EQ(world.count(0, LinkState::idle), 2);
  EXPECT_EQ(world.count(1, LinkState::idle), 2);

  for (int i = 0; i < 3000; ++i)
    world.turn();
  ASSERT_TRUE(world.at(1).prepareToSleep());
  const std::vector<int> sleeper{1};
  reader.wake(sleeper);
  pollfd poll{world.at(1).pollFd(), POLLIN, 0};
  EXPECT_EQ(::poll(&poll, 1, 0), 1);
  world.at(1).sleepEnded();
  world.at(1).progress();
  EXPECT_EQ(::poll(&poll, 1, 0), 0);
  reader.wake(sleeper);
  EXPECT_EQ(::poll(&poll, 1, 0), 0) << "is awake";
  EXPECT_TRUE(world.exchange(0, 1, 100));
}

TEST(ShmOnUse, BoardsAreReadAndSleepersWokenWithoutLinks) {
  for (const bool hidden : {false, true})
    expectBoards(hidden);
}

TEST(ShmOnUse, AFileThatIsNotThePeersBoardIsNotOpened) {
  const shm::BoardMemory own = shm::BoardMemory::create("me").take();
  const std::int64_t process = ::getpid();
  EXPECT_TRUE(shm::BoardMemory::find(process, own.fd(), "me").valid());
  EXPECT_FALSE(shm::BoardMemory::find(process, own.fd(), "somebody").valid());
  EXPECT_FALSE(shm::BoardMemory::find(process, own.fd(), "m").valid());
  EXPECT_FALSE(shm::BoardMemory::find(process, 0, "me").valid());
  EXPECT_FALSE(shm::BoardMemory::find(process, 9999, "me").valid());
  EXPECT_FALSE(shm::BoardMemory::find(-1, -1, "me").valid());
}

TEST(ShmOnUse, APeerThatHasEndedIsNamedWhenItsBoardIsWanted) {
  World world(3);
  world[1].transport.reset();
  EXPECT_EQ(world.at(0).board()->of(1, 0), nullptr);
  ASSERT_TRUE(world.until([&] { return !world[0].losses.empty(); }, milliseconds(1000)));
  EXPECT_EQ(world[0].losses[0].peer, 1);
  EXPECT_EQ(world[0].losses[0].how, PeerLoss::absent);
}

/// While it lives, this process can make no file of a ring's size.
class FileLimit {
 public:
  FileLimit() {
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit low = before_;
    low.rlim_cur = 64 * 1024;
    ::setrlimit(RLIMIT_FSIZE, &low);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  sighandler_t handler_ = SIG_DFL;
};

TEST(ShmOnUse, WhereThereIsNoMemoryForARingBothEndsSayWhatIsNeeded) {
  for (const int sender : {0, 1}) {
    World world(2);
    Recv recv(sender, 10);
    world.at(1 - sender).recv(recv);
    Send send(1 - sender, 10);
    {
      const FileLimit limit;
      EXPECT_FALSE(world.at(sender).send(send));
      EXPECT_TRUE(world.until([&] { return send.done && recv.done; }, milliseconds(2000)));
    }
    for (const Status& status : {send.status, recv.status}) {
      EXPECT_FALSE(status.isOk());
      for (const char* part : {"memfd", "tmpfs", "KiB", "ulimit -f"})
        EXPECT_NE(status.text().find(part), std::string::npos) << status.text();
    }
    EXPECT_EQ(send.status.kind(), GOSS_ERR_RESOURCE);
    EXPECT_EQ(recv.status.kind(), GOSS_ERR_PEER_LOST);
    for (int rank = 0; rank < 2; ++rank) {
      ASSERT_EQ(world[rank].losses.size(), 1u);
      EXPECT_EQ(world[rank].losses[0].how, PeerLoss::silent);
    }
  }
}

TEST(ShmOnUse, WithoutDescriptorsASendFailsAndIsNamed) {
  World world(2);
  Send send(1, 10);
  const test::DescriptorLimit limit(0);
  EXPECT_FALSE(world.at(0).send(send));
  EXPECT_TRUE(world.until([&] { return send.done; }, milliseconds(5000)));
  EXPECT_EQ(send.status.kind(), GOSS_ERR_RESOURCE) << send.status.text();
  EXPECT_NE(send.status.text().find("socket"), std::string::npos) << send.status.text();
}

} // namespace
} // namespace goss::transports
