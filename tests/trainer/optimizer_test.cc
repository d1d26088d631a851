#include <gtest/gtest.h>

#include <cmath>

#include "trainer/compute/cpu_ops.h"
#include "trainer/model/adamw.h"
#include "trainer/model/lr_schedule.h"

namespace goss::trainer {
namespace {

// PyTorch's AdamW written out in double, three steps, on a matrix and a vector of the table.
TEST(Adamw, MatchesTheClosedFormAndDecaysMatricesOnly) {
  const ParameterTable table({.layers = 1, .channels = 2, .heads = 1, .context = 1, .vocab = 2});
  CpuOps ops;
  Adamw optimizer({.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1}, table, ops);
  std::vector<float> p(table.count(), 0.5f), g(table.count());
  std::vector<double> want(table.count(), 0.5), m(table.count(), 0.0), v(table.count(), 0.0);
  constexpr double lr = 0.01, scale = 0.5;
  for (std::size_t step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < g.size(); ++i)
      g[i] = (static_cast<float>(i % 7) - 3.0f) * 0.25f + static_cast<float>(step);
    optimizer.update(step, lr, p.data(), g.data(), scale);
    const double t = static_cast<double>(step + 1);
    for (const Parameter& parameter : table.parameters()) {
      for (std::size_t i = parameter.offset; i < parameter.offset + parameter.count; ++i) {
        const double grad = scale * static_cast<double>(g[i]);
        m[i] = 0.9 * m[i] + 0.1 * grad;
        v[i] = 0.95 * v[i] + 0.05 * grad * grad;
        want[i] -= parameter.isMatrix() ? lr * 0.1 * want[i] : 0.0;
        want[i] -= lr * (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.95, t))) + 1e-8);
      }
    }
    // An update is lr times a ratio of order one, with a dozen roundings of 6e-8; 0.5 itself is rounded at 3e-8.
    for (std::size_t i = 0; i < p.size(); ++i)
      ASSERT_NEAR(p[i], want[i], 3e-7) << "step " << step << " element " << i;
  }
  EXPECT_NE(p[table.wte()], p[table.lnfWeight()]);
}

TEST(Adamw, DescendsAlongSignsAndDecaysMatricesOnly) {
  const ParameterTable table({.layers = 1, .channels = 2, .heads = 1, .context = 1, .vocab = 2});
  CpuOps ops;
  Adamw optimizer({.weight_decay = 0.5}, table, ops);
  std::vector<float> p(table.count(), 1.0f), g(table.count(), 1.0f);
  g[table.wte()] = -1.0f;
  optimizer.descend(0.25, p.data(), g.data());
  EXPECT_EQ(p[table.wte()], 1.125f);      // 1 * (1 - 0.25 * 0.5) + 0.25
  EXPECT_EQ(p[table.wte() + 1], 0.625f);  // and - 0.25
  EXPECT_EQ(p[table.lnfWeight()], 0.75f); // no decay
}

TEST(LrSchedule, WarmsUpLinearlyAndFollowsACosineToTheFloor) {
  const LrSchedule s{.peak = 1.0, .floor = 0.1, .warmup_steps = 4, .total_steps = 13};
  EXPECT_DOUBLE_EQ(s.at(0), 0.25);
  EXPECT_DOUBLE_EQ(s.at(3), 1.0);
  EXPECT_DOUBLE_EQ(s.at(4), 1.0);
  EXPECT_DOUBLE_EQ(s.at(6), 0.1 + 0.9 * 0.5 * (1 + std::sqrt(0.5)));
  EXPECT_DOUBLE_EQ(s.at(8), 0.55);
  EXPECT_DOUBLE_EQ(s.at(12), 0.1);
  EXPECT_DOUBLE_EQ(s.at(1000), 0.1);
}

TEST(LrSchedule, DegenerateLengths) {
  EXPECT_DOUBLE_EQ((LrSchedule{.peak = 1, .floor = 0.1, .warmup_steps = 0, .total_steps = 1}.at(0)), 1.0);
  EXPECT_DOUBLE_EQ((LrSchedule{.peak = 1, .floor = 0.1, .warmup_steps = 5, .total_steps = 3}.at(2)), 0.6);
  EXPECT_DOUBLE_EQ((LrSchedule{.peak = 1, .floor = 0.1, .warmup_steps = 3, .total_steps = 3}.at(3)), 1.0);
}

} // namespace
} // namespace goss::trainer
