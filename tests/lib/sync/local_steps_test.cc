// How many steps workers of different speed compute, and what their differences weigh.
#include "sync/local_steps.h"

#include <gtest/gtest.h>

#include "sync/step_clock.h"

namespace goss::sync {
namespace {

/// Which of `count` steps from `first` on worker `worker` of a plan computes.
std::vector<int> placesOf(const std::vector<double>& seconds, std::size_t worker, std::uint64_t period) {
  LocalSteps steps(period, seconds.size(), worker, 1);
  steps.plan(seconds);
  std::vector<int> places;
  for (std::uint64_t i = 0; i < period; ++i) {
    if (steps.computes(period + i)) places.push_back(static_cast<int>(i));
  }
  return places;
}

TEST(LocalSteps, AreAsManyAsTheSpeedAllowsAndLieEvenlyInThePeriod) {
  const std::vector<double> seconds = {2, 1, 3, 1000};
  EXPECT_EQ(placesOf(seconds, 1, 8), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(placesOf(seconds, 0, 8), (std::vector<int>{1, 3, 5, 7}));
  EXPECT_EQ(placesOf(seconds, 2, 8), (std::vector<int>{3, 7})) << "floor(8 / 3)";
  EXPECT_EQ(placesOf(seconds, 3, 8), (std::vector<int>{7})) << "at least one";
}

TEST(LocalSteps, OfTheFirstPeriodAreAll) {
  const LocalSteps steps(3, 2, 1, 1);
  for (std::uint64_t done = 0; done < 3; ++done)
    EXPECT_TRUE(steps.computes(done));
}

TEST(LocalSteps, WeighADifferenceByTheStepsSinceItsFragmentLeft) {
  LocalSteps steps(4, 3, 0, 2);
  for (std::uint64_t done = 0; done < 4; ++done)
    steps.advance(done);
  EXPECT_EQ(steps.takeWeight(0), 1.0f); // exactly, where all did the same
  steps.plan(std::vector<double>{1, 2, 4});
  for (std::uint64_t done = 4; done < 8; ++done)
    steps.advance(done);
  EXPECT_EQ(steps.takeWeight(0), 3.0f * 4 / 7);
  EXPECT_EQ(steps.takeWeight(1), 3.0f * 8 / 19) << "its window began earlier";
  steps.advance(8);
  EXPECT_EQ(steps.takeWeight(1), 3.0f) << "only this worker computed";
  EXPECT_EQ(steps.takeWeight(1), 1.0f) << "nobody did";
}

TEST(LocalSteps, GoOnFromWhatWasSaved) {
  LocalSteps steps(4, 2, 1, 1);
  steps.plan(std::vector<double>{1, 2});
  steps.advance(0);
  steps.advance(1);
  base::WireWriter writer;
  steps.save(writer);
  const std::string bytes = writer.take();
  LocalSteps resumed(4, 2, 1, 1);
  base::WireReader reader(bytes);
  ASSERT_TRUE(resumed.load(reader));
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(resumed.planned(1), 2u);
  EXPECT_EQ(resumed.takeWeight(0), steps.takeWeight(0));
  LocalSteps other(4, 3, 1, 1);
  base::WireReader again(bytes);
  EXPECT_FALSE(other.load(again));
}

TEST(StepClock, BelievesWhatItIsToldAndCountsComputedStepsOnly) {
  StepClock clock;
  clock.tell(2);
  clock.end(true);
  clock.tell(4);
  clock.end(true);
  clock.tell(1000);
  clock.end(false);
  EXPECT_EQ(clock.takeMean(), 3.0);
  EXPECT_GT(clock.takeMean(), 0.0) << "a period without steps";
  clock.tell(1.5e308);
  clock.end(true);
  clock.tell(1.5e308);
  clock.end(true);
  EXPECT_EQ(clock.takeMean(), 1e9) << "ratios of times are finite";
}

} // namespace
} // namespace goss::sync
