// Whole runs on backend aten against the CPU's: in one process, and as goss-train under mpirun.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/trainer/aten/device.h"
#include "tests/trainer/small_run.h"
#include "tests/trainer/temporary_directory.h"
#include "trainer/base/error.h"

namespace goss::trainer {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kClose = 1e-4; // of losses of about 5 nats

void expectCloseLosses(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_FALSE(want.empty());
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t step = 0; step < want.size(); ++step)
    EXPECT_NEAR(got[step], want[step], kClose) << "step " << step;
  EXPECT_LT(want.back(), want.front() - 1) << "nothing was learned";
}

TEST(AtenRun, HasTheCpusCurveAndItsOwnBitsAgain) {
  const TrainOptions options = smallOptions(20);
  const RunResult cpu = runAlone(options);
  const std::unique_ptr<Ops> aten = makeAten(), other = makeAten();
  SoloGroup group;
  const RunResult first = runWith(*aten, group, options), second = runWith(*other, group, options);
  expectCloseLosses(first.losses, cpu.losses);
  EXPECT_NEAR(first.validation, cpu.validation, kClose);
  EXPECT_EQ(first.losses, second.losses);
  expectSameState(first.state, second.state);
}

// A product loses up to 2^-8 of each factor and of the result, so that curves differ, but both learn.
TEST(AtenRun, ProductsInBfloat16LearnAsWell) {
  TrainOptions options = smallOptions(20);
  options.backend = "aten";
  const std::unique_ptr<Ops> full = makeAten(), half = makeAten("bf16"), other = makeAten("bf16");
  SoloGroup group;
  const RunResult want = runWith(*full, group, options);
  options.precision = "bf16";
  const RunResult got = runWith(*half, group, options), again = runWith(*other, group, options);
  EXPECT_EQ(got.losses, again.losses);
  EXPECT_NE(got.losses, want.losses);
  ASSERT_EQ(got.losses.size(), want.losses.size());
  for (std::size_t step = 0; step < want.losses.size(); ++step)
    EXPECT_NEAR(got.losses[step], want.losses[step], 0.05) << "step " << step;
  EXPECT_THAT(trajectorySettings(options, 0), HasSubstr("bf16"));
}

TEST(AtenRun, ACheckpointMovesBetweenBackends) {
  const TemporaryDirectory directory;
  TrainOptions options = smallOptions(20);
  const RunResult cpu = runAlone(options);
  options.checkpoint = directory / "run";
  options.resume = true;
  options.time_limit_s = 1e-9; // stops after a step
  runAlone(options);
  options.backend = "aten";
  const std::unique_ptr<Ops> aten = makeAten();
  SoloGroup group;
  runWith(*aten, group, options);
  options.time_limit_s = 0;
  const RunResult rest = runWith(*aten, group, options);
  ASSERT_EQ(rest.state.step, 20u);
  expectCloseLosses(rest.losses, {cpu.losses.begin() + 2, cpu.losses.end()});
}

TEST(AtenRun, DevicesThatThereAreNotAreNamed) {
  EXPECT_THAT(errorOf([] { makeOps("aten", "cuda:517"); }), HasSubstr("--device cuda:517: "));
  EXPECT_THAT(errorOf([] { makeOps("none", ""); }), HasSubstr("there is no backend 'none'; there are cpu and aten"));
}

std::string outputOf(const std::string& command) {
  std::FILE* pipe = popen(("exec 2>&1 </dev/null; " + command).c_str(), "r");
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
    output.push_back(static_cast<char>(c));
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << "\n" << output;
  return output;
}

std::vector<double> lossesOf(const std::string& log) {
  std::vector<double> losses;
  std::istringstream lines(readBytes(log));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    if (json.at("event") == "step") losses.push_back(json.at("loss"));
  }
  return losses;
}

TEST(AtenRun, FlagsOfGossTrainGoWithIt) {
  const TemporaryDirectory directory;
  writeBytes(directory / "text", smallText());
  const TrainOptions o = smallOptions(20);
  const std::string flags = fmt::format(
      "--data {} --layers {} --channels {} --heads {} --context {} --steps {} --batch {} --lr {} --warmup {} "
      "--val-every 0 "
      "--val-samples {} --sample 8",
      directory / "text", o.model.layers, o.model.channels, o.model.heads, o.model.context, o.steps, o.batch, o.lr,
      o.warmup, o.val_samples);
  struct Case {
    int ranks;
    const char* flags;
    const char* says;
  };
  for (const Case& one : {Case{2, "--sync diloco:h=3", "2 ranks on aten ("}, Case{2, "--pipeline 2", "on aten ("}}) {
    const auto start = [&](const std::string& backend, const std::string& log) {
      return outputOf(fmt::format("{} --oversubscribe -np {} {} {} {} --backend {} --log {}", GOSS_MPIRUN, one.ranks,
                                  GOSS_TRAIN_PROGRAM, flags, one.flags, backend, log));
    };
    const std::string cpu_log = directory / std::string("cpu") + one.flags[2], aten_log = cpu_log + "aten";
    start("cpu", "'" + cpu_log + "'");
    EXPECT_THAT(start("aten --device " + testDevice(), "'" + aten_log + "'"),
                AllOf(HasSubstr(one.says), HasSubstr("--- sample ---"), HasSubstr("run: 20 steps on 2 ranks")));
    expectCloseLosses(lossesOf(aten_log), lossesOf(cpu_log));
  }
}

} // namespace
} // namespace goss::trainer
