// Checkpoints of runs whose ranks keep something of their own, on the same grid of ranks and on others.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/trainer/pipeline/pipeline_runs.h"
#include "tests/trainer/temporary_directory.h"

namespace goss::trainer {
namespace {

/// Trains `ranks` ranks to the end, and again from the checkpoint in the middle.
void expectSameEnd(int ranks, TrainOptions options) {
  TemporaryDirectory directory;
  options.steps = 5;
  options.checkpoint = directory / "run";
  options.checkpoint_every = 3; // in the middle of a period, with exchanges on the way
  const RunResult whole = runPipeline(ranks, options);
  writeBytes(directory / "run/latest", "step-00000003\n");
  options.resume = true;
  const RunResult rest = runPipeline(ranks, options);
  EXPECT_EQ(rest.losses, std::vector<double>(whole.losses.begin() + 3, whole.losses.end()));
  expectSameState(rest.state, whole.state);
}

TEST(CheckpointGrids, IslandsOfPipelinesGoOnWithTheSameBits) {
  TrainOptions options = pipelineOptions(2, "zb-h1");
  options.islands = 2;
  for (const char* sync :
       {"streaming:h=4,fragments=2,tau=1,alpha=0.5", "diloco:h=2,codec=int4:block=64+ef", "cocktail", "demo"}) {
    SCOPED_TRACE(sync);
    options.sync = sync;
    expectSameEnd(4, options);
  }
  options.sync = "diloco:h=2";
  expectSameEnd(8, options); // two pipelines an island
}

/// Copies a checkpoint, since a run writes its own beside it.
TrainOptions resumed(TrainOptions options, const std::string& from, const std::string& to) {
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  options.checkpoint = to;
  options.resume = true;
  options.steps = 8;
  // The float32 optimizer stands still, so that nothing but outer momenta moves the weights: what ranks compute between
  // would depend on how many they are.
  options.lr = 1e-60;
  return options;
}

TEST(CheckpointGrids, OuterMomentaOfReplicasMoveStagesAndASingleRankToTheSameWeights) {
  TemporaryDirectory directory;
  const std::string saved = directory / "saved";
  TrainOptions options = pipelineOptions(2, "1f1b");
  options.steps = 4;
  options.sync = "diloco:h=2";
  options.checkpoint = saved;
  const std::vector<float> before = runCopies(4, withoutPipeline(options)).state.parameters;
  const auto run = [&](int ranks, TrainOptions of, const char* name) {
    of = resumed(of, saved, directory / name);
    return (of.pipeline == 0 ? runCopies(ranks, of) : runPipeline(ranks, of)).state.parameters;
  };
  const std::vector<float> after = run(4, withoutPipeline(options), "same");
  EXPECT_FALSE(after == before) << "the outer momentum moves nothing";
  EXPECT_TRUE(run(1, withoutPipeline(options), "alone") == after);
  EXPECT_TRUE(run(3, withoutPipeline(options), "three") == after);
  TrainOptions islands = options;
  islands.islands = 2;
  EXPECT_TRUE(run(4, islands, "two stages, two replicas") == after);
  TrainOptions other = withoutPipeline(options);
  other.sync = "local:h=2"; // another method begins anew
  EXPECT_TRUE(run(2, other, "local") == before);
  other.sync = "diloco:h=2,momentum=0"; // and so does one that keeps other vectors
  EXPECT_TRUE(run(2, other, "no momentum") == before);
}

TEST(CheckpointGrids, OuterMomentaOfStagesMoveReplicasAndOtherStagesToTheSameWeights) {
  TemporaryDirectory directory;
  const std::string saved = directory / "saved";
  TrainOptions options = pipelineOptions(2, "1f1b");
  options.steps = 4;
  options.sync = "diloco:h=2";
  options.islands = 2;
  options.checkpoint = saved;
  const std::vector<float> before = runPipeline(4, options).state.parameters;
  const std::vector<float> after = runPipeline(4, resumed(options, saved, directory / "same")).state.parameters;
  EXPECT_FALSE(after == before);
  TrainOptions longer = options;
  longer.pipeline = 4;
  EXPECT_TRUE(runPipeline(8, resumed(longer, saved, directory / "four stages")).state.parameters == after);
  const TrainOptions alone = resumed(withoutPipeline(options), saved, directory / "alone");
  EXPECT_TRUE(runCopies(1, alone).state.parameters == after);
}

// Two stages in each of two islands: every rank writes, and only texts and hashes cross.
TEST(CheckpointGrids, StagesWriteTheirOwnPartsAndOnlyHashesCross) {
  constexpr std::size_t kTexts = 8000; // less than a tenth of the model
  TemporaryDirectory directory;
  TrainOptions options = pipelineOptions(2, "1f1b");
  options.steps = 3;
  options.sync = "diloco:h=2";
  options.checkpoint = directory / "run";
  options.checkpoint_every = 1;
  ThreadBoard board(4, SumOrder::tree);
  test::runRanks(4, [&](goss_comm_t comm, int rank) {
    ThreadGroup group(board, rank);
    CpuOps ops;
    Report report(false, "");
    PipelineEngine engine(options, smallData(), {group, comm}, ops, report);
    TrainingLoop(engine).run();
  });
  EXPECT_LT(board.copied_bytes, kTexts);
  for (const char* file : {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                           "model.safetensors.index.json", "rank-0003.safetensors"})
    EXPECT_TRUE(std::filesystem::exists(directory / (std::string("run/step-00000003/") + file))) << file;
}

TrainOptions deltaOptions(std::size_t pipeline) {
  TrainOptions options = pipelineOptions(pipeline, "1f1b");
  options.steps = 4;
  options.samples = 12;
  options.activation_codec = "int4:block=64";
  options.activation_deltas = true;
  return options;
}

TEST(CheckpointGrids, ActivationsThatBothEndsKnowGoOnWithTheSameBits) {
  expectSameEnd(2, deltaOptions(2));
  expectSameEnd(4, deltaOptions(2)); // two pipelines, each with its own
}

TEST(CheckpointGrids, OnAnotherSplitActivationsBeginAnew) {
  TemporaryDirectory directory;
  TrainOptions options = deltaOptions(2);
  options.checkpoint = directory / "saved";
  runPipeline(2, options);
  TrainOptions cold = options;
  cold.activation_deltas = false; // leaves the saved ones alone
  for (const int stages : {2, 4}) {
    TrainOptions other = stages == 4 ? deltaOptions(4) : cold;
    std::filesystem::copy(directory / "saved", directory / std::to_string(stages),
                          std::filesystem::copy_options::recursive);
    other.checkpoint = directory / std::to_string(stages);
    other.resume = true;
    other.steps = 6;
    EXPECT_EQ(runPipeline(stages, other).losses.size(), 2u);
  }
}

TEST(CheckpointGrids, WithOtherSamplesActivationsBeginAnew) {
  TemporaryDirectory directory;
  TrainOptions options = deltaOptions(2);
  options.checkpoint = directory / "saved";
  runPipeline(2, options);
  // A step whose samples are all sent whole has the loss of a run without codecs.
  const auto lossOfNextStep = [&](TrainOptions next, const std::string& name) {
    next = resumed(next, directory / "saved", directory / name);
    next.steps = options.steps + 1;
    return runPipeline(2, next).losses.at(0);
  };
  for (const std::uint64_t seed : {options.seed, options.seed + 1}) {
    TrainOptions whole = options;
    whole.seed = seed;
    TrainOptions coded = whole;
    whole.activation_deltas = false;
    whole.activation_codec.clear();
    const std::string name = std::to_string(seed);
    EXPECT_EQ(lossOfNextStep(coded, "coded" + name) == lossOfNextStep(whole, "whole" + name), seed != options.seed);
  }
}

} // namespace
} // namespace goss::trainer
