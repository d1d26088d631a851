// Pipelines of threads against a single process: the same bits, whatever the schedule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>

#include "tests/support/thread_ranks.h"
#include "tests/trainer/small_run.h"
#include "tests/trainer/temporary_directory.h"
#include "tests/trainer/thread_group.h"
#include "trainer/error.h"
#include "trainer/pipeline_trainer.h"

namespace goss::trainer {
namespace {

using testing::HasSubstr;

TrainOptions pipelineOptions(std::size_t pipeline, const std::string& schedule) {
  TrainOptions options = smallOptions(std::getenv("GOSS_TEST_QUICK") != nullptr ? 2 : 5);
  options.model.layers = 4;
  options.pipeline = pipeline;
  options.schedule = schedule;
  return options;
}

TrainOptions withoutPipeline(TrainOptions options) {
  options.pipeline = 0;
  return options;
}

/// Trains on `ranks` threads and gives what rank 0 has in the end.
RunResult runPipeline(int ranks, const TrainOptions& options) {
  ThreadBoard board(ranks, SumOrder::tree);
  RunResult result;
  test::runRanks(ranks, [&](goss_comm_t comm, int rank) {
    try {
      ThreadGroup group(board, rank);
      CpuOps ops;
      Report report(false, "");
      PipelineTrainer trainer(options, smallData(), group, comm, ops, report);
      trainer.run();
      const double validation = trainer.validationLoss();
      TrainingState state = trainer.state();
      if (rank == 0) result = {trainer.lossHistory(), validation, std::move(state)};
      group.barrier();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << rank << ": " << error.what();
      std::abort(); // the other threads wait at a barrier
    }
  });
  return result;
}

void expectSameRun(const RunResult& a, const RunResult& b) {
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.validation, b.validation);
  expectSameState(a.state, b.state);
}

TEST(PipelineTrainer, EveryScheduleHasTheBitsOfASingleProcess) {
  const RunResult alone = runAlone(withoutPipeline(pipelineOptions(0, "")));
  ASSERT_FALSE(alone.losses.empty());
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v"}) {
    SCOPED_TRACE(schedule);
    expectSameRun(runPipeline(2, pipelineOptions(2, schedule)), alone);
  }
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1", "zb-h2"}) {
    SCOPED_TRACE(schedule);
    expectSameRun(runPipeline(4, pipelineOptions(4, schedule)), alone);
  }
  for (const char* schedule : {"1f1b", "zb-v"}) {
    SCOPED_TRACE(schedule);
    expectSameRun(runPipeline(1, pipelineOptions(1, schedule)), alone);
  }
}

TEST(PipelineTrainer, MicroBatchesMayHaveSeveralSamplesAndStagesUnevenLayers) {
  TrainOptions options = pipelineOptions(3, "zb-h1");
  options.micro_batches = 4;
  TrainOptions alone = withoutPipeline(options);
  alone.micro_batch = 2;
  expectSameRun(runPipeline(3, options), runAlone(alone));
}

TEST(PipelineTrainer, TwoReplicasAddTheirGradientsAsTheTreeDoes) {
  // Each pipeline's sum is one half of the tree, and one addition commutes.
  const TrainOptions options = pipelineOptions(2, "1f1b");
  expectSameRun(runPipeline(4, options), runAlone(withoutPipeline(options)));
}

TEST(PipelineTrainer, GoesOnFromACheckpointOfASingleProcessAndBack) {
  TemporaryDirectory directory;
  TrainOptions options = pipelineOptions(2, "zb-v");
  options.steps = 6;
  const RunResult whole = runAlone(withoutPipeline(options));
  options.checkpoint = directory / "run";
  options.resume = true;
  options.checkpoint_every = 2;
  TrainOptions part = options;
  part.time_limit_s = 1e-9; // stops after one step
  runAlone(withoutPipeline(part));
  runPipeline(2, part);
  const RunResult third = runAlone(withoutPipeline(options));
  EXPECT_EQ(third.losses.size(), 4u);
  expectSameState(third.state, whole.state);
}

/// What a lone rank says of options that make no sense.
std::string refusal(const TrainOptions& options, int ranks = 1) {
  std::string text;
  std::mutex mutex;
  ThreadBoard board(ranks, SumOrder::tree);
  test::runRanks(ranks, [&](goss_comm_t comm, int rank) {
    ThreadGroup group(board, rank);
    CpuOps ops;
    Report report(false, "");
    try {
      PipelineTrainer trainer(options, smallData(), group, comm, ops, report);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      text = error.what();
    }
  });
  return text;
}

TEST(PipelineTrainer, RefusesBeforeItStarts) {
  EXPECT_THAT(refusal(pipelineOptions(2, "1f1b"), 3), HasSubstr("3 ranks do not form pipelines of --pipeline 2"));
  EXPECT_THAT(refusal(pipelineOptions(1, "zb-h9")), HasSubstr("no pipeline schedule 'zb-h9'; there are: gpipe"));
  EXPECT_THAT(refusal(pipelineOptions(1, "pipedream")), HasSubstr("pipedream does not"));
  EXPECT_THAT(refusal(pipelineOptions(1, "/nowhere.csv")), HasSubstr("/nowhere.csv"));
  TrainOptions shallow = pipelineOptions(1, "zb-v");
  shallow.model.layers = 1;
  EXPECT_THAT(refusal(shallow), HasSubstr("has 2 stages, more than the model's 1 layers"));
  TrainOptions odd = pipelineOptions(1, "1f1b");
  odd.micro_batches = 3;
  EXPECT_THAT(refusal(odd), HasSubstr("--batch 8 does not divide into 1 pipelines of --micro-batches 3"));
  TrainOptions local = pipelineOptions(1, "1f1b");
  local.sync = "diloco:h=50";
  EXPECT_THAT(refusal(local), HasSubstr("leave --sync at ddp"));
}

TEST(PipelineTrainer, RunsAScheduleFromAFile) {
  TemporaryDirectory directory;
  const std::string path = directory / "mine.csv";
  writeBytes(path, "0F0,0F1,0I0,0I1,0W0,0W1\n1F0,1I0,1F1,1I1,1W0,1W1\n");
  TrainOptions options = pipelineOptions(2, path);
  options.micro_batches = 2;
  TrainOptions alone = withoutPipeline(options);
  alone.micro_batch = 4;
  expectSameRun(runPipeline(2, options), runAlone(alone));
  options.micro_batches = 4;
  EXPECT_THAT(refusal(options, 2), HasSubstr("is for 2 ranks and 2 micro-batches"));
}

} // namespace
} // namespace goss::trainer
