// Bubbles and activations of the generated schedules against the formulas of their papers.
#include <gtest/gtest.h>

#include <algorithm>

#include "pipeline/simulator.h"
#include "tests/lib/pipeline/generated.h"

namespace goss::pipeline {
namespace {

/// Times of one whole stage. All are multiples of 1/8, so sums and differences are exact.
struct Times {
  double f, b, w;
};
constexpr Times kTimes[] = {{1, 1, 1}, {1, 1.25, 0.75}};

PipelineCosts costsOf(const Times& t, int stages_a_rank) {
  StageCost cost;
  cost.forward_s = t.f / stages_a_rank;
  cost.input_s = t.b / stages_a_rank;
  cost.weight_s = t.w / stages_a_rank;
  return {{cost}, {}};
}

double bubbleOf(const Schedule& schedule, const PipelineCosts& costs) {
  const Result<Simulation> simulation = simulate(schedule, costs);
  EXPECT_TRUE(simulation.isOk()) << simulation.status().text();
  return simulation.isOk() ? simulation.value().bubble_s : -1;
}

CheckReport reportOf(const Schedule& schedule) {
  Result<CheckReport> report = check(schedule);
  EXPECT_TRUE(report.isOk()) << report.status().text();
  return report.isOk() ? report.take() : CheckReport{};
}

/// Calls body(p, m) for p in 2..8 and m in p..4p.
template <typename Body>
void forSizes(Body body) {
  for (int p = 2; p <= 8; ++p) {
    for (int m = p; m <= 4 * p; ++m) {
      SCOPED_TRACE(testing::Message() << p << " ranks, " << m << " micro-batches");
      body(p, m);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(ClosedForms, GPipe) {
  forSizes([](int p, int m) {
    const Schedule s = generated("gpipe", p, m);
    for (const Times& t : kTimes)
      EXPECT_DOUBLE_EQ(bubbleOf(s, costsOf(t, 1)), (p - 1) * (t.f + t.b + t.w));
    EXPECT_EQ(reportOf(s).peak_activations, std::vector<int>(static_cast<std::size_t>(p), m));
  });
}

TEST(ClosedForms, OneForwardOneBackward) {
  forSizes([](int p, int m) {
    const Schedule s = generated("1f1b", p, m);
    for (const Times& t : kTimes)
      EXPECT_DOUBLE_EQ(bubbleOf(s, costsOf(t, 1)), (p - 1) * (t.f + t.b + t.w));
    const CheckReport report = reportOf(s);
    for (int r = 0; r < p; ++r)
      EXPECT_EQ(report.peak_activations[static_cast<std::size_t>(r)], std::min(m, p - r));
  });
}

TEST(ClosedForms, Interleaved) {
  forSizes([](int p, int m) {
    if (m % p != 0) return;
    for (int v = 2; v <= 3; ++v) {
      const Schedule s = generated({.name = "interleaved", .ranks = p, .micro_batches = m, .chunks = v});
      for (const Times& t : kTimes)
        EXPECT_NEAR(bubbleOf(s, costsOf(t, v)), (p - 1) * (t.f + t.b + t.w) / v, 1e-9);
      const CheckReport report = reportOf(s);
      for (int r = 0; r < p; ++r) {
        EXPECT_EQ(report.peak_activations[static_cast<std::size_t>(r)],
                  std::min(2 * (p - r - 1) + (v - 1) * p + 1, m * v));
      }
    }
  });
}

TEST(ClosedForms, ZeroBubbleH1) {
  forSizes([](int p, int m) {
    const Schedule s = generated("zb-h1", p, m);
    for (const Times& t : kTimes)
      EXPECT_DOUBLE_EQ(bubbleOf(s, costsOf(t, 1)), (p - 1) * (t.f + t.b - t.w));
    EXPECT_EQ(reportOf(s).peak_activations, std::vector<int>(static_cast<std::size_t>(p), p));
  });
}

TEST(ClosedForms, ZeroBubbleH2) {
  forSizes([](int p, int m) {
    if (m < 2 * p - 1) return; // the formula's condition
    const Schedule s = generated("zb-h2", p, m);
    for (const Times& t : kTimes)
      EXPECT_DOUBLE_EQ(bubbleOf(s, costsOf(t, 1)), std::max(0.0, (p - 1) * (t.f + t.b - 2 * t.w)));
    EXPECT_EQ(reportOf(s).peak_activations, std::vector<int>(static_cast<std::size_t>(p), 2 * p - 1));
  });
}

TEST(ClosedForms, ZeroBubbleV) {
  forSizes([](int p, int m) {
    const Schedule s = generated("zb-v", p, m);
    // Below 2p - 1 micro-batches, rank 0 has no forward to fill the time that the first one needs for the way back.
    EXPECT_DOUBLE_EQ(bubbleOf(s, costsOf({1, 1, 1}, 2)), std::max(0, 2 * p - 1 - m) / 2.0);
    const CheckReport report = reportOf(s);
    for (const int peak : report.peak_activations)
      EXPECT_EQ(peak, std::min(2 * p, 2 * m)); // of half a rank's layers each
  });
}

/// Time of a rank's computations from its k-th of the given kind to its last of that kind, less their work.
double steadyGap(const std::vector<Event>& events, std::size_t first, std::size_t last) {
  double work = 0;
  for (std::size_t i = first; i <= last; ++i)
    work += events[i].end_s - events[i].start_s;
  return events[last].end_s - events[first].start_s - work;
}

TEST(ClosedForms, WithoutAFlushThereIsNoBubbleBetweenStartAndEnd) {
  forSizes([](int p, int m) {
    for (const char* name : {"pipedream", "2bw"}) {
      const Schedule s = generated(name, p, m, 4);
      const Result<Simulation> simulation = simulate(s, costsOf({1, 1, 1}, 1));
      ASSERT_TRUE(simulation.isOk());
      // From the first backward pass of a rank to the last before its wind-down: forward and backward alternate.
      for (int r = 0; r < p; ++r) {
        std::vector<Event> computations;
        for (const Event& event : simulation.value().events[static_cast<std::size_t>(r)]) {
          if (isCompute(event.action.kind)) computations.push_back(event);
        }
        const auto warm = static_cast<std::size_t>(p - r - 1);
        EXPECT_DOUBLE_EQ(steadyGap(computations, warm + 1, computations.size() - warm - 1), 0) << name << " rank " << r;
      }
      const CheckReport report = reportOf(s);
      for (int r = 0; r < p; ++r) {
        const auto at = static_cast<std::size_t>(r);
        EXPECT_EQ(report.peak_activations[at], p - r) << name;
        EXPECT_EQ(report.live_versions[at], name == std::string("pipedream") ? p - r : 2) << name << " rank " << r;
      }
    }
  });
}

TEST(ClosedForms, FlushingSchedulesHaveOneVersionOfTheWeights) {
  for (const char* name : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v"}) {
    for (const int versions : reportOf(generated(name, 4, 8, 3)).live_versions)
      EXPECT_EQ(versions, 1) << name;
  }
}

TEST(ClosedForms, ABlockingFlushCostsZeroBubbleSchedulesTheirParallelogram) {
  // Measured elsewhere for p = 4, m = 8 and unit times: makespans of 27 and 25.5 against 24 without any gap.
  EXPECT_DOUBLE_EQ(simulate(generated("zb-h2", 4, 8), costsOf({1, 1, 1}, 1)).value().makespan_s, 27);
  EXPECT_DOUBLE_EQ(simulate(generated("zb-v", 4, 8), costsOf({1, 1, 1}, 2)).value().makespan_s, 25.5);
}

} // namespace
} // namespace goss::pipeline
