// Which plan calls run next, given what they take.
#include "runner/trial_series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace goss {
namespace {

const TrialPlan kOther{"ring", "rates"};
const TrialPlan kThird{"direct", "rates"};

/// Calls in stretches, and the comparisons that have ended.
struct Course {
  std::vector<std::string> ran; ///< Algorithms in order.
  std::vector<TrialSeries::Comparison> compared;

  [[nodiscard]] int adopted() const {
    return static_cast<int>(
        std::count_if(compared.begin(), compared.end(), [](const auto& one) { return one.adopted; }));
  }
};

/// Runs `calls` calls; `took` says what one takes by its plan's algorithm.
Course run(TrialSeries& series, int calls, const std::map<std::string, double>& took) {
  Course course;
  TrialSeries::Stretch stretch = TrialSeries::first();
  while (static_cast<int>(course.ran.size()) < calls) {
    course.ran.insert(course.ran.end(), stretch.calls, stretch.plan.algorithm);
    stretch = series.next(took.at(stretch.plan.algorithm));
    if (series.ended().has_value()) course.compared.push_back(*series.ended());
  }
  return course;
}

/// Proposes these once, one list after the other.
TrialSeries::Propose proposing(std::vector<std::vector<TrialPlan>> lists) {
  auto next = std::make_shared<std::size_t>(0);
  return [lists = std::move(lists), next](const TrialPlan&) {
    return *next < lists.size() ? lists[(*next)++] : std::vector<TrialPlan>();
  };
}

TEST(TrialSeries, KeepsTheFirstPlanWhereNothingElseIsProposed) {
  TrialSeries series(proposing({}));
  const Course course = run(series, 20, {{"", 1.0}});
  EXPECT_EQ(course.ran, std::vector<std::string>(course.ran.size()));
  EXPECT_TRUE(series.isSettled());
  EXPECT_TRUE(course.compared.empty());
}

TEST(TrialSeries, AdoptsWhatIsFaster) {
  TrialSeries series(proposing({{kOther}}));
  const Course course = run(series, 30, {{"", 1.0}, {"ring", 0.8}});
  const auto& ran = course.ran;
  EXPECT_EQ(series.used(), kOther);
  EXPECT_TRUE(series.isSettled());
  ASSERT_EQ(course.compared.size(), 1u);
  EXPECT_TRUE(course.compared[0].adopted);
  EXPECT_EQ(course.compared[0].tried, kOther);
  EXPECT_EQ(course.compared[0].against, TrialPlan());
  EXPECT_EQ(course.compared[0].tried_s, 0.8);
  EXPECT_EQ(course.compared[0].against_s, 1.0);
  EXPECT_EQ(ran[1], "ring") << "the proposal runs in the second call";
  EXPECT_EQ(ran[2], "ring") << "and again, when its connections have found their speed";
  EXPECT_EQ(ran[3], "") << "then in turn with the plan in use";
  EXPECT_EQ(ran[8], "ring");
}

TEST(TrialSeries, DropsWhatIsSlower) {
  TrialSeries series(proposing({{kOther, kThird}}));
  const Course course = run(series, 40, {{"", 1.0}, {"ring", 1.2}, {"direct", 0.99}});
  EXPECT_EQ(series.used(), TrialPlan());
  EXPECT_TRUE(series.isSettled());
  EXPECT_EQ(course.compared.size(), 2u);
  EXPECT_EQ(course.adopted(), 0);
  EXPECT_EQ(std::count(course.ran.begin(), course.ran.end(), "ring"), 2);
}

TEST(TrialSeries, TriesNothingHopelessTwice) {
  TrialSeries series(proposing({{kOther}}));
  const Course course = run(series, 20, {{"", 1.0}, {"ring", 5.0}});
  EXPECT_EQ(std::count(course.ran.begin(), course.ran.end(), "ring"), 2);
  EXPECT_EQ(course.compared.size(), 1u);
}

TEST(TrialSeries, AsksAgainAfterAComparisonThatFoundNothing) {
  TrialSeries series(proposing({{kOther}, {kThird}}));
  const Course course = run(series, 30, {{"", 1.0}, {"ring", 1.2}, {"direct", 0.5}});
  EXPECT_EQ(series.used(), kThird) << "the calls have shown more of the paths";
  EXPECT_EQ(course.compared.size(), 2u);
}

TEST(TrialSeries, EndsHoweverOftenSomethingBetterIsProposed) {
  int asked = 0;
  TrialSeries series([&](const TrialPlan&) {
    return std::vector<TrialPlan>{{std::string(static_cast<std::size_t>(++asked), 'a'), "rates"}};
  });
  TrialSeries::Stretch stretch = TrialSeries::first();
  for (int call = 0; call < 100 && !series.isSettled(); ++call)
    stretch = series.next(1.0 / static_cast<double>(stretch.plan.algorithm.size() + 1));
  EXPECT_TRUE(series.isSettled());
  EXPECT_EQ(asked, TrialSeries::kRounds);
  EXPECT_EQ(series.used().algorithm, "aaaa");
}

TEST(TrialSeries, RunsAPlanThatShowsWhatPathsCanDoOnce) {
  for (const double explorer_s : {0.99, 2.0}) {
    TrialSeries series(proposing({{{"direct", ""}}, {kOther}}));
    const Course course = run(series, 30, {{"", 1.0}, {"direct", explorer_s}, {"ring", 0.5}});
    EXPECT_EQ(course.ran[1], "direct");
    EXPECT_EQ(course.ran[2], "ring") << "better plans follow from what it has shown";
    EXPECT_EQ(std::count(course.ran.begin(), course.ran.end(), "direct"), 1);
    EXPECT_EQ(series.used(), kOther);
  }
}

TEST(TrialSeries, ComparesASecondPlanWithoutRatesAsOthers) {
  TrialSeries series(proposing({{{"direct", ""}}, {{"direct", ""}}}));
  const Course course = run(series, 30, {{"", 1.0}, {"direct", 0.8}});
  EXPECT_EQ(series.used(), (TrialPlan{"direct", ""}));
  EXPECT_EQ(course.compared.size(), 2u);
}

TEST(TrialSeries, ComparesAnewWhereAPaceHoldsCallsBack) {
  int asked = 0;
  TrialSeries series([&](const TrialPlan&) {
    ++asked;
    return std::vector<TrialPlan>();
  });
  run(series, 9, {{"", 1.0}});
  EXPECT_EQ(asked, 1);
  series.next(1.0, true);
  series.next(1.0, true);
  EXPECT_EQ(asked, 2);
  int before = asked;
  for (int stretch = 0; stretch < 100; ++stretch)
    series.next(1.0, true);
  EXPECT_GT(asked, before);
  EXPECT_LT(asked, before + 8) << "less and less often, where nothing is found";
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
