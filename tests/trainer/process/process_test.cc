// goss-train as its users start it: alone, under mpirun, killed and resumed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/support/free_port.h"
#include "tests/support/quick.h"
#include "tests/trainer/small_run.h"
#include "tests/trainer/temporary_directory.h"
#include "tests/trainer/tokenizer_files.h"
#include "tests/trainer/trajectory_bound.h"

namespace goss::trainer {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kProgram = GOSS_TRAIN_PROGRAM;
constexpr const char* kMpirun = GOSS_MPIRUN;

struct Outcome {
  int exit_code = 0;
  std::string output; // both streams
};

Outcome shell(const std::string& command) {
  std::FILE* pipe = popen(("exec 2>&1 </dev/null; " + command).c_str(), "r");
  Outcome outcome;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
    outcome.output.push_back(static_cast<char>(c));
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

/// The losses that a log holds, by step; of a step that was done twice, the later.
std::map<std::size_t, double> lossesOf(const std::string& log) {
  std::map<std::size_t, double> losses;
  std::istringstream lines(readBytes(log));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    if (json.at("event") == "step") losses[json.at("step")] = json.at("loss");
  }
  return losses;
}

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() { writeBytes(directory_ / "text", smallText()); }

  /// Flags that make goss-train do the run of smallOptions.
  [[nodiscard]] std::string flags(std::size_t steps) const {
    const TrainOptions o = smallOptions(steps);
    return fmt::format(
        " --data {} --layers {} --channels {} --heads {} --context {} --steps {} --batch {} --lr {} --warmup {} "
        "--val-every 0 --val-samples {} --sample 0",
        directory_ / "text", o.model.layers, o.model.channels, o.model.heads, o.model.context, o.steps, o.batch, o.lr,
        o.warmup, o.val_samples);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ / name; }

 private:
  TemporaryDirectory directory_;
};

TEST_F(ProcessTest, OneToFourRanksGiveTheSameTrajectory) {
  const std::size_t steps = test::fullOr(30u, 5u);
  const TrainOptions options = smallOptions(steps);
  const std::vector<double> alone = runAlone(options).losses;
  const std::vector<double> bound = trajectoryBound(options, smallData());
  for (int ranks = 1; ranks <= 4; ++ranks) {
    const std::string log = path(fmt::format("log{}", ranks));
    const Outcome outcome =
        shell(fmt::format("{} --oversubscribe -np {} {}{} --log {}", kMpirun, ranks, kProgram, flags(steps), log));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(outcome.output.find("validation loss"), outcome.output.rfind("validation loss")) << "only rank 0 prints";
    const std::map<std::size_t, double> losses = lossesOf(log);
    ASSERT_EQ(losses.size(), steps);
    for (const auto& [step, loss] : losses) {
      if (ranks <= 2) { // one addition a term, and it commutes
        EXPECT_EQ(loss, alone[step - 1]) << ranks << " ranks, step " << step;
      } else {
        EXPECT_LE(std::abs(loss - alone[step - 1]), bound[step - 1]) << ranks << " ranks, step " << step;
      }
    }
  }
}

TEST_F(ProcessTest, TheLastStepMayHaveALearningRateOf0) {
  for (const char* more : {"", " --sync slowmo:h=2", " --pipeline 1 --sync diloco:h=2"}) {
    const Outcome outcome = shell(fmt::format("{}{} --final-lr 0{}", kProgram, flags(4), more));
    EXPECT_EQ(outcome.exit_code, 0) << more << outcome.output;
  }
}

TEST_F(ProcessTest, MuonIsRefusedWhereTheOptimizerIsPlainDescent) {
  for (const char* sync : {"demo", "lion", "signum", "1-bit-adam", "demo --pipeline 1"}) {
    const Outcome outcome = shell(fmt::format("{}{} --optimizer muon --sync {}", kProgram, flags(1), sync));
    EXPECT_EQ(outcome.exit_code, 1) << sync;
    EXPECT_THAT(outcome.output, AllOf(HasSubstr("--optimizer muon would do nothing"), HasSubstr("plain descent")));
  }
}

/// Starts the program alone and kills it when the log shows `step`.
void runAndKill(const std::string& flags, const std::string& log, std::size_t step) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", fmt::format("exec {}{} --log {} >/dev/null 2>&1", kProgram, flags, log).c_str(),
          nullptr);
    _exit(127);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const std::string mark = fmt::format("\"step\":{},\"loss\"", step);
  while (readBytes(log).find(mark) == std::string::npos && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it ended before it was killed";
}

TEST_F(ProcessTest, KilledAndResumedItEndsWithTheBitsOfARunThatWasLeftAlone) {
  // So many steps that the kill comes long before the end.
  const std::size_t steps = test::fullOr(400u, 100u);
  const std::string flag = flags(steps) + " --checkpoint-every 7";
  ASSERT_EQ(shell(kProgram + flag + " --checkpoint " + path("whole") + " --log " + path("whole.log")).exit_code, 0);
  const std::string resumable = flag + " --resume --checkpoint " + path("killed");
  runAndKill(resumable, path("killed.log"), 10);
  runAndKill(resumable, path("killed2.log"), 30);
  const Outcome last = shell(kProgram + resumable + " --log " + path("killed3.log"));
  ASSERT_EQ(last.exit_code, 0) << last.output;
  EXPECT_THAT(last.output, HasSubstr("resumed from step "));
  const std::map<std::size_t, double> whole = lossesOf(path("whole.log"));
  for (const char* log : {"killed.log", "killed2.log", "killed3.log"}) {
    for (const auto& [step, loss] : lossesOf(path(log)))
      EXPECT_EQ(loss, whole.at(step)) << log << " step " << step;
  }
  const std::string name = fmt::format("/step-{:08}", steps);
  for (const char* file : {"/model.safetensors", "/rank-0000.safetensors", "/config.json"})
    EXPECT_TRUE(readBytes(path("whole") + name + file) == readBytes(path("killed") + name + file)) << file;
}

/// Starts one of two ranks; `before` are commands of its shell.
pid_t startRank(int rank, int port, const std::string& flags, const std::string& output,
                const std::string& before = "") {
  const pid_t child = fork();
  if (child == 0) {
    const std::string command =
        fmt::format("{}RANK={} WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT={} exec {}{} >{} 2>&1", before, rank,
                    port, kProgram, flags, output);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  return child;
}

// One of two ranks gets the signal; both stop after the same step, and leave a checkpoint.
TEST_F(ProcessTest, ASignalStopsAllRanksWithACheckpointThatGoesOnWithTheSameBits) {
  const std::size_t steps = 400;
  const std::string two = fmt::format("{} --oversubscribe -np 2 {}{}", kMpirun, kProgram, flags(steps));
  const std::string saved = flags(steps) + " --checkpoint-every 0 --checkpoint " + path("stopped");
  const int port = test::freePorts(1);
  const pid_t ranks[] = {startRank(0, port, saved + " --log " + path("first.log"), path("out0")),
                         startRank(1, port, saved, path("out1"))};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (readBytes(path("first.log")).find("\"step\":3,\"loss\"") == std::string::npos &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  kill(ranks[1], SIGTERM);
  for (const pid_t rank : ranks) {
    int status = 0;
    waitpid(rank, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << readBytes(path("out0")) << readBytes(path("out1"));
  }
  EXPECT_THAT(readBytes(path("out0")), HasSubstr("stopped by a signal after step"));
  const std::map<std::size_t, double> first = lossesOf(path("first.log"));
  ASSERT_LT(first.size(), steps);
  const Outcome last = shell(two + " --resume --checkpoint " + path("stopped") + " --log " + path("last.log"));
  ASSERT_EQ(last.exit_code, 0) << last.output;
  EXPECT_THAT(last.output, HasSubstr(fmt::format("resumed from step {}", first.size())));
  ASSERT_EQ(shell(two + " --log " + path("whole.log")).exit_code, 0);
  std::map<std::size_t, double> both = lossesOf(path("last.log"));
  both.insert(first.begin(), first.end());
  EXPECT_EQ(both, lossesOf(path("whole.log")));
}

/// Runs two ranks to their ends. Gives exit codes, -1 for one that a signal ended.
std::array<int, 2> runTwo(const std::array<std::string, 2>& flags, const std::array<std::string, 2>& outputs,
                          const std::string& before_second = "", std::size_t kill_at_step = 0,
                          const std::string& log = "") {
  const int port = test::freePorts(1);
  const pid_t ranks[] = {startRank(0, port, flags[0], outputs[0]),
                         startRank(1, port, flags[1], outputs[1], before_second)};
  if (kill_at_step != 0) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const std::string mark = fmt::format("\"step\":{},\"loss\"", kill_at_step);
    while (readBytes(log).find(mark) == std::string::npos && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    kill(ranks[1], SIGKILL);
  }
  std::array<int, 2> codes{};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    int status = 0;
    waitpid(ranks[rank], &status, 0);
    codes[rank] = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  return codes;
}

/// The files of a checkpoint are those of another, with the same bits.
void expectSameFiles(const std::string& folder, const std::string& other) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(readBytes(entry.path().string()) == readBytes(other + "/" + name)) << name;
    ++files;
  }
  EXPECT_EQ(files, 5u); // index, config, model, and a file of each rank
}

// Each rank writes a part after every step, so that a kill comes in the midst of one, or between parts and the index.
TEST_F(ProcessTest, ARankThatIsKilledWhileItWritesLeavesACheckpointThatEndsWithTheSameBits) {
  const std::size_t steps = test::fullOr(60u, 30u);
  const std::string flag = flags(steps) + " --checkpoint-every 1 --sync diloco:h=7 --resume --checkpoint ";
  const std::string whole = flag + path("whole"), killed = flag + path("killed");
  const std::array<std::string, 2> outputs = {path("out0"), path("out1")};
  ASSERT_EQ(runTwo({whole, whole}, outputs), (std::array<int, 2>{0, 0})) << readBytes(path("out0"));
  for (const std::size_t step : {5u, 15u}) {
    const std::string log = path(fmt::format("log{}", step));
    const std::array<int, 2> codes = runTwo({killed + " --log " + log, killed}, outputs, "", step, log);
    EXPECT_EQ(codes, (std::array<int, 2>{1, -1})) << readBytes(path("out0"));
  }
  ASSERT_EQ(runTwo({killed, killed}, outputs), (std::array<int, 2>{0, 0})) << readBytes(path("out0"));
  EXPECT_THAT(readBytes(path("out0")), HasSubstr("resumed from step "));
  const std::string name = fmt::format("/step-{:08}", steps);
  expectSameFiles(path("whole") + name, path("killed") + name);
}

TEST_F(ProcessTest, RanksWithDirectoriesOfTheirOwnGoOnWithTheSameBits) {
  const std::string sync = " --sync diloco:h=4", saved = sync + " --resume --checkpoint ";
  const std::array<std::string, 2> outputs = {path("out0"), path("out1")};
  const auto run = [&](std::size_t steps, const std::string& first, const std::string& second) {
    // the schedule of all runs is that of 10 steps
    const std::string flag = flags(10) + fmt::format(" --time-limit {}", steps == 10 ? "0" : "1e-9");
    return runTwo({flag + saved + path(first), flag + saved + path(second)}, outputs);
  };
  const std::array<int, 2> good = {0, 0};
  ASSERT_EQ(run(10, "whole", "whole"), good) << readBytes(path("out0"));
  ASSERT_EQ(run(1, "first", "second"), good) << readBytes(path("out0"));
  EXPECT_FALSE(std::filesystem::exists(path("first") + "/step-00000001/rank-0001.safetensors"));
  ASSERT_EQ(run(10, "first", "second"), good) << readBytes(path("out0")) << readBytes(path("out1"));
  EXPECT_THAT(readBytes(path("out0")), HasSubstr("resumed from step 1"));
  for (const char* name : {"model.safetensors", "rank-0000.safetensors"})
    EXPECT_TRUE(readBytes(path("first") + "/step-00000010/" + name) ==
                readBytes(path("whole") + "/step-00000010/" + name));
  EXPECT_TRUE(readBytes(path("second") + "/step-00000010/rank-0001.safetensors") ==
              readBytes(path("whole") + "/step-00000010/rank-0001.safetensors"));
  // A rank that does not find its part is named.
  EXPECT_NE(run(10, "first", "first"), good);
  EXPECT_THAT(readBytes(path("out0")), AllOf(HasSubstr("rank 1: "), HasSubstr("rank-0001.safetensors"),
                                             HasSubstr("No such file"), HasSubstr("no earlier checkpoint")));
}

TEST_F(ProcessTest, ARankWhoseDiskIsFullIsNamedAndTheCheckpointBeforeIsWhole) {
  const std::string sync = " --sync diloco:h=4 --resume --checkpoint " + path("run");
  const std::array<std::string, 2> outputs = {path("out0"), path("out1")};
  const auto run = [&](std::size_t steps, const std::string& before) {
    return runTwo({flags(steps) + sync, flags(steps) + sync}, outputs, before);
  };
  const std::array<int, 2> good = {0, 0}, bad = {1, 1};
  ASSERT_EQ(run(2, ""), good) << readBytes(path("out0"));
  EXPECT_EQ(run(3, "ulimit -f 16; "), bad);
  for (const char* output : {"out0", "out1"}) {
    EXPECT_THAT(readBytes(path(output)), AllOf(HasSubstr("step 3 was not written by rank 1"),
                                               HasSubstr("rank-0001.safetensors"), HasSubstr("File too large")));
  }
  ASSERT_EQ(run(3, ""), good) << readBytes(path("out0"));
  EXPECT_THAT(readBytes(path("out0")), AllOf(HasSubstr("resumed from step 2"), Not(HasSubstr("damaged"))));
}

TEST_F(ProcessTest, StreamingDilocoStoppedInTheMiddleOfAnExchangeGoesOnWithTheSameBits) {
  const std::string run = fmt::format("{} --oversubscribe -np 4 {}{}", kMpirun, kProgram, flags(9)) +
                          " --sync streaming:h=6,fragments=2,tau=2,alpha=0.5";
  const Outcome whole = shell(run + " --log " + path("whole.log"));
  ASSERT_EQ(whole.exit_code, 0) << whole.output;
  EXPECT_THAT(whole.output, HasSubstr("kept together by streaming:h=6,fragments=2"));
  const std::string resumable = run + " --resume --checkpoint " + path("stopped") + " --checkpoint-every 2";
  ASSERT_EQ(shell(resumable + " --time-limit 1e-9").exit_code, 0); // after step 1, when an exchange has just left
  ASSERT_EQ(shell(resumable + " --time-limit 1e-9").exit_code, 0);
  const Outcome last = shell(resumable + " --log " + path("last.log"));
  ASSERT_EQ(last.exit_code, 0) << last.output;
  EXPECT_THAT(last.output, HasSubstr("resumed from step 2"));
  const std::map<std::size_t, double> losses = lossesOf(path("last.log"));
  EXPECT_EQ(losses.size(), 7u);
  for (const auto& [step, loss] : losses)
    EXPECT_EQ(loss, lossesOf(path("whole.log")).at(step)) << step;
}

TEST_F(ProcessTest, ARunWithoutAnExchangeSaysSo) {
  const std::string two = fmt::format("{} --oversubscribe -np 2 {}{} --sync ", kMpirun, kProgram, flags(6));
  const Outcome apart = shell(two + "diloco:h=50");
  EXPECT_EQ(apart.exit_code, 0) << apart.output;
  EXPECT_THAT(apart.output, HasSubstr("had no exchange in this run"));
  // At the learning rates of the warm-up its periods would be longer than any run.
  const Outcome quadratic = shell(two + "qsr");
  EXPECT_EQ(quadratic.exit_code, 0) << quadratic.output;
  EXPECT_THAT(quadratic.output, Not(HasSubstr("had no exchange")));
}

TEST_F(ProcessTest, ASlowRankLeavesStepsOut) {
  const Outcome run =
      shell(fmt::format("{} --oversubscribe -np 2 {}{} --sync diloco:h=3,steps=dynamic --slow 1:4 --log {}", kMpirun,
                        kProgram, flags(6), path("log")));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("kept together by diloco:h=3,steps=dynamic"),
                                HasSubstr("steps computed by each rank: "), HasSubstr(" of 6")));
  EXPECT_EQ(lossesOf(path("log")).size(), 6u);
}

TEST_F(ProcessTest, PipelinesInIslandsEndWithASampleAndAReport) {
  const std::string grid = " --pipeline 2 --islands 2 --sync diloco:h=2,codec=int4 --micro-batches 2 --sample 8";
  const Outcome run = shell(
      fmt::format("{} --oversubscribe -np 4 {}{}{} --run {}", kMpirun, kProgram, flags(4), grid, path("islands")));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("2 pipelines of 2 ranks"), HasSubstr("2 islands kept together by diloco:h=2"),
                                HasSubstr("4/4 | loss"), HasSubstr("run: 4 steps on 4 ranks")));
  EXPECT_THAT(readBytes(path("islands") + "/report.md"), HasSubstr("2 islands, diloco:h=2"));
  const Outcome odd = shell(fmt::format("{} --oversubscribe -np 3 {}{}{}", kMpirun, kProgram, flags(4), grid));
  EXPECT_NE(odd.exit_code, 0);
  EXPECT_THAT(odd.output, HasSubstr("3 ranks do not form --islands 2 with pipelines of --pipeline 2"));
}

/// The validation losses that a log holds, in the order of its lines.
std::vector<double> validationsOf(const std::string& log) {
  std::vector<double> losses;
  std::istringstream lines(readBytes(log));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    if (json.at("event") == "validation") losses.push_back(json.at("loss"));
  }
  return losses;
}

TEST_F(ProcessTest, ACheckpointOfFourReplicasGoesOnAsTwoPipelinesOfTwoStagesAndAlone) {
  const std::string run = kProgram + flags(4) + " --resume --checkpoint " + path("run");
  const auto start = [&](int ranks, const std::string& more, const std::string& log) {
    const Outcome outcome =
        shell(fmt::format("{} --oversubscribe -np {} {}{} --log {}", kMpirun, ranks, run, more, path(log)));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    return validationsOf(path(log));
  };
  const std::vector<double> trained = start(4, "", "replicas");
  ASSERT_EQ(trained.size(), 1u);
  EXPECT_EQ(start(4, " --pipeline 2", "stages"), trained); // the same bits
  EXPECT_EQ(start(1, "", "alone"), trained);
  const Outcome odd = shell(fmt::format("{} --oversubscribe -np 3 {} --pipeline 2", kMpirun, run));
  EXPECT_NE(odd.exit_code, 0);
  EXPECT_THAT(odd.output, HasSubstr("3 ranks do not form pipelines of --pipeline 2; start a multiple of 2"));
}

TEST_F(ProcessTest, WhatCannotBeReadOrWrittenIsNamedAndTheCheckpointBeforeIsWhole) {
  const std::string resumable = " --resume --checkpoint " + path("run");
  ASSERT_EQ(shell(kProgram + flags(2) + resumable).exit_code, 0);
  std::filesystem::create_directory(path("empty"));
  const Outcome directory = shell(fmt::format("{}{} --data {}", kProgram, flags(3), path("empty")));
  EXPECT_EQ(directory.exit_code, 1);
  EXPECT_THAT(directory.output, HasSubstr("the data folder " + path("empty") + " has no files"));
  const Outcome shape = shell(kProgram + flags(3) + resumable + " --channels 32");
  EXPECT_EQ(shape.exit_code, 1);
  EXPECT_THAT(shape.output, AllOf(HasSubstr("of another model"), HasSubstr("--channels is 32")));
  // Files of 8 KiB at most, too small for the model: as on a disk that fills up on the way.
  const Outcome full = shell("ulimit -f 16; " + (kProgram + flags(3)) + resumable);
  EXPECT_EQ(full.exit_code, 1) << full.output;
  EXPECT_THAT(full.output, AllOf(HasSubstr("step 3"), HasSubstr("model.safetensors"), HasSubstr("File too large"),
                                 HasSubstr("earlier checkpoints are untouched")));
  const Outcome last = shell(kProgram + flags(3) + resumable);
  EXPECT_EQ(last.exit_code, 0) << last.output;
  EXPECT_THAT(last.output, HasSubstr("resumed from step 2"));
}

TEST_F(ProcessTest, ErrorsEndWithOneAndAReason) {
  const Outcome method = shell(kProgram + flags(1) + " --sync dilocco:h=5");
  EXPECT_EQ(method.exit_code, 1);
  EXPECT_THAT(method.output, HasSubstr("there is no synchronizer 'dilocco'; there are: ddp, local, diloco"));
  const Outcome missing = shell(fmt::format("{} --data {}", kProgram, path("none")));
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.output, AllOf(HasSubstr("goss-train: "), HasSubstr(path("none")), HasSubstr("No such file")));
  EXPECT_EQ(shell(std::string(kProgram) + " --nonsense").exit_code, 2);
  EXPECT_EQ(shell(std::string(kProgram) + " --help").exit_code, 0);
}

#if !GOSS_HAS_ATEN
TEST_F(ProcessTest, ABackendThatWasNotBuiltSaysWhatToInstall) {
  const Outcome outcome = shell(kProgram + flags(1) + " --backend aten");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("--backend aten: libgoss_train_aten.so"),
                                    HasSubstr("apt-get install libtorch-dev"), HasSubstr("-DGOSS_TORCH=ON")));
}
#endif

TEST_F(ProcessTest, ARankThatFailsTakesTheOthersDownWithItsReason) {
  // Only rank 0 opens the log, so only it can fail; the other must not wait for it until the deadline.
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome =
      shell(fmt::format("{} --oversubscribe -np 2 {}{} --log /dev/full", kMpirun, kProgram, flags(30)));
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("/dev/full"), HasSubstr("No space left")));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST_F(ProcessTest, GeneratesFromACheckpointAndNamesItsVersion) {
  ASSERT_EQ(shell(kProgram + flags(3) + " --checkpoint " + path("saved")).exit_code, 0);
  const std::string generate =
      fmt::format("{} generate {}/step-00000003 --prompt the --tokens 20 --top-k 5 --seed 4", kProgram, path("saved"));
  const Outcome text = shell(generate);
  ASSERT_EQ(text.exit_code, 0) << text.output;
  EXPECT_THAT(text.output, testing::StartsWith("the"));
  EXPECT_GE(text.output.size(), 24u);
  EXPECT_EQ(shell(generate).output, text.output);
  EXPECT_NE(shell(generate + " --prompt ''").exit_code, 0);
  EXPECT_EQ(shell(fmt::format("{} generate", kProgram)).exit_code, 2);
  const Outcome version = shell(fmt::format("{} --version", kProgram));
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.output, "goss-train 0.1.0\n");
}

TEST_F(ProcessTest, TrainsAndGeneratesWithATokenizer) {
  const TokenizerFiles files(path("tokenizer"));
  const std::string tokenizer = " --tokenizer " + files.folder();
  const Outcome trained = shell(kProgram + flags(3) + tokenizer + " --prompt hello --checkpoint " + path("saved"));
  ASSERT_EQ(trained.exit_code, 0) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr(fmt::format("vocabulary {}", files.vocab())));
  const std::string generate = fmt::format("{} generate {}/step-00000003 --tokens 9", kProgram, path("saved"));
  const Outcome text = shell(generate + tokenizer + " --prompt 'hello world'");
  EXPECT_EQ(text.exit_code, 0) << text.output;
  EXPECT_THAT(text.output, testing::StartsWith("hello world"));
  const std::string continued = kProgram + flags(3) + " --init " + path("saved") + "/step-00000003";
  EXPECT_THAT(shell(continued).output, HasSubstr("give --tokenizer with its vocabulary"));
  const Outcome more = shell(continued + tokenizer + " --prompt hello");
  EXPECT_EQ(more.exit_code, 0) << more.output;
  const Outcome numbers = shell(generate + " --prompt hello");
  EXPECT_EQ(numbers.exit_code, 1);
  EXPECT_THAT(numbers.output, HasSubstr("give --tokenizer to write text"));
  ASSERT_EQ(shell(kProgram + flags(3) + " --checkpoint " + path("bytes")).exit_code, 0);
  const Outcome small = shell(fmt::format("{} generate {}/step-00000003{}", kProgram, path("bytes"), tokenizer));
  EXPECT_EQ(small.exit_code, 1);
  EXPECT_THAT(small.output, HasSubstr(fmt::format("has {} tokens, but the model knows 256", files.vocab())));
}

TEST_F(ProcessTest, TorchrunsVariablesStartItToo) {
  const std::string variables =
      fmt::format("WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT={} ", test::freePorts(1));
  const Outcome outcome =
      shell(fmt::format("({0} RANK=1 LOCAL_RANK=1 {1}{2} &) ; {0} RANK=0 LOCAL_RANK=0 {1}{2} --log {3}", variables,
                        kProgram, flags(3), path("log")));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("2 ranks"));
  const std::vector<double> alone = runAlone(smallOptions(3)).losses;
  EXPECT_EQ(lossesOf(path("log")).at(3), alone[2]);
}

} // namespace
} // namespace goss::trainer
