// The board's protocol without a transport: run-ahead, order, mismatches and who is awaited.
#include "boards/board_channel.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <set>
#include <vector>

#include "schedule/contract.h"

namespace goss {
namespace {

constexpr std::size_t kLaneBytes = 4096;
constexpr std::uint32_t kLanes = 2;
constexpr int kRanks = 3;

/// Boards of three ranks.
class Memory {
 public:
  explicit Memory(std::size_t lane_bytes = kLaneBytes)
      : lane_bytes_(lane_bytes), lines_(kRanks * kLanes * lane_bytes / sizeof(Line)) {}
  [[nodiscard]] std::size_t laneBytes() const { return lane_bytes_; }
  [[nodiscard]] std::byte* at(int rank, std::uint32_t lane) {
    const std::size_t lanes = static_cast<std::size_t>(rank) * kLanes + lane;
    return lines_[lanes * lane_bytes_ / sizeof(Line)].bytes.data();
  }

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes{};
  };
  std::size_t lane_bytes_;
  std::vector<Line> lines_;
};

class FakeBoard final : public Board {
 public:
  FakeBoard(Memory& memory, int rank) : memory_(memory), rank_(rank) {}
  [[nodiscard]] std::uint32_t lanes() const override { return kLanes; }
  [[nodiscard]] std::size_t laneBytes(std::uint32_t /*lane*/) const override { return memory_.laneBytes(); }
  [[nodiscard]] std::byte* mine(std::uint32_t lane) override { return memory_.at(rank_, lane); }
  [[nodiscard]] const std::byte* of(int peer, std::uint32_t lane) const override {
    return peer < kRanks ? memory_.at(peer, lane) : nullptr;
  }
  void wake(std::span<const int> peers) override { woken.insert(woken.end(), peers.begin(), peers.end()); }
  std::vector<int> woken;

 private:
  Memory& memory_;
  const int rank_;
};

using Outcome = BoardChannel::Outcome;

class FlatTest : public ::testing::Test {
 protected:
  explicit FlatTest(std::size_t lane_bytes = kLaneBytes) : memory_(std::make_unique<Memory>(lane_bytes)) {
    for (int rank = 0; rank < kRanks; ++rank) {
      boards_.push_back(std::make_unique<FakeBoard>(*memory_, rank));
      channels_.push_back(BoardChannel::create(boards_.back().get(), 1, {0, 1, 2}, rank));
    }
  }
  BoardChannel& channel(int rank) { return *channels_[static_cast<std::size_t>(rank)]; }

  Call callOf(Collective collective, std::int64_t* buffer, int root = -1) {
    Call call;
    call.collective = collective;
    call.dtype = GOSS_INT64;
    call.input = call.output = buffer;
    call.count = collective == Collective::barrier ? 0 : 1;
    call.root = root;
    setUniformShape(call, kRanks);
    return call;
  }
  BoardCollective workOf(int rank, const Call& call) {
    BoardCollective work;
    channel(rank).bind(work, call);
    return work;
  }

  std::unique_ptr<Memory> memory_;
  std::vector<std::unique_ptr<FakeBoard>> boards_;
  std::vector<std::unique_ptr<BoardChannel>> channels_;
};

TEST_F(FlatTest, ARootRunsAheadByThreeAndWaitsForTheSlowest) {
  std::int64_t value = 0;
  for (; value < 3; ++value) {
    BoardCollective work = workOf(0, callOf(Collective::broadcast, &value, 0));
    ASSERT_EQ(channel(0).advance(work), Outcome::done) << value;
  }
  BoardCollective fourth = workOf(0, callOf(Collective::broadcast, &value, 0));
  ASSERT_EQ(channel(0).advance(fourth), Outcome::waiting);
  EXPECT_EQ(fourth.number, 0u) << "nothing was written";

  std::array<std::int64_t, kRanks> got{};
  for (std::int64_t n = 0; n < 3; ++n) {
    BoardCollective one = workOf(1, callOf(Collective::broadcast, &got[1], 0));
    ASSERT_EQ(channel(1).advance(one), Outcome::done);
    EXPECT_EQ(got[1], n);
  }
  EXPECT_EQ(channel(0).advance(fourth), Outcome::waiting) << "rank 2 has read nothing yet";
  std::vector<int> awaited;
  channel(0).appendAwaited(fourth, awaited);
  EXPECT_EQ(awaited, std::vector<int>{2});
  EXPECT_EQ(channel(0).awaited(fourth), 2);

  BoardCollective two = workOf(2, callOf(Collective::broadcast, &got[2], 0));
  ASSERT_EQ(channel(2).advance(two), Outcome::done);
  EXPECT_EQ(channel(0).advance(fourth), Outcome::done);
  EXPECT_EQ(got[2], 0);
}

TEST_F(FlatTest, AReductionWaitsForEveryRankAndLeavesTheInputUntilThen) {
  std::array<std::int64_t, kRanks> values{1, 10, 100};
  std::vector<BoardCollective> works;
  for (int rank = 0; rank < kRanks; ++rank)
    works.push_back(workOf(rank, callOf(Collective::allReduce, &values[static_cast<std::size_t>(rank)])));
  EXPECT_EQ(channel(0).advance(works[0]), Outcome::waiting);
  EXPECT_EQ(channel(2).advance(works[2]), Outcome::waiting);
  EXPECT_EQ(channel(0).awaited(works[0]), 1);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(channel(1).advance(works[1]), Outcome::done);
  EXPECT_EQ(channel(0).advance(works[0]), Outcome::done);
  EXPECT_EQ(channel(2).advance(works[2]), Outcome::done);
  EXPECT_EQ(values, (std::array<std::int64_t, kRanks>{111, 111, 111}));
}

// A rank reads its own bytes from the input, but where they are overwritten before their turn.
TEST_F(FlatTest, TakesItsOwnBytesAsTheyWereGivenInPlaceAndNot) {
  for (const Collective collective : {Collective::allReduce, Collective::scan, Collective::reduceScatter}) {
    for (const bool in_place : {true, false}) {
      std::array<std::array<std::int64_t, kRanks>, kRanks> values{{{1, 2, 4}, {10, 20, 40}, {100, 200, 400}}};
      std::array<std::int64_t, kRanks> apart{};
      std::vector<BoardCollective> works;
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        Call call = callOf(collective, values[rank].data());
        const std::size_t own = collective == Collective::reduceScatter ? rank : 0;
        call.output = in_place ? &values[rank][own] : &apart[rank];
        works.push_back(workOf(static_cast<int>(rank), call));
      }
      std::array<Outcome, kRanks> outcomes{};
      for (std::size_t rank = 0; rank < kRanks; ++rank)
        outcomes[rank] = channel(static_cast<int>(rank)).advance(works[rank]);
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        if (outcomes[rank] == Outcome::waiting) outcomes[rank] = channel(static_cast<int>(rank)).advance(works[rank]);
        EXPECT_EQ(outcomes[rank], Outcome::done);
        const std::size_t own = collective == Collective::reduceScatter ? rank : 0;
        const std::array<std::int64_t, kRanks> of_scan{1, 11, 111};
        const std::int64_t want = collective == Collective::scan            ? of_scan[rank]
                                  : collective == Collective::reduceScatter ? 111 * (1 << rank)
                                                                            : 111;
        EXPECT_EQ(in_place ? values[rank][own] : apart[rank], want) << schedule::nameOf(collective) << " of " << rank;
      }
    }
  }
}

TEST_F(FlatTest, AnotherSignatureIsAMismatchAndStaysOne) {
  std::int64_t value = 0;
  BoardCollective zero = workOf(0, callOf(Collective::allReduce, &value));
  BoardCollective one = workOf(1, callOf(Collective::allReduce, &value));
  one.envelope[3] = std::byte{7};
  EXPECT_EQ(channel(1).advance(one), Outcome::waiting);
  EXPECT_EQ(channel(0).advance(zero), Outcome::mismatch);
  EXPECT_EQ(zero.next, 1);
  EXPECT_EQ(channel(0).envelopeOf(zero), one.envelope);
  EXPECT_EQ(channel(0).advance(zero), Outcome::mismatch);
}

TEST_F(FlatTest, ABarrierOfACrowdGoesThroughRankZero) {
  std::vector<std::unique_ptr<BoardChannel>> crowd;
  for (int rank = 0; rank < kRanks; ++rank)
    crowd.push_back(BoardChannel::create(boards_[static_cast<std::size_t>(rank)].get(), 0, {0, 1, 2}, rank, true));
  const Call call = callOf(Collective::barrier, nullptr);
  std::array<BoardCollective, kRanks> works;
  for (int round = 0; round < 9; ++round) {
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      works[rank] = BoardCollective();
      crowd[rank]->bind(works[rank], call);
    }
    EXPECT_EQ(crowd[0]->advance(works[0]), Outcome::waiting);
    EXPECT_EQ(works[0].number, 0u) << "the others have not come";
    EXPECT_EQ(crowd[0]->awaited(works[0]), 1);
    EXPECT_EQ(crowd[1]->advance(works[1]), Outcome::waiting);
    EXPECT_EQ(crowd[2]->advance(works[2]), Outcome::waiting) << "all have come, but rank 0 has not seen it";
    EXPECT_EQ(crowd[2]->awaited(works[2]), 0);
    EXPECT_EQ(crowd[0]->advance(works[0]), Outcome::done);
    EXPECT_EQ(crowd[1]->advance(works[1]), Outcome::done);
    EXPECT_EQ(crowd[2]->advance(works[2]), Outcome::done);
  }
}

TEST_F(FlatTest, ABarrierOfACrowdNamesWhoCallsSomethingElse) {
  auto zero = BoardChannel::create(boards_[0].get(), 0, {0, 1, 2}, 0, true);
  auto one = BoardChannel::create(boards_[1].get(), 0, {0, 1, 2}, 1, true);
  BoardCollective ours, theirs;
  zero->bind(ours, callOf(Collective::barrier, nullptr));
  one->bind(theirs, callOf(Collective::barrier, nullptr));
  theirs.envelope[3] = std::byte{7};
  EXPECT_EQ(one->advance(theirs), Outcome::waiting);
  EXPECT_EQ(zero->advance(ours), Outcome::mismatch);
  EXPECT_EQ(ours.next, 1);
  EXPECT_EQ(zero->envelopeOf(ours), theirs.envelope);
}

TEST_F(FlatTest, WakesAllOthers) {
  channel(1).wakeOthers();
  EXPECT_EQ(boards_[1]->woken, (std::vector<int>{0, 2}));
}

TEST_F(FlatTest, IsRefusedWhereALaneOrABoardIsMissing) {
  EXPECT_EQ(BoardChannel::create(nullptr, 0, {0, 1}, 0), nullptr);
  EXPECT_EQ(BoardChannel::create(boards_[0].get(), kLanes, {0, 1}, 0), nullptr);
  EXPECT_EQ(BoardChannel::create(boards_[0].get(), 0, {0, 5}, 0), nullptr);
  EXPECT_EQ(BoardChannel::create(boards_[0].get(), 0, {0}, 0), nullptr) << "a rank alone has nobody to write for";
}

TEST_F(FlatTest, FitsWhatTheBusiestRankCanWrite) {
  Call call = callOf(Collective::allReduce, nullptr);
  const std::uint64_t most = channel(0).capacity() / sizeof(std::int64_t);
  call.count = most;
  EXPECT_TRUE(channel(0).fits(call));
  call.count = most + 1;
  EXPECT_FALSE(channel(0).fits(call));
  call = callOf(Collective::allToAll, nullptr);
  call.count = most / kRanks;
  EXPECT_TRUE(channel(0).fits(call));
  call.count = most;
  EXPECT_FALSE(channel(0).fits(call)) << "a block for each rank";
  call = callOf(Collective::allReduce, nullptr);
  call.uneven = true;
  EXPECT_FALSE(channel(0).fits(call));
}

class WideFlatTest : public FlatTest {
 protected:
  WideFlatTest() : FlatTest(36 * 1024 + 1024 * 1024) {}
};

// Bytes of all lengths, round and round behind the slots, while a root is as far ahead as it may be.
TEST_F(WideFlatTest, BytesBehindTheSlotsStayUntilTheSlowestHasReadThem) {
  constexpr int kCollectives = 400;
  const std::uint64_t most = channel(0).capacity() / sizeof(std::int64_t);
  EXPECT_EQ(most, 8192u);
  std::vector<std::vector<std::int64_t>> sent;
  for (int i = 0; i < kCollectives; ++i) {
    const std::uint64_t count = i % 7 == 0 ? most : 1 + static_cast<std::uint64_t>(i) * 977 % most;
    sent.emplace_back(count);
    std::iota(sent.back().begin(), sent.back().end(), i * 100'000);
  }
  const auto broadcast = [&](int rank, int i, std::int64_t* buffer) {
    Call call = callOf(Collective::broadcast, buffer, 0);
    call.count = sent[static_cast<std::size_t>(i)].size();
    setUniformShape(call, kRanks);
    BoardCollective work = workOf(rank, call);
    return channel(rank).advance(work);
  };
  for (int i = 0; i < kCollectives + 2; ++i) {
    if (i < kCollectives) {
      ASSERT_EQ(broadcast(0, i, sent[static_cast<std::size_t>(i)].data()), Outcome::done);
    }
    for (int rank = 1; i >= 2 && rank < kRanks; ++rank) {
      const auto& want = sent[static_cast<std::size_t>(i) - 2];
      std::vector<std::int64_t> got(want.size());
      ASSERT_EQ(broadcast(rank, i - 2, got.data()), Outcome::done);
      ASSERT_EQ(got, want) << "collective " << i - 2;
    }
  }
}

// Short ones come between, as barriers in benchmarks do. Lines soon written again are still in their last reader's
// cache.
TEST_F(WideFlatTest, SomeLongCollectivesAmongShortOnesUseAsManyPlacesAsMany) {
  std::vector<std::int64_t> values(1000);
  const auto broadcast = [&](std::uint64_t count) {
    std::size_t at = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      Call call = callOf(Collective::broadcast, values.data(), 0);
      call.count = count;
      setUniformShape(call, kRanks);
      BoardCollective work = workOf(rank, call);
      EXPECT_EQ(channel(rank).advance(work), Outcome::done);
      at = work.at;
    }
    return at;
  };
  std::size_t of_every_one = 0;
  for (const int step : {1, 2, 3, 4}) {
    std::set<std::size_t> places;
    for (int i = 0; i < 1000; ++i) {
      places.insert(broadcast(values.size()));
      for (int between = 1; between < step; ++between)
        broadcast(1);
    }
    if (step == 1) of_every_one = places.size();
    EXPECT_EQ(places.size(), of_every_one) << "every " << step;
  }
  EXPECT_GT(of_every_one, 100u) << "most of the lane";
}

// Both calls have returned success, because no rank has read anything. The signature would show the mismatch; here all
// have the same one.
TEST_F(WideFlatTest, CollectivesAfterOnesThatDidNotMatchReadTheRightBytes) {
  constexpr std::uint64_t kBroadcast = 1000;
  constexpr std::uint64_t kReduced = 2000;
  std::array<std::vector<std::int64_t>, kRanks> buffers;
  buffers.fill(std::vector<std::int64_t>(kReduced));
  for (std::int64_t round = 0; round < 30; ++round) {
    for (int rank = 0; rank < kRanks; ++rank) {
      const bool broadcasts = rank == 0 || round % 3 == 0;
      Call call = callOf(broadcasts ? Collective::broadcast : Collective::reduce,
                         buffers[static_cast<std::size_t>(rank)].data(), broadcasts ? rank : 0);
      call.count = broadcasts ? kBroadcast : kReduced;
      setUniformShape(call, kRanks);
      BoardCollective work = workOf(rank, call);
      ASSERT_EQ(channel(rank).advance(work), Outcome::done) << "rank " << rank;
    }
    std::array<BoardCollective, kRanks> works;
    std::array<Outcome, kRanks> outcomes{};
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      std::fill(buffers[rank].begin(), buffers[rank].end(), round * 10 + static_cast<std::int64_t>(rank));
      Call call = callOf(Collective::allReduce, buffers[rank].data());
      call.count = kReduced;
      setUniformShape(call, kRanks);
      works[rank] = workOf(static_cast<int>(rank), call);
      outcomes[rank] = channel(static_cast<int>(rank)).advance(works[rank]);
    }
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      if (outcomes[rank] == Outcome::waiting) outcomes[rank] = channel(static_cast<int>(rank)).advance(works[rank]);
      ASSERT_EQ(outcomes[rank], Outcome::done);
      ASSERT_EQ(buffers[rank], std::vector<std::int64_t>(kReduced, round * 30 + 3)) << "rank " << rank;
    }
  }
}

} // namespace
} // namespace goss
