// Pipelines of threads against a single process: the same bits, whatever the schedule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>

#include "tests/trainer/far_ops.h"
#include "tests/trainer/pipeline/pipeline_runs.h"
#include "tests/trainer/temporary_directory.h"
#include "trainer/base/error.h"

namespace goss::trainer {
namespace {

using testing::HasSubstr;

TEST(PipelineEngine, EveryScheduleHasTheBitsOfASingleProcess) {
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

TEST(PipelineEngine, RecomputationHasTheSameBits) {
  const RunResult alone = runAlone(withoutPipeline(pipelineOptions(0, "")));
  for (const char* schedule : {"1f1b", "zb-h1", "zb-v"}) {
    SCOPED_TRACE(schedule);
    TrainOptions options = pipelineOptions(2, schedule);
    options.recompute = true;
    expectSameRun(runPipeline(2, options), alone);
  }
  TrainOptions unflushed = pipelineOptions(2, "pipedream"); // each again with the weights of its first time
  unflushed.clip = 0;
  const RunResult kept = runPipeline(2, unflushed);
  unflushed.recompute = true;
  expectSameRun(runPipeline(2, unflushed), kept);
}

TEST(PipelineRank, RecomputedMicroBatchesShareOnePlaceUntilTheyComeBack) {
  const TrainOptions options = pipelineOptions(2, "1f1b");
  CpuOps ops;
  PipelineRank rank({options.model, 2, {0}, 1, 4, {}}, ops);
  PipelineRank::Span span;
  for (int k = 0; k < 4; ++k)
    span.recomputed.emplace(0, k);
  rank.begin([](std::size_t, std::span<std::int32_t> inputs, std::span<std::int32_t>) { std::ranges::fill(inputs, 1); },
             1.0f, span);
  std::vector<float> output(rank.at(0).model.boundaryCount(1));
  for (int k = 0; k < 4; ++k)
    rank.forward(0, k, nullptr, output.data());
  EXPECT_EQ(rank.at(0).model.allocated(), 1u);
  rank.recompute(0, 0);
  rank.recompute(0, 1);
  EXPECT_EQ(rank.at(0).model.allocated(), 2u);
}

TEST(PipelineEngine, MicroBatchesMayHaveSeveralSamplesAndStagesUnevenLayers) {
  TrainOptions options = pipelineOptions(3, "zb-h1");
  options.micro_batches = 4;
  TrainOptions alone = withoutPipeline(options);
  alone.micro_batch = 2;
  expectSameRun(runPipeline(3, options), runAlone(alone));
}

TEST(PipelineEngine, TwoReplicasAddTheirGradientsAsTheTreeDoes) {
  // Each pipeline's sum is one half of the tree, and one addition commutes.
  const TrainOptions options = pipelineOptions(2, "1f1b");
  expectSameRun(runPipeline(4, options), runAlone(withoutPipeline(options)));
}

TEST(PipelineEngine, GoesOnFromACheckpointOfASingleProcessAndBack) {
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

RunResult runTwoIslands(const TrainOptions& options) { return runCopies(2, withoutPipeline(options)); }

TEST(PipelineEngine, IslandsOfPipelinesHaveTheBitsOfIslandsOfSingleProcesses) {
  for (const char* sync : {"diloco:h=2", "slowmo:h=2", "ddp"}) {
    SCOPED_TRACE(sync);
    TrainOptions options = pipelineOptions(2, "zb-h1");
    options.sync = sync;
    options.islands = 2;
    const RunResult whole = runTwoIslands(options);
    expectSameRun(runPipeline(4, options), whole);
    // Two pipelines an island add the halves of its tree.
    expectSameRun(runPipeline(8, options), whole);
  }
}

TEST(PipelineEngine, MuonOfStagesHasTheBitsOfTheWholeModels) {
  TrainOptions options = pipelineOptions(2, "1f1b");
  options.optimizer = "muon";
  const RunResult alone = runAlone(withoutPipeline(options));
  expectSameRun(runPipeline(2, options), alone);
  EXPECT_NE(alone.losses, runAlone(withoutPipeline(pipelineOptions(2, "1f1b"))).losses);
  options.sync = "diloco:h=2";
  options.islands = 2;
  expectSameRun(runPipeline(4, options), runTwoIslands(options));
}

TEST(PipelineEngine, LlamaOfStagesHasTheBitsOfTheWholeModel) {
  TrainOptions options = pipelineOptions(2, "zb-h1");
  options.model.arch = Architecture::llama;
  const RunResult alone = runAlone(withoutPipeline(options));
  expectSameRun(runPipeline(2, options), alone);
  EXPECT_NE(alone.losses, runAlone(withoutPipeline(pipelineOptions(2, "zb-h1"))).losses);
  options.recompute = true;
  expectSameRun(runPipeline<FarOps>(2, options), alone);
}

TEST(PipelineEngine, DemoMovesEveryWeightByTheLearningRateAlongSigns) {
  TrainOptions options = pipelineOptions(2, "1f1b");
  options.steps = 1;
  options.sync = "demo";
  options.islands = 2;
  const auto rate = static_cast<float>(options.lr / static_cast<double>(options.warmup));
  const ParameterTable table(options.model);
  const std::vector<float> before = table.initialValues(options.seed);
  for (const RunResult& run : {runPipeline(4, options), runTwoIslands(options)}) {
    std::size_t moved = 0;
    for (std::size_t i = table.lnfWeight(); i < table.lnfWeight() + 2 * options.model.channels;
         ++i) { // vectors do not decay
      const float after = run.state.parameters[i];
      EXPECT_TRUE(after == before[i] || after == before[i] - rate || after == before[i] + rate) << after;
      moved += after != before[i] ? 1 : 0;
    }
    EXPECT_GT(moved, 0u);
  }
}

float largestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

TEST(PipelineEngine, CompressionBetweenIslandsStaysWithinItsBound) {
  TrainOptions options = pipelineOptions(2, "1f1b");
  options.islands = 2;
  options.steps = 1;
  options.sync = "diloco:h=1";
  const RunResult exact = runPipeline(4, options);
  options.sync = "diloco:h=1,codec=int4";
  const RunResult stages = runPipeline(4, options);
  const RunResult whole = runTwoIslands(options);
  // Blocks of a stage's vector begin elsewhere than those of the whole model's, so the bits differ. The first AdamW
  // step moves a weight by lr at most, and by lr * decay * |weight| (below 1) more: so D = 1.1 lr bounds what is
  // encoded. int4 has levels at multiples of peak / 7 and errs by half of that: D / 14 for a worker's part, and (D + D
  // / 14) / 14 when the owner encodes the mean. The outer step multiplies by 0.7 * (1 + 0.9). The last 1 % is for
  // float32, in which steps have 16 bits.
  const double encoded = 1.1 * options.lr / static_cast<double>(options.warmup);
  const double bound = 0.7 * 1.9 * (encoded / 14 + encoded * 15 / 14 / 14) * 1.01;
  const float off = largestDifference(stages.state.parameters, exact.state.parameters);
  EXPECT_LE(off, bound);
  EXPECT_GT(off, 0) << "nothing was compressed";
  EXPECT_LE(largestDifference(stages.state.parameters, whole.state.parameters), 2 * bound);
  EXPECT_EQ(stages.losses, exact.losses); // of the step before the exchange
}

/// The error of a lone rank with invalid options.
std::string refusal(const TrainOptions& options, int ranks = 1) {
  std::string text;
  std::mutex mutex;
  ThreadBoard board(ranks, SumOrder::tree);
  test::runRanks(ranks, [&](goss_comm_t comm, int rank) {
    ThreadGroup group(board, rank);
    CpuOps ops;
    Report report(false, "");
    try {
      PipelineEngine engine(options, smallData(), {group, comm}, ops, report);
      const TrainingLoop loop(engine);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      text = error.what();
    }
  });
  return text;
}

TEST(PipelineEngine, RefusesBeforeItStarts) {
  EXPECT_THAT(refusal(pipelineOptions(2, "1f1b"), 3), HasSubstr("3 ranks do not form pipelines of --pipeline 2"));
  EXPECT_THAT(refusal(pipelineOptions(1, "zb-h9")), HasSubstr("no pipeline schedule 'zb-h9'; there are: gpipe"));
  EXPECT_THAT(refusal(pipelineOptions(1, "pipedream")), HasSubstr("give --clip 0"));
  TrainOptions unflushed = pipelineOptions(1, "2bw");
  unflushed.clip = 0;
  unflushed.sync = "diloco:h=2";
  EXPECT_THAT(refusal(unflushed), HasSubstr("2bw does not flush"));
  EXPECT_THAT(refusal(pipelineOptions(1, "/nowhere.csv")), HasSubstr("/nowhere.csv"));
  TrainOptions shallow = pipelineOptions(1, "zb-v");
  shallow.model.layers = 1;
  EXPECT_THAT(refusal(shallow), HasSubstr("has 2 stages, more than the model's 1 layers"));
  TrainOptions odd = pipelineOptions(1, "1f1b");
  odd.micro_batches = 3;
  EXPECT_THAT(refusal(odd), HasSubstr("--batch 8 does not divide into 1 pipelines of --micro-batches 3"));
  TrainOptions islands = pipelineOptions(2, "1f1b");
  islands.islands = 2;
  EXPECT_THAT(refusal(islands, 3), HasSubstr("3 ranks do not form --islands 2 with pipelines of --pipeline 2"));
  EXPECT_THAT(refusal(islands, 2), HasSubstr("start a multiple of 4"));
  TrainOptions unknown = pipelineOptions(1, "1f1b");
  unknown.sync = "dilocco:h=50";
  EXPECT_THAT(refusal(unknown), HasSubstr("there is no synchronizer 'dilocco'"));
  TrainOptions dynamic = pipelineOptions(1, "1f1b");
  dynamic.sync = "diloco:steps=dynamic";
  EXPECT_THAT(refusal(dynamic), HasSubstr("leave out steps=dynamic"));
}

TEST(PipelineEngine, RefusesFilesWithoutAFlushThatItCannotRun) {
  TemporaryDirectory directory;
  const auto refused = [&](const std::string& text, std::size_t micro_batches) {
    TrainOptions options = pipelineOptions(2, directory / "mine.csv");
    writeBytes(options.schedule, text);
    options.micro_batches = micro_batches;
    options.clip = 0;
    options.steps = 5;
    options.val_every = options.checkpoint_every = 2;
    return refusal(options, 2);
  };
  const std::string last = "1STEP0@1,1F1@1,1B1@1,1STEP1@2\n";
  EXPECT_THAT(refused("0F0@0,0I0@0,0W0@0,0STEP0@1,0F1@1,0B1@1,0STEP1@2\n1F0@0,1B0@0," + last, 2),
              HasSubstr("B instead of I and W"));
  // One batch of two micro-batches would be fine, two of one each span two of the run's five steps.
  const std::string fine = "0F0@0,0F1@0,0B0@0,0STEP0@1,0B1@0,0STEP1@2\n1F0@0,1B0@0," + last;
  EXPECT_THAT(refused(fine, 1), HasSubstr("spans 2 steps"));
}

TEST(PipelineEngine, RefusesACheckpointInTheMiddleOfAFilesSteps) {
  TemporaryDirectory directory;
  TrainOptions options = pipelineOptions(1, "1f1b");
  options.steps = 1;
  options.clip = 0;
  options.checkpoint = directory / "run";
  runPipeline(1, options);
  options.steps = 4;
  options.val_every = options.checkpoint_every = 2;
  options.resume = true;
  options.micro_batches = 1;
  options.schedule = directory / "mine.csv";
  writeBytes(options.schedule, "0F0@0,0F1@0,0B0@0,0STEP0@1,0B1@0,0STEP1@2\n");
  EXPECT_THAT(refusal(options), HasSubstr("have to be multiples of that, 1 is not"));
}

TEST(PipelineEngine, RunsAScheduleFromAFile) {
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
