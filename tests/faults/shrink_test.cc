// Ranks die or stop, and the others go on without them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <memory>

#include "tests/faults/child_process.h"
#include "tests/support/free_port.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 4;

/// 64 MiB, or 1 MiB where sanitizers make everything slow.
std::size_t longCount() { return fullOr(1U << 24, 1U << 18); }

using Manner = std::vector<std::string>;

class Shrink : public ::testing::TestWithParam<std::string> {
 protected:
  /// `manners`: of each rank; the last one also of those behind it.
  void start(std::size_t count, int shrinks, const std::vector<Manner>& manners = {{}},
             const std::vector<std::string>& settings = {}, int ranks = kRanks) {
    const std::string port = std::to_string(freePorts(1));
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<std::string> command = {SHRINK_RANK, std::to_string(count), std::to_string(shrinks)};
      const Manner& manner = manners[std::min<std::size_t>(static_cast<std::size_t>(rank), manners.size() - 1)];
      command.insert(command.end(), manner.begin(), manner.end());
      std::vector<std::string> environment = {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(ranks),
                                              "MASTER_ADDR=127.0.0.1",        "MASTER_PORT=" + port,
                                              "GOSS_TRANSPORT=" + GetParam(), "GOSS_LOG=off"};
      environment.insert(environment.end(), settings.begin(), settings.end());
      ranks_.push_back(std::make_unique<ChildProcess>(command, environment));
    }
    for (int rank = 0; rank < ranks; ++rank)
      ASSERT_EQ(next(rank), "ready");
  }

  ChildProcess& rank(int index) { return *ranks_[static_cast<std::size_t>(index)]; }
  std::string next(int index) { return rank(index).readLine(60s).value_or("nothing"); }

  /// The ranks say that they failed, that they are `size` now, and that they reduced rightly.
  void expectGoingOn(const std::vector<int>& survivors, int size) {
    for (std::size_t i = 0; i < survivors.size(); ++i) {
      EXPECT_THAT(next(survivors[i]), StartsWith("failed ")) << "rank " << survivors[i];
      EXPECT_EQ(next(survivors[i]), "shrunk " + std::to_string(size) + " " + std::to_string(i));
      EXPECT_EQ(next(survivors[i]), "reduced") << "rank " << survivors[i];
    }
  }
  /// As expectGoingOn(), perhaps after further shrinks: some may have died when the others had agreed already.
  void expectToComeTo(const std::vector<int>& survivors) {
    for (std::size_t i = 0; i < survivors.size(); ++i) {
      const std::string end = "shrunk " + std::to_string(survivors.size()) + " " + std::to_string(i);
      std::string line;
      do {
        line = next(survivors[i]);
      } while (line != end && line != "nothing" && line != "done");
      EXPECT_EQ(line, end) << "rank " << survivors[i];
      EXPECT_EQ(next(survivors[i]), "reduced") << "rank " << survivors[i];
    }
  }
  void expectDone(const std::vector<int>& survivors) {
    for (const int survivor : survivors) {
      EXPECT_EQ(next(survivor), "done");
      EXPECT_EQ(rank(survivor).wait(20s), 0);
    }
  }

  std::vector<std::unique_ptr<ChildProcess>> ranks_;
};

/// Tests that need a transport which makes links at their first use, as only TCP does.
class ShrinkOnDemand : public Shrink {};

TEST_P(Shrink, ThreeOfFourGoOnAfterOneWasKilled) {
  for (const int victim : {0, 2}) {
    start(longCount(), 1);
    if (HasFatalFailure()) return;
    std::vector<int> survivors = {0, 1, 2, 3};
    std::erase(survivors, victim);
    const auto killed = Clock::now();
    rank(victim).signal(SIGKILL);
    expectGoingOn(survivors, 3);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - killed);
    RecordProperty("ms", static_cast<int>(took.count()));
    std::printf("rank %d killed: 3 ranks have found out, shrunk and reduced %zu elements in %lld ms\n", victim,
                longCount(), static_cast<long long>(took.count()));
    // On a quiet machine it takes a tenth of this or less.
    EXPECT_LT(took, 10s);
    expectDone(survivors);
    ranks_.clear();
  }
}

TEST_P(Shrink, ADeathAmongCompressedCallsIsNamedAndSurvived) {
  for (const char* codec : {"int8+ef", "powersgd:rank=2+ef", "terngrad:agree=max+ef"}) {
    start(1U << 18, 1, {{"codec", codec}});
    if (HasFatalFailure()) return;
    rank(2).signal(SIGKILL);
    const std::vector<int> survivors = {0, 1, 3};
    for (std::size_t i = 0; i < survivors.size(); ++i) {
      EXPECT_THAT(next(survivors[i]), AllOf(StartsWith("failed "), HasSubstr("rank 2"))) << codec;
      EXPECT_EQ(next(survivors[i]), "shrunk 3 " + std::to_string(i)) << codec;
      EXPECT_EQ(next(survivors[i]), "reduced") << codec;
    }
    expectDone(survivors);
    ranks_.clear();
  }
}

/// So many ranks that most have no link to those that die; and all that watch rank 6 die with it
/// (docs/thread_model.md).
TEST_P(Shrink, SixOfFourteenDieAtOnceAndThenOneStops) {
  start(1U << 10, 0, {{"until", "7"}}, {"GOSS_SILENCE_MS=1000"}, 14);
  if (HasFatalFailure()) return;
  for (const int victim : {4, 5, 6, 7, 8, 11})
    rank(victim).signal(SIGKILL);
  std::vector<int> survivors = {0, 1, 2, 3, 9, 10, 12, 13};
  expectToComeTo(survivors);
  rank(10).signal(SIGSTOP);
  std::erase(survivors, 10);
  for (const int survivor : survivors) {
    std::string line = next(survivor);
    if (line == "ready") line = next(survivor); // The reductions went on for a while.
    EXPECT_THAT(line, AllOf(StartsWith("failed "), HasSubstr("world rank 10")));
  }
  expectToComeTo(survivors);
  expectDone(survivors);
}

/// Among so many, rank 0 is the coordinator (docs/shrink.md): it dies when it is to coordinate, or is stopped.
TEST_P(Shrink, ManyGoOnWithoutTheCoordinator) {
  constexpr int kMany = 12;
  for (const bool dies : {true, false}) {
    start(1U << 10, 1, {dies ? Manner{"suicide"} : Manner{}, {}}, {"GOSS_SILENCE_MS=1000"}, kMany);
    if (HasFatalFailure()) return;
    if (!dies) rank(0).signal(SIGSTOP);
    rank(5).signal(SIGKILL);
    const std::vector<int> survivors = {1, 2, 3, 4, 6, 7, 8, 9, 10, 11};
    expectGoingOn(survivors, kMany - 2);
    expectDone(survivors);
    ranks_.clear();
  }
}

/// Each of the lowest ranks would coordinate for all if those below it were silent.
TEST_P(ShrinkOnDemand, StoppedRanksAreFoundAtTheSameTime) {
  constexpr int kMany = 14;
  start(1U << 10, 1, {{}}, {"GOSS_SILENCE_MS=3000"}, kMany);
  if (HasFatalFailure()) return;
  const auto stopped = Clock::now();
  for (const int victim : {0, 1, 2, 3, 4, 7})
    rank(victim).signal(SIGSTOP);
  const std::vector<int> survivors = {5, 6, 8, 9, 10, 11, 12, 13};
  expectGoingOn(survivors, static_cast<int>(survivors.size()));
  // One silence passes before the reduction fails, and one in the shrink. One for each of the lowest ranks would take
  // 18 s and more.
  EXPECT_LT(Clock::now() - stopped, 14s);
  expectDone(survivors);
}

TEST_P(Shrink, TwoDieAtOnce) {
  start(1U << 18, 1);
  if (HasFatalFailure()) return;
  rank(0).signal(SIGKILL);
  rank(2).signal(SIGKILL);
  // A rank may shrink when it knows of the first one only; then the second one fails the agreement's communicator.
  expectGoingOn({1, 3}, 2);
  expectDone({1, 3});
}

TEST_P(Shrink, OneDiesWhileTheOthersShrink) {
  start(1U << 10, 1, {{}, {"delay", "60000"}, {}});
  if (HasFatalFailure()) return;
  rank(3).signal(SIGKILL);
  EXPECT_THAT(next(1), StartsWith("failed ")); // The others wait for it now, in the agreement.
  ::usleep(300000);
  rank(1).signal(SIGKILL);
  expectGoingOn({0, 2}, 2);
  expectDone({0, 2});
}

TEST_P(Shrink, OneDiesInsteadOfShrinking) {
  start(1U << 10, 1, {{"suicide"}, {}});
  if (HasFatalFailure()) return;
  rank(3).signal(SIGKILL);
  EXPECT_THAT(next(0), StartsWith("failed "));
  expectGoingOn({1, 2}, 2);
  expectDone({1, 2});
}

TEST_P(Shrink, ASlowButLivingRankIsWaitedFor) {
  start(1U << 10, 1, {{}, {}, {"delay", "1500"}, {}}, {"GOSS_SILENCE_MS=600"});
  if (HasFatalFailure()) return;
  rank(0).signal(SIGKILL);
  expectGoingOn({1, 2, 3}, 3);
  expectDone({1, 2, 3});
}

TEST_P(Shrink, ARankThatDoesNotComeIsNamedAtTheDeadlineAndNotLeftOut) {
  start(1U << 10, 1, {{}, {}, {"absent"}, {}}, {"GOSS_TIMEOUT_MS=1200"});
  if (HasFatalFailure()) return;
  rank(0).signal(SIGKILL);
  for (const int survivor : {1, 3}) {
    EXPECT_THAT(next(survivor), StartsWith("failed "));
    EXPECT_THAT(next(survivor),
                AllOf(StartsWith("refused -4"), HasSubstr("waiting for rank 2"), HasSubstr("blames 2")));
  }
}

TEST_P(Shrink, AmongManyTooTheRankThatDoesNotComeIsNamed) {
  constexpr int kMany = 10;
  std::vector<Manner> manners(kMany);
  manners[7] = {"absent"};
  start(1U << 10, 1, manners, {"GOSS_TIMEOUT_MS=3000"}, kMany);
  if (HasFatalFailure()) return;
  rank(3).signal(SIGKILL);
  for (const int survivor : {0, 1, 2, 4, 5, 6, 8, 9}) {
    EXPECT_THAT(next(survivor), StartsWith("failed "));
    EXPECT_THAT(next(survivor), AllOf(StartsWith("refused -4"), HasSubstr("rank 7"), HasSubstr("blames 7")))
        << survivor;
  }
}

/// The others have heard from rank 0, the coordinator, that it waits for rank 7, before rank 0 stops.
TEST_P(Shrink, TheCoordinatorIsBlamedWhenItHasStopped) {
  constexpr int kMany = 10;
  std::vector<Manner> manners(kMany);
  manners[7] = {"absent"};
  start(1U << 10, 1, manners, {"GOSS_TIMEOUT_MS=15000", "GOSS_SILENCE_MS=60000"}, kMany);
  if (HasFatalFailure()) return;
  rank(3).signal(SIGKILL);
  const std::vector<int> waiting = {1, 2, 4, 5, 6, 8, 9};
  for (const int survivor : waiting)
    EXPECT_THAT(next(survivor), StartsWith("failed "));
  ::usleep(1500000);
  rank(0).signal(SIGSTOP);
  for (const int survivor : waiting)
    EXPECT_THAT(next(survivor), AllOf(StartsWith("refused -4"), HasSubstr("blames 0"))) << survivor;
}

TEST_P(Shrink, TwiceInARow) {
  start(1U << 16, 2);
  if (HasFatalFailure()) return;
  rank(0).signal(SIGKILL);
  expectGoingOn({1, 2, 3}, 3);
  for (const int survivor : {1, 2, 3})
    ASSERT_EQ(next(survivor), "ready");
  rank(3).signal(SIGKILL);
  expectGoingOn({1, 2}, 2);
  expectDone({1, 2});
}

TEST_P(Shrink, TwoCommunicatorsAtOnce) {
  start(1U << 10, 1, {{"two"}});
  if (HasFatalFailure()) return;
  rank(1).signal(SIGKILL);
  const std::vector<int> survivors = {0, 2, 3};
  expectGoingOn(survivors, 3);
  for (std::size_t i = 0; i < survivors.size(); ++i) {
    EXPECT_EQ(next(survivors[i]), "shrunk 3 " + std::to_string(i));
    EXPECT_EQ(next(survivors[i]), "reduced");
  }
  expectDone(survivors);
}

TEST_P(Shrink, AStoppedRankIsGivenUpAndToldSoWhenItComesBack) {
  start(1U << 16, 1, {{}}, {"GOSS_SILENCE_MS=1000"});
  if (HasFatalFailure()) return;
  const auto stopped = Clock::now();
  rank(2).signal(SIGSTOP);
  for (const int survivor : {0, 1, 3}) {
    EXPECT_THAT(next(survivor), AllOf(StartsWith("failed rank 2"), HasSubstr("no sign of life")));
    EXPECT_GE(Clock::now() - stopped, 900ms);
    EXPECT_THAT(next(survivor), StartsWith("shrunk 3 "));
    EXPECT_EQ(next(survivor), "reduced");
  }
  rank(2).signal(SIGCONT);
  EXPECT_THAT(next(2), StartsWith("failed "));
  // A survivor that is still there tells rank 2; when none is, rank 2 is alone, and one rank is not more than half.
  EXPECT_THAT(next(2), ::testing::AnyOf(StartsWith("refused -5"), StartsWith("shrunk 1 0")));
}

// The kernel sees rank 1 run, although the rank gets nothing done for longer than a silent rank may.
TEST_P(Shrink, ARankThatRunsOnThisHostIsSlowAndNotSilent) {
  start(1U << 10, 1, {{}}, {"GOSS_SILENCE_MS=800"});
  if (HasFatalFailure()) return;
  rank(1).signalThreads(SIGUSR1);
  ::usleep(3500000);
  rank(3).signal(SIGKILL);
  expectGoingOn({0, 1, 2}, 3);
  expectDone({0, 1, 2});
}

INSTANTIATE_TEST_SUITE_P(Transports, Shrink, ::testing::Values("shm", "tcp"),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(Transports, ShrinkOnDemand, ::testing::Values("tcp"),
                         [](const auto& test) { return test.param; });

} // namespace
} // namespace goss::test
