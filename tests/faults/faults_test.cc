// Ranks that die or stop: the others return an error that names them, in time, and nothing is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <thread>

#include "tests/faults/child_process.h"
#include "tests/support/free_port.h"

namespace goss::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 4;

/// Returns the names of Gossamer's files. Other programs, such as Open MPI, make and remove theirs at any time.
std::set<std::string> sharedMemoryFiles() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    if (const std::string name = entry.path().filename(); name.find("goss") != std::string::npos) names.insert(name);
  return names;
}

/// A running world of fault_rank processes.
class RunningWorld {
 public:
  RunningWorld(const std::string& transport, std::size_t count, int timeout_ms, int ranks = kRanks,
               const std::string& memory = "ordinary") {
    const std::string port = std::to_string(freePorts(1));
    for (int rank = 0; rank < ranks; ++rank) {
      ranks_.push_back(std::make_unique<ChildProcess>(
          std::vector<std::string>{FAULT_RANK, std::to_string(count), "1000000000", memory},
          std::vector<std::string>{"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(ranks),
                                   "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port, "GOSS_TRANSPORT=" + transport,
                                   "GOSS_LOG=off", "GOSS_TIMEOUT_MS=" + std::to_string(timeout_ms)}));
    }
  }

  void awaitReady() {
    for (auto& rank : ranks_)
      ASSERT_EQ(rank->readLine(60s).value_or("nothing"), "ready");
  }

  /// Waits until all ranks but these two have ended with success.
  void awaitLeaving(int first, int second) {
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
      if (rank != first && rank != second) {
        EXPECT_EQ(this->rank(rank).wait(20s), 0) << rank;
      }
  }

  ChildProcess& rank(int index) { return *ranks_[static_cast<std::size_t>(index)]; }

  /// Every rank but `victim` ends within `limit` and says so, naming it.
  void expectSurvivorsName(int victim, Clock::time_point since, std::chrono::milliseconds limit) {
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
      if (rank == victim) continue;
      const auto line = this->rank(rank).readLine(limit + 20s);
      const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since);
      ASSERT_TRUE(line.has_value()) << "rank " << rank << " said nothing";
      EXPECT_THAT(*line, StartsWith("failed "));
      EXPECT_THAT(*line, HasSubstr("rank " + std::to_string(victim)));
      EXPECT_LT(took, limit) << "rank " << rank << ": " << *line;
      EXPECT_EQ(this->rank(rank).wait(10s), 0);
    }
  }

 private:
  std::vector<std::unique_ptr<ChildProcess>> ranks_;
};

class Faults : public ::testing::TestWithParam<std::string> {};

TEST_P(Faults, KilledRankIsNamedLongBeforeTheDeadlineAndNothingIsLeft) {
  const auto before = sharedMemoryFiles();
  for (const std::size_t count : {1U, 1U << 20}) {
    for (int victim = 0; victim < kRanks; ++victim) {
      RunningWorld world(GetParam(), count, 60000);
      world.awaitReady();
      const auto killed = Clock::now();
      world.rank(victim).signal(SIGKILL);
      world.expectSurvivorsName(victim, killed, 10000ms); // It takes milliseconds, but busy machines are slower.
    }
  }
  EXPECT_EQ(sharedMemoryFiles(), before);
}

TEST_P(Faults, StoppedRankIsNamedAtTheDeadline) {
  for (const int victim : {0, 2}) {
    constexpr int kTimeoutMs = 1500;
    RunningWorld world(GetParam(), 1U << 16, kTimeoutMs);
    world.awaitReady();
    const auto stopped = Clock::now();
    world.rank(victim).signal(SIGSTOP);
    world.expectSurvivorsName(victim, stopped, std::chrono::milliseconds(kTimeoutMs + 5000));
    EXPECT_GE(Clock::now() - stopped, 1400ms) << "the deadline was not the reason";
  }
}

/// Rank 1 stops itself, and finds all at once what rank 0 does before it ends. Expects that rank 1 then says `said`.
void expectOfTheContinuedRank(const std::string& transport, const std::string& manner,
                              const ::testing::Matcher<std::string>& said) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    RunningWorld world(transport, 1, 20000, 2, manner);
    world.awaitReady();
    std::this_thread::sleep_for(200ms); // By now rank 1 has stopped.
    world.rank(0).signal(SIGUSR1);
    EXPECT_EQ(world.rank(0).wait(10s), 0);
    world.rank(1).signal(SIGCONT);
    EXPECT_THAT(world.rank(1).readLine(20s).value_or("nothing"), said);
    EXPECT_EQ(world.rank(1).wait(10s), 0);
  }
}

// Rank 1 finds two aborts and the departure of rank 0.
TEST_P(Faults, ARankThatAbortsAndLeavesHasToldWhy) {
  expectOfTheContinuedRank(GetParam(), "abort-and-leave", HasSubstr("as was asked"));
}

// Rank 1, which is stopped in the barrier, finds that rank 0 has entered it and that its process has ended.
TEST_P(Faults, ABarrierThatAllHaveEnteredPassesThoughARankHasEnded) {
  expectOfTheContinuedRank(GetParam(), "last-barrier", std::string("passed"));
}

TEST_P(Faults, ARankThatMakesNoCallsLearnsOfADeath) {
  RunningWorld world(GetParam(), 1, 60000, 2, "idle");
  world.awaitReady();
  std::this_thread::sleep_for(500ms);
  const auto killed = Clock::now();
  world.rank(1).signal(SIGKILL);
  world.expectSurvivorsName(1, killed, 5000ms);
}

TEST_P(Faults, ErrorsNameARankByItsNumberInTheCommunicatorOfTheCall) {
  for (const bool leaves : {false, true}) {
    RunningWorld world(GetParam(), 1, 20000, 3, leaves ? "reversed-leaves" : "reversed-killed");
    world.awaitReady();
    world.rank(2).signal(leaves ? SIGUSR1 : SIGKILL);
    for (const int rank : {0, 1}) {
      const std::string line = world.rank(rank).readLine(20s).value_or("nothing");
      EXPECT_THAT(line, HasSubstr("rank 0 (world rank 2)"));
      EXPECT_THAT(line, Not(ContainsRegex("[^d] rank 2"))) << "That is rank 0 of the world.";
    }
  }
}

// A probe of rank 1 waits for rank 0 when that destroys its communicator.
TEST(FaultsOverShm, ACommunicatorThatIsDestroyedBesideACallDoesNotFailOnOtherRanks) {
  for (int attempt = 0; attempt < 6; ++attempt) {
    RunningWorld world("shm", 1, 20000, 3, "destroyed");
    EXPECT_EQ(world.rank(0).readLine(20s).value_or("nothing"), "stops");
    std::this_thread::sleep_for(500ms);
    world.rank(0).signal(SIGCONT);
    for (const int rank : {1, 2})
      EXPECT_EQ(world.rank(rank).readLine(20s).value_or("nothing"), "reduced") << rank;
    EXPECT_EQ(world.rank(0).wait(10s), 0);
  }
}

TEST_P(Faults, KilledPeerIsNamedByTheMessagesThatWaitForIt) {
  const auto before = sharedMemoryFiles();
  for (const std::size_t count : {1U, 1U << 16}) {
    RunningWorld world(GetParam(), count, 60000, 2, "messages");
    world.awaitReady();
    const auto killed = Clock::now();
    world.rank(0).signal(SIGKILL);
    world.expectSurvivorsName(0, killed, 10000ms);
  }
  EXPECT_EQ(sharedMemoryFiles(), before);
}

TEST_P(Faults, StoppedPeerIsNamedAtTheDeadlineOfTheMessagesThatWaitForIt) {
  RunningWorld world(GetParam(), 1, 3000, 2, "messages");
  world.awaitReady();
  const auto stopped = Clock::now();
  world.rank(1).signal(SIGSTOP);
  world.expectSurvivorsName(1, stopped, 20000ms);
  world.rank(1).signal(SIGKILL);
}

TEST_P(Faults, KilledTargetOfAWindowIsNamed) {
  const auto before = sharedMemoryFiles();
  for (const std::size_t count : {1U, 1U << 18}) {
    RunningWorld world(GetParam(), count, 60000, 3, "window");
    world.awaitReady();
    const auto killed = Clock::now();
    world.rank(1).signal(SIGKILL);
    world.expectSurvivorsName(1, killed, 10000ms);
  }
  EXPECT_EQ(sharedMemoryFiles(), before);
}

// A call that reaches its deadline fails alone and names its own target, so the survivors do not wait for each other.
TEST_P(Faults, StoppedTargetOfAWindowIsNamedAtTheDeadline) {
  RunningWorld world(GetParam(), 100, 1500, 3, "window-of-last");
  world.awaitReady();
  const auto stopped = Clock::now();
  world.rank(2).signal(SIGSTOP);
  world.expectSurvivorsName(2, stopped, 20000ms);
  world.rank(2).signal(SIGKILL);
}

// A step of adpsgd waits for nobody, so a rank that is stopped costs the others its averages alone.
TEST_P(Faults, RanksThatAverageInPairsGoOnBesideAStoppedOneAndAfterAKilledOne) {
  RunningWorld world(GetParam(), 1000, 60000, 3, "adpsgd");
  world.awaitReady();
  world.rank(1).signal(SIGSTOP);
  for (int line = 0; line < 60; ++line) { // of 20 ms and more
    ASSERT_EQ(world.rank(0).readLine(20s).value_or("nothing"), "alive");
    ASSERT_EQ(world.rank(2).readLine(20s).value_or("nothing"), "alive");
  }
  world.rank(1).signal(SIGCONT);
  for (int line = 0; line < 5; ++line)
    ASSERT_EQ(world.rank(1).readLine(20s).value_or("nothing"), "alive");
  world.rank(1).signal(SIGKILL);
  for (const int rank : {0, 2}) {
    std::string line = "alive";
    while (line == "alive")
      line = world.rank(rank).readLine(20s).value_or("nothing");
    EXPECT_THAT(line, StartsWith("failed "));
    EXPECT_THAT(line, HasSubstr("rank 1"));
    EXPECT_EQ(world.rank(rank).readLine(20s).value_or("nothing"), "went on");
    EXPECT_EQ(world.rank(rank).wait(10s), 0);
  }
}

// Rank 6, which does nothing when rank 0 dies, has no link to it before all ranks between the two have left.
TEST(FaultsOverTcp, RanksThatAreLeftAloneWatchEachOther) {
  RunningWorld world("tcp", 1, 20000, 12, "receive-alone");
  world.awaitReady();
  world.awaitLeaving(0, 6);
  const auto limit = Clock::now() + 60s;
  while (!world.rank(6).isConnectedTo(world.rank(0)) && Clock::now() < limit)
    std::this_thread::sleep_for(50ms);
  ASSERT_TRUE(world.rank(6).isConnectedTo(world.rank(0)));
  std::this_thread::sleep_for(2s); // By now they have spoken over it.
  world.rank(0).signal(SIGKILL);
  std::this_thread::sleep_for(500ms);
  world.rank(6).signal(SIGUSR1);
  const std::string line = world.rank(6).readLine(40s).value_or("nothing");
  EXPECT_THAT(line, StartsWith("failed -5"));
  EXPECT_THAT(line, HasSubstr("rank 0"));
}

// Rank 1 stops while the messages of rank 0 fill the connection, so that no abort leaves. Rank 0 has 12 communicators,
// and could wait for a second for each.
TEST(FaultsOverTcp, ASlowRankHoldsUpTheAbortsOfManyCommunicatorsOnce) {
  RunningWorld world("tcp", 1U << 20, 60000, 3, "many");
  world.awaitReady();
  std::this_thread::sleep_for(500ms);
  const auto killed = Clock::now();
  world.rank(2).signal(SIGKILL);
  const std::string line = world.rank(0).readLine(40s).value_or("nothing");
  EXPECT_THAT(line, StartsWith("failed -5"));
  EXPECT_THAT(line, HasSubstr("rank 2"));
  EXPECT_GE(Clock::now() - killed, 900ms) << "the aborts have left";
  EXPECT_LT(Clock::now() - killed, 6s);
}

// Ranks that write into each other's results: one that is killed, or stopped for a while, at any moment.
TEST(FaultsOfLentMemory, NobodyWritesIntoAResultWhoseCallHasFailed) {
  constexpr std::size_t kCount = 8U << 20;
  for (int attempt = 0; attempt < 6; ++attempt) {
    SCOPED_TRACE(attempt);
    const bool stops = attempt % 3 != 0;
    RunningWorld world("shm", kCount, stops ? 2000 : 60000, 2, "lent");
    world.awaitReady();
    std::this_thread::sleep_for(std::chrono::microseconds(attempt * 1234));
    world.rank(1).signal(stops ? SIGSTOP : SIGKILL);
    const auto failed = world.rank(0).readLine(20s);
    ASSERT_TRUE(failed.has_value());
    EXPECT_THAT(*failed, StartsWith("failed "));
    EXPECT_THAT(*failed, HasSubstr("rank 1"));
    std::this_thread::sleep_for(100ms); // By now its buffer has other contents.
    if (stops) world.rank(1).signal(SIGCONT);
    EXPECT_EQ(world.rank(0).readLine(20s).value_or("nothing"), "kept");
    EXPECT_EQ(world.rank(0).wait(10s), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, Faults, ::testing::Values("shm", "tcp"),
                         [](const auto& test) { return test.param; });

} // namespace
} // namespace goss::test
