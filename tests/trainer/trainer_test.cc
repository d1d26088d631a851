// The training loop of one process.
#include "trainer/loop/training_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <thread>
#include <tuple>

#include "tests/trainer/small_run.h"
#include "tests/trainer/temporary_directory.h"
#include "trainer/base/error.h"
#include "trainer/data/sampler.h"

namespace goss::trainer {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(TrainingLoop, LossFallsFromThatOfGuessing) {
  const RunResult result = runAlone(smallOptions(30));
  // Equal chances for 256 bytes cost ln 256 = 5.55 nats. The text has 19 different bytes: who knows no more than which
  // they are pays ln 19 = 2.94.
  EXPECT_NEAR(result.losses.front(), 5.55, 0.2);
  EXPECT_LT(result.losses.back(), 2.94);
  EXPECT_LT(result.validation, 2.94);
}

TEST(TrainingLoop, MuonTrainsAndTakesOtherSteps) {
  TrainOptions options = smallOptions(30);
  options.optimizer = "muon";
  const RunResult result = runAlone(options);
  EXPECT_LT(result.losses.back(), 2.94);
  EXPECT_NE(result.losses, runAlone(smallOptions(30)).losses);
}

TEST(TrainingLoop, LlamaTrains) {
  TrainOptions options = smallOptions(30);
  options.model.arch = Architecture::llama;
  const RunResult result = runAlone(options);
  EXPECT_NEAR(result.losses.front(), 5.55, 0.2);
  EXPECT_LT(result.losses.back(), 2.94);
}

TEST(TrainingLoop, RunsAreReproducibleAndDependOnTheSeed) {
  TrainOptions options = smallOptions(3);
  const RunResult first = runAlone(options);
  expectSameState(runAlone(options).state, first.state);
  options.seed = 2;
  EXPECT_NE(runAlone(options).losses, first.losses);
}

using Combination = std::tuple<Architecture, const char*>; // and the optimizer's name
class StoppedRun : public testing::TestWithParam<Combination> {};

INSTANTIATE_TEST_SUITE_P(Combinations, StoppedRun,
                         testing::Values(Combination(Architecture::gpt2, "adamw"),
                                         Combination(Architecture::llama, "muon")));

TEST_P(StoppedRun, AfterEveryStepEndsAsOneThatNeverStopped) {
  const TemporaryDirectory directory;
  TrainOptions options = smallOptions(8);
  options.model.arch = std::get<0>(GetParam());
  options.optimizer = std::get<1>(GetParam());
  const RunResult whole = runAlone(options);
  options.checkpoint = directory / "run";
  options.resume = true;
  options.time_limit_s = 1e-9;
  std::vector<double> losses;
  RunResult last;
  for (std::size_t step = 0; step < options.steps; ++step) {
    last = runAlone(options);
    ASSERT_EQ(last.losses.size(), 1u);
    losses.push_back(last.losses.front());
  }
  EXPECT_EQ(losses, whole.losses);
  expectSameState(last.state, whole.state);
  EXPECT_EQ(last.validation, whole.validation);
  EXPECT_TRUE(runAlone(options).losses.empty()); // and there is nothing left to do
}

TEST(TrainingLoop, AFailedCheckpointEndsTheRunWithItsReason) {
  const TemporaryDirectory directory;
  TrainOptions options = smallOptions(4);
  options.checkpoint = directory / "run";
  SoloGroup group;
  CpuOps ops;
  Report report(false, "");
  ReplicaEngine engine(options, smallData(), group, ops, report);
  TrainingLoop loop(engine);
  std::filesystem::remove_all(directory / "run");
  EXPECT_THAT(errorOf([&] { loop.run(); }), AllOf(HasSubstr("step 4"), HasSubstr(directory / "run")));
}

TEST(TrainingLoop, ANewRunLeavesTheCheckpointsOfAnotherOneAlone) {
  const TemporaryDirectory directory;
  TrainOptions options = smallOptions(2);
  options.checkpoint = directory / "run";
  options.keep = 1;
  runAlone(options);
  const std::string saved = readBytes(directory / "run/step-00000002/model.safetensors");
  options.seed = 2;
  EXPECT_THAT(errorOf([&] { runAlone(options); }), AllOf(HasSubstr(directory / "run"), HasSubstr("step-00000002"),
                                                         HasSubstr("--resume"), HasSubstr("another --checkpoint DIR")));
  EXPECT_TRUE(readBytes(directory / "run/step-00000002/model.safetensors") == saved);
}

// The checkpoint of step 2 cannot be completed before its file has a reader; step 3 is trained meanwhile.
TEST(TrainingLoop, StepsGoOnWhileACheckpointIsWritten) {
  const TemporaryDirectory directory;
  TrainOptions options = smallOptions(4);
  options.checkpoint = directory / "run";
  options.checkpoint_every = 2;
  SoloGroup group;
  CpuOps ops;
  testing::internal::CaptureStdout();
  Report report(true, directory / "log");
  ReplicaEngine engine(options, smallData(), group, ops, report);
  TrainingLoop loop(engine);
  const std::string fifo = directory / "run/latest.tmp"; // its opening blocks until there is a reader
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::string error;
  std::thread run([&] { error = errorOf([&] { loop.run(); }); });
  const auto isTrained = [&] { return readBytes(directory / "log").find("\"step\":3,\"loss\"") != std::string::npos; };
  for (int i = 0; i < 60000 && !isTrained(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(isTrained());
  const std::ifstream reader(fifo);
  run.join();
  testing::internal::GetCapturedStdout();
  EXPECT_THAT(error, AllOf(HasSubstr("step 2"), HasSubstr("latest.tmp"))); // such a file cannot be flushed
}

/// Spoils one gradient.
class NanReplicas : public SoloReplicas {
 public:
  NanReplicas() : SoloReplicas("nan") {}
  std::string start(std::span<const ReplicaTensor> tensors, const SavedSync&) override {
    first_ = tensors.front().gradient;
    return "";
  }
  void gradients() override { *first_ = std::numeric_limits<float>::quiet_NaN(); }

 private:
  float* first_ = nullptr;
};

class NanGroup : public SoloGroup {
 public:
  std::shared_ptr<Replicas> synchronize(const std::string&) override { return std::make_shared<NanReplicas>(); }
};

TEST(TrainingLoop, AGradientThatIsNotFiniteEndsTheRunBeforeItSpoilsTheParameters) {
  NanGroup group;
  CpuOps ops;
  Report report(false, "");
  ReplicaEngine engine(smallOptions(4), smallData(), group, ops, report);
  TrainingLoop loop(engine);
  const std::vector<float> before = engine.state().parameters;
  EXPECT_THAT(errorOf([&] { loop.run(); }), AllOf(HasSubstr("not finite in step 1"), HasSubstr("--lr")));
  EXPECT_TRUE(engine.state().parameters == before);
}

TEST(TrainingLoop, TheLogHasOneJsonObjectALineForEveryEvent) {
  const TemporaryDirectory directory;
  TrainOptions options = smallOptions(4);
  options.val_every = 2;
  options.checkpoint = directory / "run";
  options.sample = 5;
  options.prompt = "the";
  CpuOps ops;
  SoloGroup group;
  {
    testing::internal::CaptureStdout();
    Report report(true, directory / "log", directory / "csv");
    ReplicaEngine engine(options, smallData(), group, ops, report);
    TrainingLoop(engine).run();
  }
  const std::string shown = testing::internal::GetCapturedStdout();
  EXPECT_THAT(shown, AllOf(HasSubstr("step     4/4 | loss "), HasSubstr("tok/s | ETA 0s"), HasSubstr("validation loss"),
                           HasSubstr("--- sample ---\nthe")));
  std::istringstream lines(readBytes(directory / "log"));
  std::vector<std::string> events;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    events.push_back(json.at("event"));
    if (events.back() != "step") continue;
    EXPECT_GT(json.at("loss").get<double>(), 0);
    EXPECT_EQ(json.at("tokens"), json.at("step").get<std::size_t>() * 8 * 16);
    EXPECT_GT(json.at("tokens_per_s").get<double>(), 0);
  }
  const std::string table = readBytes(directory / "csv");
  EXPECT_EQ(std::ranges::count(table, '\n'), 7); // with the names of its columns
  EXPECT_THAT(events, testing::ElementsAre("start", "step", "step", "validation", "step", "step", "checkpoint",
                                           "validation", "sample"));
}

std::vector<std::string> cellsOf(const std::string& row) {
  std::vector<std::string> cells;
  std::size_t start = 0;
  for (std::size_t comma = row.find(','); comma != std::string::npos; comma = row.find(',', start)) {
    cells.push_back(row.substr(start, comma - start));
    start = comma + 1;
  }
  cells.push_back(row.substr(start));
  return cells;
}

TEST(TrainingLoop, ATableHasARowForEachStepAndValidationAndIsAppendedTo) {
  const TemporaryDirectory directory;
  const std::string path = directory / "csv";
  for (const std::size_t step : {std::size_t{1}, std::size_t{2}}) { // two runs
    testing::internal::CaptureStdout();
    Report report(true, "", path);
    report.begin({.total_steps = 2, .first_step = step - 1, .tokens_per_step = 128}, "{}");
    report.step({step, 2.5, 1e-3, 0.75, 0.5});
    report.validation(step, 2.25);
    testing::internal::GetCapturedStdout();
  }
  std::istringstream lines(readBytes(path));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);)
    rows.push_back(cellsOf(line));
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0], cellsOf("step,loss,validation_loss,lr,grad_norm,tokens,seconds,tokens_per_s"));
  EXPECT_EQ(rows[1], cellsOf("1,2.5,,0.001,0.75,128,0.5,256"));
  EXPECT_EQ(rows[2], cellsOf("1,,2.25,,,,,"));
  EXPECT_EQ(rows[3], cellsOf("2,2.5,,0.001,0.75,256,0.5,256"));
  writeBytes(directory / "other", "a,b\n1,2\n");
  EXPECT_THAT(errorOf([&] { Report(true, "", directory / "other"); }), HasSubstr("give another file"));
  EXPECT_EQ(readBytes(directory / "other"), "a,b\n1,2\n");
  EXPECT_THAT(errorOf([&] { Report(true, "", "/dev/full"); }), HasSubstr("No space left"));
}

TEST(TrainingLoop, ALineThatWasCutOffIsRemovedBeforeLinesAreAppended) {
  const TemporaryDirectory directory;
  const std::string log = directory / "log", table = directory / "csv", foreign = directory / "foreign";
  for (const std::size_t step : {std::size_t{1}, std::size_t{2}}) {
    testing::internal::CaptureStdout();
    {
      Report report(true, log, table);
      report.begin({.total_steps = 2, .first_step = step - 1, .tokens_per_step = 128}, "{}");
      report.step({step, 2.5, 1e-3, 0.75, 0.5});
    }
    testing::internal::GetCapturedStdout();
    if (step == 1) std::ofstream(log, std::ios::app) << R"({"event":"step","step":2,"lo)";
    if (step == 1) std::ofstream(table, std::ios::app) << "2,2.";
  }
  std::istringstream lines(readBytes(log));
  std::vector<std::string> events;
  for (std::string line; std::getline(lines, line);)
    events.push_back(nlohmann::json::parse(line).at("event"));
  EXPECT_THAT(events, testing::ElementsAre("start", "step", "start", "step"));
  EXPECT_THAT(readBytes(table), testing::EndsWith("\n1,2.5,,0.001,0.75,128,0.5,256\n2,2.5,,0.001,0.75,256,0.5,256\n"));
  writeBytes(log, "{\"ev"); // of the first line
  writeBytes(table, "step,lo");
  const Report again(true, log, table);
  EXPECT_EQ(readBytes(log), "");
  EXPECT_EQ(readBytes(table), "step,loss,validation_loss,lr,grad_norm,tokens,seconds,tokens_per_s\n");
  writeBytes(foreign, "notes\nof mine");
  const Report beside(true, foreign);
  EXPECT_EQ(readBytes(foreign), "notes\nof mine");
}

TEST(TrainingLoop, ALogThatCannotBeOpenedIsNamed) {
  EXPECT_THAT(errorOf([] { Report(true, "/nonexistent/log"); }), HasSubstr("/nonexistent/log"));
  EXPECT_EQ(errorOf([] { Report(false, "/nonexistent/log"); }), ""); // the other ranks have no log
}

TEST(TrainingLoop, AFullDiskUnderTheLogIsNamed) {
  Report report(true, "/dev/full");
  EXPECT_THAT(errorOf([&] { report.validation(1, 2.0); }), AllOf(HasSubstr("/dev/full"), HasSubstr("No space left")));
}

TEST(TrainingLoop, APromptBeyondTheVocabularyIsRefused) {
  TrainOptions options = smallOptions(1);
  options.model.vocab = 123; // all of the text, but not the umlaut
  options.prompt = "\xc3\xa4";
  EXPECT_THAT(errorOf([&] { runAlone(options); }), HasSubstr("--prompt"));
}

TEST(Sampler, TheSameSeedGivesTheSameTextAndZeroTemperatureTheLikeliest) {
  CpuOps ops;
  const TrainOptions options = smallOptions(20);
  SoloGroup group;
  Report report(false, "");
  Gpt model(options.model, 1, ops);
  model.setParameters(runAlone(options).state.parameters);
  const std::vector<std::int32_t> prompt = {'t', 'h', 'e'};
  const std::vector<std::int32_t> text = sampleTokens(model, prompt, {40, 0.8, 1}); // longer than the context
  EXPECT_EQ(text.size(), 40u);
  EXPECT_EQ(text, sampleTokens(model, prompt, {40, 0.8, 1}));
  EXPECT_NE(text, sampleTokens(model, prompt, {40, 0.8, 2}));
  const std::vector<std::int32_t> greedy = sampleTokens(model, prompt, {1, 0.0, 1});
  std::vector<std::int32_t> window(options.model.context, 'x'); // what follows the prompt does not matter
  std::copy(prompt.begin(), prompt.end(), window.begin());
  model.forward(window);
  const std::vector<float> logits = model.logitsAt(2);
  EXPECT_EQ(greedy.front(), std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// Every token of many samples of one token.
std::map<std::int32_t, int> drawn(Gpt& model, std::span<const std::int32_t> prompt, SampleOptions options) {
  std::map<std::int32_t, int> counts;
  options.count = 1;
  for (options.seed = 0; options.seed < 200; ++options.seed)
    ++counts[sampleTokens(model, prompt, options).front()];
  return counts;
}

TEST(Sampler, TopKAndTopPKeepTheLikeliest) {
  CpuOps ops;
  const ModelConfig config = smallOptions(1).model;
  Gpt model(config, 1, ops);
  const std::vector<std::int32_t> prompt = {'t', 'h', 'e'};
  model.setParameters(runAlone(smallOptions(2)).state.parameters);
  std::vector<std::int32_t> window(config.context, 'x');
  std::copy(prompt.begin(), prompt.end(), window.begin());
  model.forward(window);
  const std::vector<float> logits = model.logitsAt(2);
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  SampleOptions options;
  options.temperature = 1;
  options.top_k = 3;
  const std::map<std::int32_t, int> three = drawn(model, prompt, options);
  EXPECT_EQ(three.size(), 3u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(three.count(order[static_cast<std::size_t>(i)]), 1u) << i;
  options.top_k = 0;
  EXPECT_GT(drawn(model, prompt, options).size(), 20u);
  // The fewest tokens whose probabilities reach a twentieth of all.
  double total = 0;
  for (const float logit : logits)
    total += std::exp(static_cast<double>(logit));
  std::size_t fewest = 0;
  for (double reached = 0; reached < 0.05 * total; ++fewest)
    reached += std::exp(static_cast<double>(logits[static_cast<std::size_t>(order[fewest])]));
  options.top_p = 0.05;
  for (const auto& [token, count] : drawn(model, prompt, options))
    EXPECT_LT(std::find(order.begin(), order.end(), token) - order.begin(), static_cast<std::ptrdiff_t>(fewest));
  options.top_p = 0;
  EXPECT_EQ(drawn(model, prompt, options).begin()->first, order[0]);
}

TEST(Sampler, ControlCharactersNeverReachTheTerminal) {
  const std::vector<std::int32_t> tokens = {'a', '\n', 0x1b, '[', 0x7f, 0xe4};
  EXPECT_EQ(ByteTokenizer().show(tokens), "a\n\\x1b[\\x7f\xe4");
  EXPECT_EQ(NumberTokenizer().show(tokens), "97 10 27 91 127 228");
}

TEST(Report, DurationsAreReadable) {
  EXPECT_EQ(formatDuration(0.2), "0s");
  EXPECT_EQ(formatDuration(59.6), "1m00s");
  EXPECT_EQ(formatDuration(3725), "1h02m");
}

} // namespace
} // namespace goss::trainer
