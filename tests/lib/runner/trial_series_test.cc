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
  TrialSeries::Stretch stretch = series.first();
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
  TrialSeries::Stretch stretch = series.first();
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
  series.next(1.0, TrialSeries::Sight::hidden);
  series.next(1.0, TrialSeries::Sight::hidden);
  EXPECT_EQ(asked, 2);
  int before = asked;
  for (int stretch = 0; stretch < 100; ++stretch)
    series.next(1.0, TrialSeries::Sight::hidden);
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

TEST(TrialSeries, FollowsLinksThatChangeAndNothingElse) {
  using Sight = TrialSeries::Sight;
  TrialSeries series(proposing({{kOther}}), TrialSeries::Reason::links);
  EXPECT_EQ(series.first().calls, TrialSeries::kSettledCalls);
  EXPECT_TRUE(series.isSettled());
  EXPECT_EQ(series.next(1.0).calls, TrialSeries::kSettledCalls);
  EXPECT_EQ(series.next(5.0).calls, TrialSeries::kSettledCalls) << "other times alone are no reason";
  const TrialSeries::Stretch trial = series.next(5.0, Sight::changed);
  EXPECT_EQ(trial.plan, kOther);
  EXPECT_EQ(trial.calls, TrialSeries::kTrialCalls);
  EXPECT_EQ(series.next(2.0).plan, kOther) << "the calls that have shown the change are the other side";
  EXPECT_TRUE(series.isSettled());
  ASSERT_TRUE(series.ended().has_value());
  EXPECT_EQ(series.ended()->against_s, 5.0);
  EXPECT_EQ(series.used(), kOther);
}

TEST(TrialSeries, LooksLessAndLessOftenAtWhatAPlanHides) {
  std::vector<std::vector<TrialPlan>> lists = {{kOther}, {}};
  for (int look = 0; look < 100; ++look) {
    lists.push_back({TrialPlan()});
    lists.emplace_back(); // It was judged.
  }
  TrialSeries series(proposing(lists), TrialSeries::Reason::links);
  EXPECT_EQ(series.first().plan, TrialPlan());
  EXPECT_EQ(series.next(5.0, TrialSeries::Sight::changed).plan, kOther);
  EXPECT_EQ(series.next(2.0).plan, kOther);
  int looks = 0;
  for (int stretch = 0; stretch < 100; ++stretch) {
    const TrialSeries::Stretch next = series.next(series.isSettled() ? 2.0 : 5.0, TrialSeries::Sight::hidden);
    if (next.plan == kOther) continue;
    EXPECT_EQ(next.calls, 1U);
    ++looks;
  }
  EXPECT_GE(looks, 3);
  EXPECT_LE(looks, 16);
  EXPECT_EQ(series.used(), kOther);
}

} // namespace
} // namespace goss
