#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/temporary_directory.h"
#include "trainer/base/error.h"
#include "trainer/run/train_options.h"

namespace goss::trainer {
namespace {

using testing::HasSubstr;

ParsedCommandLine parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "goss-train");
  return parseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

TEST(Options, DefaultsMakeSense) {
  const ParsedCommandLine parsed = parse({});
  ASSERT_TRUE(parsed.options.has_value());
  EXPECT_EQ(parsed.options->model.layers, 4u);
  EXPECT_EQ(parsed.options->model.vocab, 0u); // chosen by the data
  EXPECT_EQ(errorOf([&] { checkTrainOptions(*parsed.options, 16); }), "");
}

TEST(Options, FlagsReachTheirFields) {
  const ParsedCommandLine parsed = parse({"--layers", "3",         "--batch=32", "--micro-batch", "4",
                                          "--lr",     "1e-3",      "--data",     "x.txt",         "--checkpoint",
                                          "d",        "--resume",  "--adam-eps", "1e-6",          "--layers",
                                          "5",        "--backend", "aten",       "--device",      "cuda:1",
                                          "--data",   "y"});
  ASSERT_TRUE(parsed.options.has_value()) << parsed.text;
  EXPECT_EQ(parsed.options->model.layers, 5u); // the last one counts
  EXPECT_EQ(parsed.options->batch, 32u);
  EXPECT_EQ(parsed.options->micro_batch, 4u);
  EXPECT_EQ(parsed.options->lr, 1e-3);
  EXPECT_EQ(parsed.options->adam_eps, 1e-6);
  EXPECT_EQ(parsed.options->data, (std::vector<std::string>{"x.txt", "y"})); // all of them count
  EXPECT_TRUE(parsed.options->resume);
  EXPECT_EQ(parsed.options->backend, "aten");
  EXPECT_EQ(parsed.options->device, "cuda:1");
}

TEST(Options, AFileHoldsFlagsAndTheCommandLineOverridesIt) {
  const TemporaryDirectory directory;
  const std::string file = directory / "run.toml", wrong = directory / "wrong.toml";
  writeBytes(file,
             "# a run\nlr = 3e-3\nmicro-batch = 4\nsync = \"diloco:h=50,codec=int4\"\nresume = true\nsteps = 7\n");
  writeBytes(wrong, "learning-rate = 1\n");
  const ParsedCommandLine parsed = parse({"--config", file.c_str(), "--steps", "9"});
  ASSERT_TRUE(parsed.options.has_value()) << parsed.text;
  EXPECT_EQ(parsed.options->lr, 3e-3);
  EXPECT_EQ(parsed.options->micro_batch, 4u);
  EXPECT_EQ(parsed.options->sync, "diloco:h=50,codec=int4");
  EXPECT_TRUE(parsed.options->resume);
  EXPECT_EQ(parsed.options->steps, 9u);
  const ParsedCommandLine refused = parse({"--config", wrong.c_str()});
  EXPECT_FALSE(refused.options.has_value());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.text, HasSubstr("learning-rate"));
  EXPECT_EQ(parse({"--config", "/nowhere.toml"}).exit_code, 2);
  const ParsedCommandLine version = parse({"--version"});
  EXPECT_FALSE(version.options.has_value());
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.text, HasSubstr("goss-train"));
}

TEST(Options, HelpIsAnAnswerAndWrongFlagsAreErrors) {
  const ParsedCommandLine help = parse({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.text, HasSubstr("--weight-decay"));
  for (const std::vector<const char*>& wrong : std::vector<std::vector<const char*>>{{"--nonsense"},
                                                                                     {"--backend", "gpu"},
                                                                                     {"--optimizer", "sgd"},
                                                                                     {"--device", "cuda:"},
                                                                                     {"--device", "gpu0"},
                                                                                     {"--steps"},
                                                                                     {"--steps", "x"},
                                                                                     {"--steps", "-5"},
                                                                                     {"extra"}}) {
    const ParsedCommandLine parsed = parse(wrong);
    EXPECT_FALSE(parsed.options.has_value()) << wrong.front();
    EXPECT_EQ(parsed.exit_code, 2);
    EXPECT_FALSE(parsed.text.empty());
  }
}

TEST(Options, ValuesThatMakeNoSenseAreRefusedByTheirFlag) {
  struct Case {
    void (*spoil)(TrainOptions&);
    const char* flag;
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Case cases[] = {{[](TrainOptions& o) { o.steps = 0; }, "--steps"},
                        {[](TrainOptions& o) { o.batch = 0; }, "--batch"},
                        {[](TrainOptions& o) { o.micro_batch = 3; }, "--micro-batch"},
                        {[](TrainOptions& o) { o.lr = -1; }, "--lr"},
                        {[](TrainOptions& o) { o.lr = kNan; }, "--lr"},
                        {[](TrainOptions& o) { o.final_lr = 2; }, "--final-lr"},
                        {[](TrainOptions& o) { o.weight_decay = kNan; }, "--weight-decay"},
                        {[](TrainOptions& o) { o.adam_eps = 0; }, "--adam-eps"},
                        {[](TrainOptions& o) { o.beta1 = 1; }, "--beta1"},
                        {[](TrainOptions& o) { o.beta2 = -0.1; }, "--beta2"},
                        {[](TrainOptions& o) { o.clip = -1; }, "--clip"},
                        {[](TrainOptions& o) { o.time_limit_s = -1; }, "--time-limit"},
                        {[](TrainOptions& o) { o.sync = ""; }, "--sync"},
                        {[](TrainOptions& o) { o.recompute = true; }, "give --pipeline P"},
                        {[](TrainOptions& o) { o.schedule = "zb-h1"; }, "give --pipeline P"},
                        {[](TrainOptions& o) { o.micro_batches = 2; }, "give --pipeline P"},
                        {[](TrainOptions& o) { o.activation_cache = "x"; }, "is of --activation-deltas"},
                        {[](TrainOptions& o) { o.pipeline = 2, o.micro_batch = o.micro_batches = 2; }, "give one"},
                        {[](TrainOptions& o) { o.slow = "1:0.5"; }, "'1:0.5' is not RANK:FACTOR"},
                        {[](TrainOptions& o) { o.slow = "1:2,x"; }, "'x' is not RANK:FACTOR"},
                        {[](TrainOptions& o) { o.slow = "1:2", o.pipeline = 2; }, "leave out --pipeline"},
                        {[](TrainOptions& o) { o.device = "cuda:1"; }, "--device cuda needs --backend aten"},
                        {[](TrainOptions& o) { o.precision = "bf16"; }, "--precision bf16 needs --backend aten"},
                        {[](TrainOptions& o) { o.val_samples = 0; }, "--val-samples"},
                        {[](TrainOptions& o) { o.keep = 0; }, "--keep"},
                        {[](TrainOptions& o) { o.temperature = -1; }, "--temperature"},
                        {[](TrainOptions& o) { o.prompt = ""; }, "--prompt"},
                        {[](TrainOptions& o) { o.resume = true; }, "--checkpoint"},
                        {[](TrainOptions& o) { o.batch = 2; }, "too few for 4 ranks"}};
  for (const Case& one : cases) {
    TrainOptions options;
    one.spoil(options);
    EXPECT_THAT(errorOf([&] { checkTrainOptions(options, 4); }), HasSubstr(one.flag));
  }
}

TEST(Options, SlowRanksAreListedWithTheirFactors) {
  TrainOptions options;
  EXPECT_EQ(slownessOf(options, 1), 1.0);
  options.slow = "1:2.5,3:4";
  EXPECT_EQ(slownessOf(options, 0), 1.0);
  EXPECT_EQ(slownessOf(options, 1), 2.5);
  EXPECT_EQ(slownessOf(options, 3), 4.0);
}

TEST(Options, TheQuadraticRuleKnowsTheRun) {
  TrainOptions options;
  options.warmup = 20;
  options.steps = 300;
  options.sync = "diloco:h=4";
  EXPECT_EQ(syncOfRun(options), "diloco:h=4");
  options.sync = "qsr";
  EXPECT_EQ(syncOfRun(options), "qsr:total=300,warmup=20");
  options.sync = "qsr:h=2,warmup=7,codec=topk:ratio=0.25+int4:block=32";
  EXPECT_EQ(syncOfRun(options), "qsr:total=300,h=2,warmup=7,codec=topk:ratio=0.25+int4:block=32");
}

TEST(Options, SettingsNameWhatDecidesATrajectoryAndNothingElse) {
  TrainOptions options;
  const std::string settings = trajectorySettings(options, 7);
  options.print_every = 3;
  options.log = "x";
  EXPECT_EQ(trajectorySettings(options, 7), settings);
  EXPECT_NE(trajectorySettings(options, 8), settings);
  options.pipeline = 2; // stages change no bit
  EXPECT_EQ(trajectorySettings(options, 7), settings);
  const auto spoilers = {+[](TrainOptions& o) { o.schedule = "2bw"; }, +[](TrainOptions& o) { o.islands = 2; },
                         +[](TrainOptions& o) { o.activation_codec = "int4"; },
                         +[](TrainOptions& o) { o.gradient_codec = "int8"; }};
  for (const auto spoil : spoilers) {
    TrainOptions other = options;
    spoil(other);
    EXPECT_NE(trajectorySettings(other, 7), settings);
  }
  options.device = "cuda:1"; // all GPUs are alike here
  EXPECT_EQ(trajectorySettings(options, 7), settings);
  TrainOptions other = options;
  other.backend = "aten";
  EXPECT_NE(trajectorySettings(other, 7), settings);
  options.seed = 2;
  EXPECT_NE(trajectorySettings(options, 7), settings);
}

} // namespace
} // namespace goss::trainer
