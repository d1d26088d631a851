// Ranks in processes of their own that share a GPU: their calls run there, and what keeps them from it is found out by
// all ranks alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/faults/child_process.h"
#include "tests/support/free_port.h"

namespace goss::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using testing::HasSubstr;
using testing::StartsWith;

/// The program of a rank, which lies beside this one.
std::string processRank() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "device_process_rank").string();
}

/// Processes that play `role`, a test of process_rank.cc.
class Processes {
 public:
  Processes(const std::string& role, int ranks, const std::vector<std::string>& settings = {},
            const std::vector<std::string>& of_rank_1 = {}) {
    const std::string port = std::to_string(freePorts(1));
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<std::string> environment{
          "RANK=" + std::to_string(rank),
          "WORLD_SIZE=" + std::to_string(ranks),
          "MASTER_ADDR=127.0.0.1",
          "MASTER_PORT=" + port,
          "GOSS_DEVICE=cuda",
          "GOSS_TEST_DEVICES=cuda",
          "CUDA_STANDIN_DEVICES=2",
          "GTEST_TOTAL_SHARDS=1", // Or this program's part of the tests would be empty.
          "GTEST_SHARD_INDEX=0"};
      environment.insert(environment.end(), settings.begin(), settings.end());
      if (rank == 1) environment.insert(environment.end(), of_rank_1.begin(), of_rank_1.end());
      ranks_.push_back(std::make_unique<ChildProcess>(
          std::vector<std::string>{processRank(), "--gtest_filter=ProcessRank." + role}, environment));
    }
  }

  ChildProcess& rank(int index) { return *ranks_[static_cast<std::size_t>(index)]; }

  void expectSuccess() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      std::string said;
      while (const auto line = ranks_[rank]->readLine(200s))
        said += *line + "\n";
      EXPECT_EQ(ranks_[rank]->wait(10s), 0) << "rank " << rank << " said: " << said;
      EXPECT_THAT(said, HasSubstr("[  PASSED  ] 1 test.")) << "rank " << rank;
    }
  }

  /// The next line of the rank's that begins so.
  std::string lineOf(int index, const std::string& beginning, std::chrono::milliseconds limit) {
    while (const auto line = rank(index).readLine(limit))
      if (line->starts_with(beginning)) return *line;
    return "nothing";
  }

 private:
  std::vector<std::unique_ptr<ChildProcess>> ranks_;
};

class SharedByProcesses : public testing::TestWithParam<int> {};

TEST_P(SharedByProcesses, SumsHaveTheBitsOfHostBuffersAndNothingCrosses) {
  Processes("SumsOfEveryAlgorithmHaveTheBitsOfHostBuffersAndNothingCrosses", GetParam(), {"GOSS_FRAGMENT_BYTES=65536"})
      .expectSuccess();
}

TEST_P(SharedByProcesses, EveryCollectiveDtypeAndOpHasTheBitsOfHostBuffers) {
  Processes("EveryCollectiveDtypeAndOpHasTheBitsOfHostBuffersAndNothingCrosses", GetParam()).expectSuccess();
}

INSTANTIATE_TEST_SUITE_P(All, SharedByProcesses, testing::Values(2, 3, 4),
                         [](const auto& tested) { return std::to_string(tested.param) + "ranks"; });

class NotSharedByProcesses : public testing::TestWithParam<const char*> {};

TEST_P(NotSharedByProcesses, CallsAreStagedOnAllRanks) {
  Processes("CallsThatCannotShareAreStaged", 3, {std::string("BUFFER=") + GetParam()}).expectSuccess();
}

INSTANTIATE_TEST_SUITE_P(All, NotSharedByProcesses, testing::Values("pool", "host", "stream"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(ProcessesMayNotMap, CallsAreStagedOnAllRanks) {
  for (const char* refusal : {"CUDA_STANDIN_IPC=0", "CUDA_STANDIN_IPC=2"}) {
    Processes("NobodyTriesAgainWhatIsNotPermitted", 2, {refusal}).expectSuccess();
    Processes("NobodyTriesAgainWhatIsNotPermitted", 3, {}, {refusal}).expectSuccess();
  }
}

TEST(ProcessesMapMemory, OnceAndAgainWhenItIsOther) {
  for (const char* changing : {"CHANGING_RANK=-1", "CHANGING_RANK=1"})
    Processes("MemoryThatWasAllocatedAgainIsMappedAgain", 3, {"CUDA_STANDIN_REUSE=1", changing}).expectSuccess();
}

TEST(ProcessesMapMemory, AgainWhenNoStreamWaits) {
  Processes("MemoryIsMappedAgainWhenNoStreamWaits", 2, {"CUDA_STANDIN_REUSE=1"}).expectSuccess();
}

TEST(ProcessesFreeMemory, WhileAStreamWaits) {
  Processes("MemoryIsFreedWhileAStreamWaitsForRanksThatComeLater", 3, {"CUDA_STANDIN_LOCK=1", "GOSS_TIMEOUT_MS=20000"})
      .expectSuccess();
}

TEST(ProcessesFreeMemory, WhileCallsWithoutAStreamAreUnderWay) {
  Processes("MemoryIsFreedWhileCallsWithoutAStreamAreUnderWay", 2, {"CUDA_STANDIN_LOCK=1", "GOSS_TIMEOUT_MS=20000"})
      .expectSuccess();
}

TEST(ProcessesFreeMemory, WhileCallsWithoutAStreamStart) {
  Processes("CallsWithoutAStreamStartWhileMemoryIsFreed", 2, {"CUDA_STANDIN_LOCK=1", "GOSS_TIMEOUT_MS=20000"})
      .expectSuccess();
}

TEST(ProcessesFreeMemory, WhileADeviceThatDidNotOpenFailsCalls) {
  Processes("ADeviceThatDidNotOpenFailsCallsWhileMemoryIsFreed", 2, {"CUDA_STANDIN_LOCK=1", "GOSS_TIMEOUT_MS=20000"})
      .expectSuccess();
}

TEST(ProcessesFreeMemory, WhileACallWhoseMemoryIsComingStandsBeforeAGate) {
  Processes("ACallInAStreamComesBehindACallWhoseMemoryIsComing", 2,
            {"CUDA_STANDIN_LOCK=1", "CUDA_STANDIN_ONE_QUEUE=1", "GOSS_TIMEOUT_MS=20000"})
      .expectSuccess();
}

TEST(ProcessesFreeMemory, WhileErrorFeedbackComesHome) {
  Processes("ErrorFeedbackComesHomeWhileMemoryIsFreed", 2, {"CUDA_STANDIN_LOCK=1", "GOSS_TIMEOUT_MS=20000"})
      .expectSuccess();
}

/// Parameters: the number of the kind of call, and how late the other rank lets the driver go on.
class EndingInTheDriver : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(EndingInTheDriver, CallsLetTheLoopGoOnAndLiveUntilTheirJobsHaveEnded) {
  const auto [kind, late_ms] = GetParam();
  Processes("ACallEndsWhileItsJobIsInTheDriver", 2,
            {"CUDA_STANDIN_LOCK=1", "GOSS_TIMEOUT_MS=30000", "KIND=" + std::to_string(kind),
             "LATE_MS=" + std::to_string(late_ms)})
      .expectSuccess();
}

INSTANTIATE_TEST_SUITE_P(All, EndingInTheDriver,
                         testing::Values(std::pair(0, 1500), std::pair(1, 1500), std::pair(2, 1500), std::pair(3, 1500),
                                         std::pair(4, 1500), std::pair(2, 12000), std::pair(3, 12000),
                                         std::pair(4, 12000)),
                         [](const auto& tested) {
                           return "kind" + std::to_string(tested.param.first) + "_late" +
                                  std::to_string(tested.param.second) + "ms";
                         });

TEST(ProcessesMapMemory, AUseAfterItsOwnerFreedItIsFound) {
  Processes("AUseOfMemoryThatItsOwnerFreedIsFound", 2).expectSuccess();
}

TEST(FailuresAmongProcesses, AKilledRankIsNamedLongBeforeTheDeadline) {
  for (const int wait_ms : {0, 20, 37}) {
    Processes world("CallsUntilItFails", 3, {"COUNT=500000", "GOSS_TIMEOUT_MS=60000"});
    for (int rank = 0; rank < 3; ++rank)
      ASSERT_EQ(world.lineOf(rank, "ready", 60s), "ready");
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    const auto killed = Clock::now();
    world.rank(1).signal(SIGKILL);
    for (const int survivor : {0, 2}) {
      const std::string line = world.lineOf(survivor, "failed", 30s);
      EXPECT_THAT(line, HasSubstr("rank 1")) << "on rank " << survivor;
      EXPECT_LT(Clock::now() - killed, 15s);
      EXPECT_EQ(world.rank(survivor).wait(10s), 0);
    }
  }
}

TEST(FailuresAmongProcesses, AStoppedRankIsNamedAtTheDeadline) {
  Processes world("CallsUntilItFails", 3, {"COUNT=500000", "GOSS_TIMEOUT_MS=2000"});
  for (int rank = 0; rank < 3; ++rank)
    ASSERT_EQ(world.lineOf(rank, "ready", 60s), "ready");
  const auto stopped = Clock::now();
  world.rank(1).signal(SIGSTOP);
  for (const int survivor : {0, 2}) {
    EXPECT_THAT(world.lineOf(survivor, "failed", 30s), HasSubstr("rank 1")) << "on rank " << survivor;
    EXPECT_LT(Clock::now() - stopped, 10s);
    EXPECT_EQ(world.rank(survivor).wait(10s), 0);
  }
  world.rank(1).signal(SIGCONT);
  EXPECT_THAT(world.lineOf(1, "failed", 30s), StartsWith("failed"));
}

TEST(FailuresAmongProcesses, ADeviceThatFailsFailsAllAndIsNamed) {
  for (const char* at : {"FAIL_AT=1", "FAIL_AT=30", "FAIL_AT=47", "FAIL_AT=101"}) {
    Processes world("CallsUntilItFails", 3, {"COUNT=100003", "GOSS_TIMEOUT_MS=60000", at});
    for (int rank = 0; rank < 3; ++rank) {
      const std::string line = world.lineOf(rank, "failed", 60s);
      EXPECT_THAT(line, HasSubstr("rank 1: cuda device 0")) << at << " on rank " << rank;
      EXPECT_EQ(world.rank(rank).wait(10s), 0);
    }
  }
}

TEST(FailuresAmongProcesses, RanksThatCallSomethingElseAreNamed) {
  Processes("RanksThatCallSomethingElseAreNamed", 2, {"GOSS_TIMEOUT_MS=5000"}).expectSuccess();
}

TEST(FailuresAmongProcesses, ACallThatFailsWaitsForThoseThatRead) {
  Processes("ACallThatFailsWaitsForThoseThatRead", 2, {}, {"CUDA_STANDIN_DELAY_US=30000"}).expectSuccess();
}

} // namespace
} // namespace goss::test
