// PipeDream and PipeDream-2BW against a single process that follows their update rules.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/trainer/pipeline/pipeline_runs.h"
#include "tests/trainer/temporary_directory.h"
#include "trainer/base/share.h"
#include "trainer/model/gradient_tree.h"

namespace goss::trainer {
namespace {

/// The version of the weights that a stage uses for a micro-batch, in updates since the pipeline was last empty.
using Versions = std::function<int(int stage, int micro_batch)>;

struct Rule {
  int stages = 2;
  int replicas = 1;
  int update_every = 1; // micro-batches of a pipeline
  std::size_t drain_every = 1000;
  Versions versions;
};

Rule pipeDream(int stages, int replicas = 1) {
  return {stages, replicas, 1, 1000, [stages](int stage, int k) { return std::max(0, k - (stages - stage - 1)); }};
}

Rule twoVersions(int stages, int batch, int replicas = 1) {
  return {stages, replicas, batch, 1000, [batch](int, int k) { return std::max(0, k / batch - 1); }};
}

int stageOf(const Parameter& parameter, const TrainOptions& options, int stages) {
  if (parameter.name.starts_with("ln_f")) return stages - 1;
  int stage = 0;
  while (static_cast<std::size_t>(parameter.layer) >=
         shareOf(options.model.layers, static_cast<std::size_t>(stages), static_cast<std::size_t>(stage)).last)
    ++stage;
  return stage; // embeddings are with the first layer
}

/// One process, the whole model, and every version of its weights that there ever was.
class Emulation {
 public:
  Emulation(const TrainOptions& options, Rule rule)
      : options_(options),
        rule_(std::move(rule)),
        model_(options.model, options.micro_batch, ops_),
        optimizer_({.eps = options.adam_eps, .weight_decay = options.weight_decay}, model_.table(), ops_),
        schedule_{options.lr, options.lr * options.final_lr, options.warmup, options.steps},
        per_pipeline_(options.batch / options.micro_batch / static_cast<std::size_t>(rule_.replicas)),
        history_{model_.table().initialValues(options.seed)} {
    for (int i = 0; i < rule_.replicas; ++i)
      trees_.emplace_back(ops_, model_.table().count(), per_pipeline_);
  }

  RunResult run() {
    for (std::size_t step = 0; step < options_.steps; ++step) {
      if (step % rule_.drain_every == 0) {
        history_ = {history_.back()};
        since_drain_ = 0;
      }
      double loss = 0;
      for (std::size_t k = 0; k < per_pipeline_; ++k, ++since_drain_)
        loss += microBatch(step, k);
      result_.losses.push_back(loss / static_cast<double>(options_.batch * options_.model.context));
    }
    result_.state.step = options_.steps;
    result_.state.parameters = history_.back();
    result_.state.first_moments = optimizer_.firstMoments().download();
    result_.state.second_moments = optimizer_.secondMoments().download();
    return result_;
  }

 private:
  double microBatch(std::size_t step, std::size_t k) {
    model_.setParameters(mixed());
    double loss = 0;
    const bool is_last = (k + 1) % static_cast<std::size_t>(rule_.update_every) == 0;
    for (std::size_t replica = 0; replica < trees_.size(); ++replica) {
      loss += pass(step, replica * per_pipeline_ + k, trees_[replica].target());
      if (is_last) {
        trees_[replica].finish(0, model_.table().count());
      } else {
        trees_[replica].add();
      }
    }
    if (is_last) update(step);
    return loss;
  }

  double pass(std::size_t step, std::size_t sample, float* gradient) {
    const std::size_t context = options_.model.context;
    std::vector<std::int32_t> inputs(context), targets(context);
    readWindow(smallData().training(), windowStart(options_.seed, step, sample, smallData().training().size(), context),
               inputs, targets);
    model_.forward(inputs);
    const std::size_t tokens = static_cast<std::size_t>(rule_.update_every * rule_.replicas) * context;
    const double loss = model_.losses(targets, true, 1.0f / static_cast<float>(tokens)).front();
    model_.backward(gradient, {});
    return loss;
  }

  /// The weights of the micro-batch's turn, each stage's of another age.
  [[nodiscard]] std::vector<float> mixed() const {
    std::vector<float> weights(model_.table().count());
    for (const Parameter& p : model_.table().parameters()) {
      const int version = rule_.versions(stageOf(p, options_, rule_.stages), since_drain_);
      std::copy_n(history_[static_cast<std::size_t>(version)].begin() + static_cast<std::ptrdiff_t>(p.offset), p.count,
                  weights.begin() + static_cast<std::ptrdiff_t>(p.offset));
    }
    return weights;
  }

  void update(std::size_t step) {
    for (std::size_t i = 1; i < trees_.size(); ++i)
      ops_.axpy(1.0f, trees_[i].target(), trees_[0].target(), model_.table().count());
    model_.setParameters(history_.back());
    optimizer_.update(updates_++, schedule_.at(step), model_.parameters(), trees_[0].target(), 1.0);
    std::vector<float>& next = history_.emplace_back(model_.table().count());
    ops_.download(next.data(), model_.parameters(), next.size() * sizeof(float));
    for (GradientTree& tree : trees_)
      tree.reset();
  }

  TrainOptions options_;
  Rule rule_;
  CpuOps ops_;
  Gpt model_;
  Optimizer optimizer_;
  LrSchedule schedule_;
  std::size_t per_pipeline_;
  std::vector<std::vector<float>> history_; // since the pipeline was last empty
  std::vector<GradientTree> trees_;         // [replica]
  std::size_t updates_ = 0;
  int since_drain_ = 0; // micro-batches of a pipeline
  RunResult result_;
};

TrainOptions unflushedOptions(std::size_t pipeline, const std::string& schedule) {
  TrainOptions options = pipelineOptions(pipeline, schedule);
  options.clip = 0;
  options.lr = 1e-3;
  return options;
}

void expectRun(const RunResult& run, const RunResult& emulated) {
  EXPECT_EQ(run.losses, emulated.losses);
  expectSameState(run.state, emulated.state);
}

TEST(Unflushed, PipeDreamHasTheBitsOfItsUpdateRule) {
  for (const int stages : {1, 2, 4}) {
    SCOPED_TRACE(stages);
    const TrainOptions options = unflushedOptions(static_cast<std::size_t>(stages), "pipedream");
    expectRun(runPipeline(stages, options), Emulation(options, pipeDream(stages)).run());
  }
}

TEST(Unflushed, TwoVersionsHaveTheBitsOfTheirUpdateRule) {
  for (const int stages : {1, 2, 4}) {
    SCOPED_TRACE(stages);
    const TrainOptions options = unflushedOptions(static_cast<std::size_t>(stages), "2bw");
    expectRun(runPipeline(stages, options), Emulation(options, twoVersions(stages, 8)).run());
  }
}

TEST(Unflushed, PipelinesAddTheirGradientsInEveryUpdate) {
  expectRun(runPipeline(4, unflushedOptions(2, "pipedream")),
            Emulation(unflushedOptions(2, "pipedream"), pipeDream(2, 2)).run());
  expectRun(runPipeline(4, unflushedOptions(2, "2bw")),
            Emulation(unflushedOptions(2, "2bw"), twoVersions(2, 4, 2)).run());
}

TEST(Unflushed, TheRuleStartsAnewWhereThePipelineDrains) {
  for (const char* schedule : {"pipedream", "2bw"}) {
    SCOPED_TRACE(schedule);
    TrainOptions options = unflushedOptions(2, schedule);
    options.steps = 5;
    options.val_every = 2;
    Rule rule = options.schedule == "2bw" ? twoVersions(2, 8) : pipeDream(2);
    rule.drain_every = 2;
    expectRun(runPipeline(2, options), Emulation(options, rule).run());
  }
}

/// The complete CSV form of a schedule of `batches` batches of 8 micro-batches on 2 ranks.
std::string csvOf(const char* name, int batches) {
  goss_pipeline_request request = GOSS_PIPELINE_REQUEST_INIT;
  request.name = name;
  request.ranks = 2;
  request.micro_batches = 8;
  request.batches = batches;
  goss_pipeline_t schedule = nullptr;
  EXPECT_EQ(goss_pipeline_generate(&request, &schedule), GOSS_SUCCESS) << goss_last_error();
  char* text = nullptr;
  EXPECT_EQ(goss_pipeline_write(schedule, 1, &text), GOSS_SUCCESS) << goss_last_error();
  std::string result(text);
  goss_free(text);
  goss_pipeline_destroy(schedule);
  return result;
}

TEST(Unflushed, SchedulesFromFilesHaveTheBitsOfTheirRuleAndDrainAtTheirEnd) {
  TemporaryDirectory directory;
  for (const char* name : {"pipedream", "2bw"}) {
    SCOPED_TRACE(name);
    TrainOptions options = unflushedOptions(2, directory / (std::string(name) + ".csv"));
    writeBytes(options.schedule, csvOf(name, 2));
    options.steps = 4;
    options.checkpoint_every = 0;
    Rule rule = std::string(name) == "2bw" ? twoVersions(2, 8) : pipeDream(2);
    rule.drain_every = 2;
    expectRun(runPipeline(2, options), Emulation(options, rule).run());
  }
}

// Both stages have two micro-batches on the way, and the last one goes back through an older matrix after it has
// projected with a newer one.
TEST(Unflushed, AScheduleOfOnesOwnMayUseOtherVersions) {
  TemporaryDirectory directory;
  std::string text;
  const auto version = [](int k) { return std::max(0, k - 1); };
  for (int stage = 0; stage < 2; ++stage) {
    text += fmt::format("{0}F0@0,{0}F1@0", stage);
    for (int k = 0; k < 8; ++k) {
      text += fmt::format(",{0}B{1}@{2},{0}STEP{1}@{3}", stage, k, version(k), k + 1);
      if (k + 2 < 8) text += fmt::format(",{}F{}@{}", stage, k + 2, version(k + 2));
    }
    text += "\n";
  }
  TrainOptions options = unflushedOptions(2, directory / "own.csv");
  writeBytes(options.schedule, text);
  Rule rule{2, 1, 1, 1, [&](int, int k) { return version(k); }};
  expectRun(runPipeline(2, options), Emulation(options, rule).run());
}

/// Four steps in one run and in two, of which the first ends where the pipeline drains.
void expectGoesOn(TrainOptions options, const TemporaryDirectory& directory) {
  options.steps = 4;
  options.checkpoint_every = 2;
  options.checkpoint = directory / "whole";
  const RunResult whole = runPipeline(2, options);
  options.checkpoint = directory / "parts";
  options.resume = true;
  TrainOptions part = options;
  part.time_limit_s = 1e-9;
  EXPECT_EQ(runPipeline(2, part).losses.size(), 2u);
  expectSameState(runPipeline(2, options).state, whole.state);
}

TEST(Unflushed, ARunGoesOnFromACheckpointWithTheSameBits) {
  const TemporaryDirectory directory;
  expectGoesOn(unflushedOptions(2, "pipedream"), directory);
}

TEST(Unflushed, AScheduleOfSeveralStepsGoesOnWhereItDrains) {
  const TemporaryDirectory directory;
  const TrainOptions options = unflushedOptions(2, directory / "two_steps.csv");
  writeBytes(options.schedule, csvOf("pipedream", 2));
  expectGoesOn(options, directory);
}

} // namespace
} // namespace goss::trainer
