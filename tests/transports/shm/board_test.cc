// Boards: what a rank writes its peers read, a sleeper is woken, and a descriptor that is no board is refused.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gossamer/board.h"
#include "gossamer/config.h"
#include "transports/shm/board_memory.h"
#include "transports/shm/shm.h"

namespace goss::transports {
namespace {

struct NoLosses : TransportListener {
  void onPeerLost(int, const Status&, PeerLoss) override {}
};

/// Three linked ranks in one process.
class ShmBoard : public ::testing::Test {
 protected:
  static constexpr int kRanks = 3;

  ShmBoard() {
    std::vector<std::string> addresses;
    for (int rank = 0; rank < kRanks; ++rank) {
      TransportContext context;
      context.self = rank;
      context.size = kRanks;
      context.config = &config_;
      context.listener = &listener_;
      ranks_.push_back(std::make_unique<ShmTransport>(context));
      addresses.push_back(ranks_.back()->open().take());
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int peer = 0; peer < kRanks; ++peer) {
        if (peer == rank) continue;
        EXPECT_TRUE(at(rank).connect(peer, addresses[static_cast<std::size_t>(peer)]).isOk());
      }
    }
    for (int i = 0; i < 100 && !allReady(); ++i) {
      for (auto& rank : ranks_)
        rank->progress();
    }
    EXPECT_TRUE(allReady());
  }

  ShmTransport& at(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  bool allReady() {
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int peer = 0; peer < kRanks; ++peer) {
        if (peer != rank && at(rank).link(peer) != LinkState::ready) return false;
      }
    }
    return true;
  }
  static bool readable(int fd) {
    pollfd poll{fd, POLLIN, 0};
    return ::poll(&poll, 1, 0) == 1;
  }

  Config config_;
  NoLosses listener_;
  std::vector<std::unique_ptr<ShmTransport>> ranks_;
};

TEST_F(ShmBoard, EveryLaneIsReadByAllPeersAndBeginsWithZeros) {
  Board& board = *at(0).board();
  for (const std::uint32_t lane : {0u, 1u, 3u, 4u, board.lanes() - 1}) {
    for (std::size_t i = 0; i < board.laneBytes(lane); ++i)
      ASSERT_EQ(board.mine(lane)[i], std::byte{0});
    std::memset(board.mine(lane), static_cast<int>(lane % 250 + 1), board.laneBytes(lane));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(board.mine(lane)) % 64, 0u);
  }
  for (const int reader : {1, 2}) {
    for (const std::uint32_t lane : {0u, 1u, 3u, 4u, board.lanes() - 1}) {
      const std::byte* seen = at(reader).board()->of(0, lane);
      ASSERT_NE(seen, nullptr);
      EXPECT_EQ(std::memcmp(seen, board.mine(lane), board.laneBytes(lane)), 0);
    }
    EXPECT_EQ(at(reader).board()->mine(0)[0], std::byte{0}) << "a board of its own";
  }
}

TEST_F(ShmBoard, WakesThoseThatSleepAndNobodyElse) {
  // Bells of the meeting itself are read first.
  for (int i = 0; i < 3000; ++i) {
    for (auto& rank : ranks_)
      rank->progress();
  }
  ASSERT_TRUE(at(1).prepareToSleep());
  const std::vector<int> both{1, 2};
  at(0).board()->wake(both);
  EXPECT_TRUE(readable(at(1).pollFd()));
  EXPECT_FALSE(readable(at(2).pollFd())) << "was awake";
  at(1).sleepEnded();
  at(1).progress();
  EXPECT_FALSE(readable(at(1).pollFd()));
  at(0).board()->wake(both);
  EXPECT_FALSE(readable(at(1).pollFd())) << "is awake again";
}

TEST_F(ShmBoard, OutlivesAPeer) {
  std::strcpy(reinterpret_cast<char*>(at(2).board()->mine(7)), "last words");
  ranks_[2].reset();
  for (int i = 0; i < 3000; ++i)
    at(0).progress();
  EXPECT_EQ(at(0).link(2), LinkState::failed);
  EXPECT_STREQ(reinterpret_cast<const char*>(at(0).board()->of(2, 7)), "last words");
  const std::vector<int> gone{2};
  at(0).board()->wake(gone);
}

TEST(ShmBoardMemory, RefusesWhatIsNotASealedBoard) {
  const std::size_t bytes = shm::BoardMemory::kBytes;
  platform::UniqueFd open_ended(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(open_ended.get(), static_cast<off_t>(bytes)), 0);
  const auto unsealed = shm::BoardMemory::attach(std::move(open_ended), 1);
  ASSERT_FALSE(unsealed.isOk());
  EXPECT_EQ(unsealed.status().kind(), GOSS_ERR_PROTOCOL);

  platform::UniqueFd small(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(small.get(), 4096), 0);
  ASSERT_EQ(::fcntl(small.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  EXPECT_FALSE(shm::BoardMemory::attach(std::move(small), 1).isOk());
  EXPECT_FALSE(shm::BoardMemory::attach(platform::UniqueFd(), 1).isOk());
}

/// Bytes of all rings that are mapped in this process, both sides and copies.
std::size_t mappedRingBytes() {
  std::ifstream maps("/proc/self/maps");
  std::size_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("gossamer-ring") == std::string::npos) continue;
    const std::size_t dash = line.find('-');
    bytes += std::stoull(line.substr(dash + 1), nullptr, 16) - std::stoull(line, nullptr, 16);
  }
  return bytes;
}

// Three pairs, each mapped by both sides, two rings a pair, each of them twice.
TEST_F(ShmBoard, RingsAreShorterWhereThereAreMoreThanTwoRanks) {
  constexpr std::size_t kMappings = 3 * 2 * 2 * 2;
  EXPECT_GE(mappedRingBytes(), kMappings * 512 * 1024);
  EXPECT_LT(mappedRingBytes(), kMappings * 1024 * 1024);
}

} // namespace
} // namespace goss::transports
