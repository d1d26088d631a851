// Ranks as threads: the same global batch over 1 to 8 ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <thread>

#include "tests/support/quick.h"
#include "tests/trainer/far_ops.h"
#include "tests/trainer/small_run.h"
#include "tests/trainer/temporary_directory.h"
#include "tests/trainer/thread_group.h"
#include "tests/trainer/trajectory_bound.h"

namespace goss::trainer {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::size_t stepCount() { return test::fullOr(30u, 6u); }

std::vector<RunResult> runOver(int ranks, SumOrder order, const TrainOptions& options) {
  std::vector<RunResult> results(static_cast<std::size_t>(ranks));
  runRanks(ranks, order,
           [&](Group& group) { results[static_cast<std::size_t>(group.rank())] = runOn(group, options); });
  return results;
}

TEST(DataParallel, PowersOfTwoGiveTheBitsOfOneRankWhenTheSumIsATree) {
  const TrainOptions options = smallOptions(stepCount());
  const RunResult alone = runAlone(options);
  for (const int ranks : {1, 2, 4, 8}) {
    for (const RunResult& result : runOver(ranks, SumOrder::tree, options)) {
      EXPECT_EQ(result.losses, alone.losses) << ranks;
      EXPECT_EQ(result.validation, alone.validation) << ranks;
      expectSameState(result.state, alone.state);
    }
  }
}

TEST(DataParallel, AnyNumberOfRanksAndAnyOrderStaysWithinTheBoundOfRounding) {
  const TrainOptions options = smallOptions(stepCount());
  const RunResult alone = runAlone(options);
  const std::vector<double> bound = trajectoryBound(options, smallData());
  for (const int ranks : {3, 4, 5, 7}) {
    const std::vector<RunResult> results = runOver(ranks, SumOrder::sequence, options);
    for (const RunResult& result : results)
      expectSameState(result.state, results.front().state); // all ranks end with the same bits
    EXPECT_EQ(results.front().losses.front(), alone.losses.front()) << "equal parameters give equal losses";
    for (std::size_t step = 0; step < options.steps; ++step) {
      EXPECT_LE(std::abs(results.front().losses[step] - alone.losses[step]), bound[step])
          << ranks << " ranks, step " << step;
    }
  }
}

TEST(DataParallel, TheBoundIsFarBelowWhatALostSampleWouldDo) {
  const TrainOptions options = smallOptions(stepCount());
  TrainOptions other = options;
  other.batch = 7; // the same windows without the last one
  const std::vector<double> bound = trajectoryBound(options, smallData());
  const RunResult alone = runAlone(options);
  const RunResult lost = runAlone(other);
  for (std::size_t step = 1; step < options.steps; ++step)
    EXPECT_GT(std::abs(lost.losses[step] - alone.losses[step]), bound[step]) << step;
}

TEST(DataParallel, SamplesPerPassDoNotChangeTheLossOfEqualParameters) {
  TrainOptions options = smallOptions(1);
  const double one = runAlone(options).losses.front();
  options.micro_batch = 4;
  EXPECT_NEAR(runAlone(options).losses.front(), one, 1e-6); // matrix products of other shapes may round otherwise
}

TEST(DataParallel, ValidationOfEqualParametersHasTheSameBitsOnAnyNumberOfRanks) {
  const TrainOptions options = smallOptions(1);
  std::vector<double> losses(7);
  for (const int ranks : {1, 3, 7}) {
    runRanks(ranks, SumOrder::tree, [&](Group& group) {
      CpuOps ops;
      Report report(false, "");
      ReplicaEngine engine(options, smallData(), group, ops, report);
      const TrainingLoop loop(engine); // the seed's parameters
      losses[static_cast<std::size_t>(group.rank())] = engine.validationLoss();
    });
    EXPECT_THAT(std::vector<double>(losses.begin(), losses.begin() + ranks), Each(losses[0])) << ranks;
  }
}

std::vector<std::string> errorsOf(int ranks, const std::function<void(Group&)>& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  runRanks(ranks, SumOrder::tree,
           [&](Group& group) { errors[static_cast<std::size_t>(group.rank())] = errorOf([&] { body(group); }); });
  return errors;
}

TEST(DataParallel, RanksWithDifferentOptionsOrDataAllRefuse) {
  const TemporaryDirectory directory;
  EXPECT_THAT(errorsOf(3,
                       [&](Group& group) {
                         TrainOptions options = smallOptions(1);
                         options.checkpoint = directory / "run";
                         if (group.rank() == 2) options.lr = 0.5;
                         runOn(group, options);
                       }),
              Each(HasSubstr("different options")));
  EXPECT_FALSE(std::filesystem::exists(directory / "run")) << "nothing is written before all agree";
  EXPECT_THAT(errorsOf(2,
                       [](Group& group) {
                         TrainOptions options = smallOptions(1);
                         options.val_every = static_cast<std::size_t>(group.rank()) + 1;
                         runOn(group, options);
                       }),
              Each(HasSubstr("different options")));
  EXPECT_THAT(errorsOf(2,
                       [](Group& group) { // saving is collective
                         TrainOptions options = smallOptions(1);
                         options.checkpoint_every = static_cast<std::size_t>(group.rank()) + 1;
                         runOn(group, options);
                       }),
              Each(HasSubstr("different options")));
  EXPECT_THAT(errorsOf(2,
                       [](Group& group) { // the others would notice rank 0's end some steps later
                         TrainOptions options = smallOptions(1);
                         if (group.rank() == 0) options.time_limit_s = 60;
                         runOn(group, options);
                       }),
              Each(HasSubstr("different options")));
  const Dataset other(bytesToTokens(smallText() + "."), true);
  EXPECT_THAT(
      errorsOf(2, [&](Group& group) { runOn(group, smallOptions(1), group.rank() == 0 ? smallData() : other); }),
      Each(HasSubstr("different data")));
}

TEST(DataParallel, RanksWithAndWithoutAGpuAllRefuse) {
  EXPECT_THAT(errorsOf(2,
                       [](Group& group) {
                         if (group.rank() == 0) {
                           runOn<FarOps>(group, smallOptions(1));
                         } else {
                           runOn(group, smallOptions(1));
                         }
                       }),
              ElementsAre(AllOf(HasSubstr("some ranks compute on a GPU"), HasSubstr("this one: far")),
                          HasSubstr("this one: cpu")));
}

TEST(DataParallel, MoreRanksThanMicroBatchesAreRefused) {
  EXPECT_THAT(errorsOf(9, [](Group& group) { runOn(group, smallOptions(1)); }), Each(HasSubstr("too few for 9 ranks")));
}

TEST(DataParallel, RankZeroWritesWhatAllHoldAndAllResumeFromIt) {
  const TemporaryDirectory directory;
  TrainOptions options = smallOptions(6);
  const RunResult whole = runAlone(options);
  options.checkpoint = directory / "run";
  options.time_limit_s = 1e-9; // stops after the first step
  const std::vector<RunResult> started = runOver(2, SumOrder::tree, options);
  EXPECT_EQ(started[1].state.step, 1u);
  options.time_limit_s = 0;
  options.resume = true;
  for (const RunResult& result : runOver(4, SumOrder::tree, options)) { // on another number of ranks
    EXPECT_EQ(result.losses, std::vector<double>(whole.losses.begin() + 1, whole.losses.end()));
    expectSameState(result.state, whole.state);
  }
}

/// Bytes that two ranks copy from each other in a run of two steps with a checkpoint at its end.
std::size_t copiedBytes(const TrainOptions& options) {
  ThreadBoard board(2, SumOrder::tree);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      ThreadGroup group(board, rank);
      runOn(group, options);
    });
  }
  for (std::thread& rank : ranks)
    rank.join();
  return board.copied_bytes;
}

// A new run's parameters come from the seed, and each rank writes what no other holds.
TEST(DataParallel, OnlyHashesCrossForCheckpoints) {
  constexpr std::size_t kTexts = 4000; // a tenth of a vector of the model
  const TemporaryDirectory directory;
  TrainOptions options = smallOptions(2);
  options.checkpoint_every = 0;
  options.checkpoint = directory / "ddp";
  EXPECT_LT(copiedBytes(options), kTexts);
  options.sync = "local";
  options.checkpoint = directory / "local";
  EXPECT_LT(copiedBytes(options), kTexts);
  EXPECT_TRUE(std::filesystem::exists(directory / "local/step-00000002/rank-0001.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(directory / "ddp/step-00000002/rank-0001.safetensors"));
}

/// Counts the vectors of the small model that the host copies from it.
class CountingOps : public CpuOps {
 public:
  void download(void* to_host, const void* from, std::size_t bytes) override {
    if (bytes == smallModelBytes()) ++vectors;
    CpuOps::download(to_host, from, bytes);
  }
  int vectors = 0;

 private:
  static std::size_t smallModelBytes() { return ParameterTable(smallOptions(1).model).count() * sizeof(float); }
};

// Ranks but 0 neither copy nor hash vectors that rank 0 holds, too.
TEST(DataParallel, RankZeroAloneCopiesVectorsForACheckpoint) {
  const TemporaryDirectory directory;
  const auto vectorsOf = [](const TrainOptions& options) {
    std::vector<int> vectors(2);
    runRanks(2, SumOrder::tree, [&](Group& group) {
      CountingOps ops;
      runWith(ops, group, options);
      vectors[static_cast<std::size_t>(group.rank())] = ops.vectors;
    });
    return vectors;
  };
  TrainOptions options = smallOptions(2);
  const std::vector<int> without = vectorsOf(options); // the test itself takes each rank's state
  options.checkpoint = directory / "run";
  options.checkpoint_every = 1;
  EXPECT_EQ(vectorsOf(options), (std::vector<int>{without[0] + 2 * 3, without[1]}));
}

TEST(LocalSteps, ReplicasGoOnWithTheirOwnStateFromACheckpoint) {
  const TemporaryDirectory directory;
  TrainOptions options = smallOptions(6);
  options.sync = "local";
  const std::vector<RunResult> whole = runOver(3, SumOrder::tree, options);
  options.checkpoint = directory / "run";
  options.resume = true;
  options.time_limit_s = 1e-9; // stops after every step, in and out of a period
  std::vector<RunResult> last;
  for (std::size_t step = 0; step < options.steps; ++step)
    last = runOver(3, SumOrder::tree, options);
  for (std::size_t rank = 0; rank < last.size(); ++rank) {
    EXPECT_EQ(last[rank].losses.back(), whole[rank].losses.back());
    expectSameState(last[rank].state, whole[rank].state);
    EXPECT_TRUE(last[rank].state.parameters == last[0].state.parameters) << "the end is the same for all";
  }
  EXPECT_FALSE(last[1].state.first_moments == last[0].state.first_moments) << "moments are a rank's own";
}

TEST(LocalSteps, AnotherNumberOfRanksOrAnotherMethodGoesOnFromTheMean) {
  const TemporaryDirectory directory;
  TrainOptions options = smallOptions(4);
  options.sync = "local";
  options.checkpoint = directory / "run";
  options.time_limit_s = 1e-9;
  const std::vector<RunResult> saved = runOver(3, SumOrder::tree, options); // in the middle of a period
  options.resume = true;
  options.time_limit_s = 0;
  options.steps = 1; // nothing is left to do
  const TrainingState two = runOver(2, SumOrder::tree, options)[1].state;
  options.sync = "ddp";
  const TrainingState three = runOver(3, SumOrder::tree, options)[2].state;
  expectSameState(two, three);
  const auto expectMean = [&](std::vector<float> ReplicaState::*vector) {
    for (std::size_t i = 0; i < (two.*vector).size(); ++i) {
      double sum = 0;
      for (const RunResult& rank : saved)
        sum += (rank.state.*vector)[i];
      ASSERT_EQ((two.*vector)[i], static_cast<float>(sum / 3));
    }
  };
  expectMean(&ReplicaState::parameters);
  expectMean(&ReplicaState::first_moments);
  expectMean(&ReplicaState::second_moments);
}

} // namespace
} // namespace goss::trainer
