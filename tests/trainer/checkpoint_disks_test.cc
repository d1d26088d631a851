// Tests of checkpoints on full disks, and on disks that only one rank sees.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <utility>

#include "tests/trainer/checkpoint_fixture.h"
#include "tests/trainer/thread_group.h"
#include "trainer/files/checkpoint_parts.h"
#include "trainer/run/run_checkpoints.h"

namespace goss::trainer {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What a rank wrote on a disk of its own goes when rank 0's does.
TEST_F(CheckpointTest, ADirectoryOfARanksOwnKeepsWhatRankZeroKeeps) {
  CheckpointStore far(directory_ / "far", 2, 1);
  far.prepare(1);
  const std::string foreign = "step-00000000"; // a checkpoint that rank 0 does not have now
  fs::create_directory(directory_ / ("far/" + foreign));
  writeBytes(directory_ / ("far/" + foreign + "/rank-0001.safetensors"), "");
  for (const std::size_t step : {1u, 2u, 3u, 4u}) {
    const std::vector<ReplicaState> ranks = {stateOf(table_, step), stateOf(table_, step + 1)};
    const CheckpointIndex index = indexOf(kConfig, table_, step, ranks);
    const std::string name = store_.begin(step);
    store_.writePart(name, index, table_.parameters(), ranks[0], {});
    far.writePart(name, index, table_.parameters(), ranks[1], store_.names());
    store_.commit(name, index);
  }
  std::vector<std::string> last = {"step-00000004", "step-00000003", "step-00000002", foreign};
  EXPECT_EQ(far.names(), last);
  EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000003", "step-00000004"}));
  std::vector<float> theirs(table_.count());
  const CheckpointIndex index = readIndex(directory_ / "run/step-00000004");
  EXPECT_FALSE(fs::exists(directory_ / "run/step-00000004/rank-0001.safetensors"));
  readVector(directory_ / "far/step-00000004", index.ranks[1], kModelPiece, table_, theirs);
  EXPECT_TRUE(theirs == stateOf(table_, 5).parameters);
  far = CheckpointStore(directory_ / "far", 2, 1); // a run that goes on from here
  far.use("step-00000004");
  far.writePart("step-00000004", index, table_.parameters(), stateOf(table_, 5), store_.names());
  last.resize(2);
  EXPECT_EQ(far.names(), last);
}

// Two islands of two ranks that hold the same.
TEST_F(CheckpointTest, WhatAnotherRankWroteOnADiskOfItsOwnComesFromThere) {
  const std::vector<ReplicaState> ranks = {stateOf(table_, 7), stateOf(table_, 7), stateOf(table_, 8),
                                           stateOf(table_, 8)};
  const CheckpointIndex index = indexOf(kConfig, table_, 7, ranks);
  const auto disk = [this](std::size_t rank) { return directory_ / fmt::format("disk{}", rank); };
  std::vector<CheckpointStore> stores;
  std::string name;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    stores.emplace_back(disk(rank), 2, rank).prepare(1);
    if (rank == 0) name = stores[0].begin(7);
    if (index.writes(rank)) stores[rank].writePart(name, index, table_.parameters(), ranks[rank], {name});
  }
  stores[0].commit(name, index);
  EXPECT_FALSE(index.writes(1) || index.writes(3));
  fs::create_directory(stores[3].folder(name));
  writeBytes(stores[3].folder(name) + "/rank-0002.safetensors", "another run's");
  std::vector<ReplicaState> loaded(ranks.size());
  runRanks(4, SumOrder::tree, [&](Group& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    TrainOptions options;
    options.model = kConfig;
    options.checkpoint = disk(rank);
    options.resume = true;
    Report report(false);
    CheckpointLoader loader(options, table_, group, report, &stores[rank]);
    EXPECT_EQ(errorOf([&] { loaded[rank] = loader.load({kSettings, "some", "a grid"}).model; }), "");
  });
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (const auto vector : kPieceVectors)
      EXPECT_TRUE(loaded[rank].*vector == ranks[rank].*vector) << rank;
}

/// Files of this process cannot grow beyond a size while this lives; writing more fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(CheckpointTest, AFailedWriteNamesTheFileAndKeepsThePreviousCheckpoint) {
  save(7);
  std::string error;
  {
    const FileSizeLimit limit(2048); // model.safetensors needs more
    error = errorOf([this] { save(8); });
  }
  EXPECT_THAT(error, AllOf(HasSubstr("step 8"), HasSubstr("by rank 0"), HasSubstr("model.safetensors"),
                           HasSubstr("File too large"), HasSubstr("earlier checkpoints are untouched")));
  EXPECT_EQ(loadedStep(), 7u);
  save(9); // and the store works again once there is room
  EXPECT_EQ(loadedStep(), 9u);
  EXPECT_EQ(names(), (std::set<std::string>{"latest", "step-00000007", "step-00000009"}));
}

TEST_F(CheckpointTest, AFirstOneWithoutRankZerosPartIsNotTried) {
  const std::vector<ReplicaState> ranks = threeRanks(table_);
  const CheckpointIndex index = indexOf(kConfig, table_, 7, ranks);
  const std::string name = store_.begin(7);
  {
    const FileSizeLimit limit(2048);
    EXPECT_NE(errorOf([&] { store_.writePart(name, index, table_.parameters(), ranks[0], {}); }), "");
  }
  storeOf(1).writePart(name, index, table_.parameters(), ranks[1], {name}); // which has not heard of it yet
  EXPECT_EQ(loadedStep(), 0u);
  saveRanks(7, ranks);
  EXPECT_EQ(loadedStep(), 7u);
  EXPECT_EQ(names(), (std::set<std::string>{"latest", name}));
}

TEST_F(CheckpointTest, ADirectoryThatCannotBeMadeIsNamedAtTheStart) {
  writeBytes(directory_ / "file", "");
  EXPECT_THAT(errorOf([this] { CheckpointStore(directory_ / "file/run", 1, 0).prepare(1); }),
              AllOf(HasSubstr("cannot create"), HasSubstr("file/run")));
}

TEST_F(CheckpointTest, ADirectoryWithoutRoomIsNamedAtTheStart) {
  EXPECT_THAT(errorOf([this] { store_.prepare(std::size_t{1} << 62); }),
              AllOf(HasSubstr("needs 4611686018427387904 bytes"), HasSubstr(directory_ / "run")));
}

/// A rank of four whose collectives reach no other rank.
class OneOfFour : public SoloGroup {
 public:
  explicit OneOfFour(int rank) : rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return 4; }

 private:
  int rank_;
};

// Ranks 0 and 2 hold a part that fits no disk, of the same copy; ranks 1 and 3 one that fits.
TEST_F(CheckpointTest, ARankNeedsRoomForTheVectorsThatItWritesItself) {
  const auto shareOf = [](int rank) {
    Parameter tensor;
    tensor.name = rank % 2 == 0 ? "vast" : "small";
    tensor.count = rank % 2 == 0 ? std::size_t{1} << 55 : 1;
    return RankShare{0, {tensor}};
  };
  const auto errorOfRank = [&](int rank, const Holdings& holdings) {
    TrainOptions options;
    options.model = kConfig;
    options.checkpoint = directory_ / "run";
    OneOfFour group(rank);
    Report report(false);
    RunCheckpoints checkpoints(options, table_, group, report);
    return errorOf([&] { checkpoints.start({kSettings, "some", "a grid"}, holdings); });
  };
  EXPECT_THAT(errorOfRank(0, {shareOf, true}), HasSubstr("rank 0: a checkpoint needs 432345564227567616 bytes"));
  for (const int rank : {1, 2, 3})
    EXPECT_EQ(errorOfRank(rank, {shareOf, true}), "") << rank;
  const auto copyOf = [&](int rank) { return RankShare{static_cast<std::size_t>(rank), shareOf(0).tensors}; };
  EXPECT_THAT(errorOfRank(2, {copyOf, true}), HasSubstr("rank 2: a checkpoint needs 432345564227567616 bytes"));
  EXPECT_EQ(errorOfRank(2, {copyOf, false}), "") << "rank 0 saves for all";
}

// Each of four parts would fit by itself.
TEST_F(CheckpointTest, RanksWithDirectoriesOnOneDiskNeedRoomForAllTheirVectors) {
  fs::create_directories(directory_ / "run");
  const std::uintmax_t room = fs::space(directory_ / "run").available;
  const auto shareOf = [&](int rank) {
    Parameter tensor;
    tensor.name = fmt::format("stage {}", rank);
    tensor.count = room / (3 * sizeof(float)) * 2 / 5; // with its two moments two fifths of the room
    return RankShare{0, {tensor}};
  };
  runRanks(4, SumOrder::tree, [&](Group& group) {
    TrainOptions options;
    options.model = kConfig;
    options.checkpoint = directory_ / (group.rank() % 2 == 0 ? "run" : "other");
    Report report(false);
    RunCheckpoints checkpoints(options, table_, group, report);
    EXPECT_THAT(
        errorOf([&] {
          checkpoints.start({kSettings, "some", "a grid"}, {shareOf, true});
        }),
        AllOf(HasSubstr(fmt::format("rank {}: a checkpoint needs", group.rank())), HasSubstr(options.checkpoint)));
  });
}

} // namespace
} // namespace goss::trainer
