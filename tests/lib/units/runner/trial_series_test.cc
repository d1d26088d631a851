// Which plan calls run next, given what they take.
#include "runner/trial_series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace goss {
namespace {

const TrialPlan kOther{"ring", "rates"};
const TrialPlan kThird{"direct", "rates"};

/// Runs `calls` calls in stretches; `took` says what one takes by its plan's algorithm. Returns the algorithms in
/// order.
std::vector<std::string> run(TrialSeries& series, int calls, const std::map<std::string, double>& took) {
  std::vector<std::string> ran;
  TrialSeries::Stretch stretch = TrialSeries::first();
  while (static_cast<int>(ran.size()) < calls) {
    ran.insert(ran.end(), stretch.calls, stretch.plan.algorithm);
    stretch = series.next(took.at(stretch.plan.algorithm));
  }
  return ran;
}

TrialSeries::Propose proposing(std::vector<TrialPlan> plans) {
  return [plans](const TrialPlan&) { return plans; };
}

TEST(TrialSeries, KeepsTheFirstPlanWhereNothingElseIsProposed) {
  TrialSeries series(proposing({}));
  const auto ran = run(series, 20, {{"", 1.0}});
  EXPECT_EQ(ran, std::vector<std::string>(ran.size()));
  EXPECT_TRUE(series.isSettled());
  EXPECT_EQ(series.compared(), 0u);
}

TEST(TrialSeries, AdoptsWhatIsFaster) {
  TrialSeries series(proposing({kOther}));
  const auto ran = run(series, 30, {{"", 1.0}, {"ring", 0.8}});
  EXPECT_EQ(series.used(), kOther);
  EXPECT_TRUE(series.isSettled());
  EXPECT_EQ(series.adopted(), 1u);
  EXPECT_EQ(ran[1], "ring") << "the proposal runs in the second call";
  EXPECT_EQ(ran[2], "") << "then in turn with the plan in use";
  EXPECT_EQ(ran[8], "ring");
}

TEST(TrialSeries, DropsWhatIsSlower) {
  TrialSeries series(proposing({kOther, kThird}));
  const auto ran = run(series, 40, {{"", 1.0}, {"ring", 1.2}, {"direct", 0.99}});
  EXPECT_EQ(series.used(), TrialPlan());
  EXPECT_TRUE(series.isSettled());
  EXPECT_EQ(series.compared(), 2u);
  EXPECT_EQ(series.adopted(), 0u);
  EXPECT_EQ(std::count(ran.begin(), ran.end(), "ring"), 2);
}

TEST(TrialSeries, TriesNothingHopelessTwice) {
  TrialSeries series(proposing({kOther}));
  const auto ran = run(series, 20, {{"", 1.0}, {"ring", 5.0}});
  EXPECT_EQ(std::count(ran.begin(), ran.end(), "ring"), 1);
}

TEST(TrialSeries, EndsHoweverOftenSomethingBetterIsProposed) {
  int asked = 0;
  TrialSeries series([&](const TrialPlan&) {
    return std::vector<TrialPlan>{{std::string(static_cast<std::size_t>(++asked), 'a'), ""}};
  });
  TrialSeries::Stretch stretch = TrialSeries::first();
  for (int call = 0; call < 100 && !series.isSettled(); ++call)
    stretch = series.next(1.0 / static_cast<double>(stretch.plan.algorithm.size() + 1));
  EXPECT_TRUE(series.isSettled());
  EXPECT_EQ(asked, TrialSeries::kRounds);
  EXPECT_EQ(series.used().algorithm, "aaaa");
}

TEST(TrialSeries, AsksOnceMoreWhenAProposalHasShownWhatPathsCanDo) {
  int asked = 0;
  TrialSeries series([&](const TrialPlan&) {
    return ++asked == 1 ? std::vector<TrialPlan>{{"direct", ""}} : std::vector<TrialPlan>{kOther};
  });
  const auto ran = run(series, 30, {{"", 1.0}, {"direct", 2.0}, {"ring", 0.5}});
  EXPECT_EQ(ran[1], "direct");
  EXPECT_EQ(ran[2], "ring") << "what is hopeless is not compared further";
  EXPECT_EQ(series.used(), kOther);
}

TEST(TrialSeries, ComparesAnewWhenCallsTakeFarMore) {
  int asked = 0;
  TrialSeries series([&](const TrialPlan&) {
    ++asked;
    return std::vector<TrialPlan>();
  });
  run(series, 30, {{"", 1.0}});
  EXPECT_EQ(asked, 1);
  series.next(1.2);
  EXPECT_EQ(asked, 1) << "noise";
  series.next(5.0);
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(series.isSettled());
}

} // namespace
} // namespace goss
