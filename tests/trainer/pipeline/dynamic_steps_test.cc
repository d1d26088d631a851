// Ranks of different speed, with speeds that the test makes up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/trainer/pipeline/pipeline_runs.h"
#include "tests/trainer/temporary_directory.h"
#include "trainer/base/error.h"
#include "trainer/ranks/library_replicas.h"

namespace goss::trainer {
namespace {

/// Says that every step took as long as the test wants.
class TimedReplicas : public LibraryReplicas {
 public:
  TimedReplicas(goss_comm_t comm, const std::string& spec, double seconds)
      : LibraryReplicas(comm, spec), seconds_(seconds) {}
  void stepTook(double) override {
    LibraryReplicas::stepTook(seconds_);
    ++computed_;
  }
  [[nodiscard]] int computed() const { return computed_; }

 private:
  double seconds_;
  int computed_ = 0;
};

class TimedGroup : public ThreadGroup {
 public:
  TimedGroup(ThreadBoard& board, goss_comm_t comm, int rank, double seconds)
      : ThreadGroup(board, rank), comm_(comm), seconds_(seconds) {}
  std::shared_ptr<Replicas> synchronize(const std::string& spec) override {
    replicas_ = std::make_shared<TimedReplicas>(comm_, spec, seconds_);
    return replicas_;
  }
  [[nodiscard]] int computed() const { return replicas_->computed(); }

 private:
  goss_comm_t comm_;
  double seconds_;
  std::shared_ptr<TimedReplicas> replicas_;
};

struct TimedResult {
  RunResult run;             // rank 0's
  std::vector<int> computed; // steps, by rank
};

TimedResult runTimed(const std::string& sync, const std::vector<double>& seconds, TrainOptions options) {
  options.sync = sync;
  const int ranks = static_cast<int>(seconds.size());
  ThreadBoard board(ranks, SumOrder::tree);
  TimedResult result{{}, std::vector<int>(seconds.size())};
  test::runRanks(ranks, [&](goss_comm_t comm, int rank) {
    const auto at = static_cast<std::size_t>(rank);
    try {
      TimedGroup group(board, comm, rank, seconds[at]);
      RunResult mine = runOn(group, options);
      result.computed[at] = group.computed();
      if (rank == 0) result.run = std::move(mine);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << rank << ": " << error.what();
      std::abort();
    }
  });
  return result;
}

TEST(DynamicSteps, SlowRanksComputeAsManyStepsAsTheirSpeedAllows) {
  const TimedResult result = runTimed("diloco:h=4,steps=dynamic", {1, 2, 5}, smallOptions(12));
  EXPECT_EQ(result.computed, (std::vector<int>{12, 4 + 2 + 2, 4 + 1 + 1}));
  EXPECT_EQ(result.run.losses.size(), 12u);
  EXPECT_LT(result.run.losses.back(), result.run.losses.front());
  expectSameState(runTimed("diloco:h=4,steps=dynamic", {1, 2, 5}, smallOptions(12)).run.state, result.run.state);
}

TEST(DynamicSteps, OfEqualRanksAreThoseOfTheMethodBitForBit) {
  const TimedResult fixed = runTimed("diloco:h=3", {1, 1}, smallOptions(7));
  const TimedResult dynamic = runTimed("diloco:h=3,steps=dynamic", {1, 1}, smallOptions(7));
  expectSameState(dynamic.run.state, fixed.run.state);
  ASSERT_EQ(dynamic.run.losses.size(), fixed.run.losses.size());
  for (std::size_t i = 0; i < fixed.run.losses.size(); ++i) // 128 numbers below 8 in double, added in another order
    EXPECT_NEAR(dynamic.run.losses[i], fixed.run.losses[i], 1e-12);
}

TEST(DynamicSteps, AStoppedRunGoesOnWithTheSameBits) {
  TemporaryDirectory directory;
  TrainOptions options = smallOptions(10);
  options.checkpoint = directory / "whole";
  const TimedResult whole = runTimed("diloco:h=4,steps=dynamic", {1, 2}, options);
  options.checkpoint = directory / "parts";
  options.checkpoint_every = 6; // in the middle of a period
  TrainOptions part = options;
  part.time_limit_s = 1e-9; // noticed where the ranks meet
  options.resume = part.resume = true;
  EXPECT_EQ(runTimed("diloco:h=4,steps=dynamic", {1, 2}, part).run.losses.size(), 4u);
  EXPECT_EQ(runTimed("diloco:h=4,steps=dynamic", {1, 2}, part).run.losses.size(), 2u);
  expectSameState(runTimed("diloco:h=4,steps=dynamic", {1, 2}, options).run.state, whole.run.state);
}

} // namespace
} // namespace goss::trainer
