#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "trainer/compute/cpu_ops.h"
#include "trainer/model/lr_schedule.h"
#include "trainer/model/optimizer.h"

namespace goss::trainer {
namespace {

// PyTorch's AdamW written out in double, three steps, on a matrix and a vector of the table.
TEST(Adamw, MatchesTheClosedFormAndDecaysMatricesOnly) {
  const ParameterTable table({.layers = 1, .channels = 2, .heads = 1, .context = 1, .vocab = 2});
  CpuOps ops;
  Optimizer optimizer({.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1}, table, ops);
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
  Optimizer optimizer({.weight_decay = 0.5}, table, ops);
  std::vector<float> p(table.count(), 1.0f), g(table.count(), 1.0f);
  g[table.wte()] = -1.0f;
  optimizer.descend(0.25, p.data(), g.data());
  EXPECT_EQ(p[table.wte()], 1.125f);      // 1 * (1 - 0.25 * 0.5) + 0.25
  EXPECT_EQ(p[table.wte() + 1], 0.625f);  // and - 0.25
  EXPECT_EQ(p[table.lnfWeight()], 0.75f); // no decay
}

/// Row-major, in double.
struct Matrix {
  std::size_t rows, columns;
  std::vector<double> at;
};

Matrix times(const Matrix& a, const Matrix& b) {
  Matrix c{a.rows, b.columns, std::vector<double>(a.rows * b.columns, 0.0)};
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t k = 0; k < a.columns; ++k) {
      for (std::size_t j = 0; j < b.columns; ++j)
        c.at[i * b.columns + j] += a.at[i * a.columns + k] * b.at[k * b.columns + j];
    }
  }
  return c;
}

Matrix transposed(const Matrix& a) {
  Matrix t{a.columns, a.rows, std::vector<double>(a.at.size())};
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.columns; ++j)
      t.at[j * a.rows + i] = a.at[i * a.columns + j];
  }
  return t;
}

/// The published form, which always works on the wide matrix: X = a X + (b A + c A A) X with A = X X^T.
Matrix newtonSchulz(Matrix x) {
  if (x.rows > x.columns) return transposed(newtonSchulz(transposed(x)));
  double norm = 0;
  for (const double value : x.at)
    norm += value * value;
  for (double& value : x.at)
    value /= std::max(std::sqrt(norm), 1e-7);
  for (int i = 0; i < 5; ++i) {
    Matrix a = times(x, transposed(x));
    const Matrix square = times(a, a);
    for (std::size_t e = 0; e < a.at.size(); ++e)
      a.at[e] = -4.7750 * a.at[e] + 2.0315 * square.at[e];
    const Matrix high = times(a, x);
    for (std::size_t e = 0; e < x.at.size(); ++e)
      x.at[e] = 3.4445 * x.at[e] + high.at[e];
  }
  return x;
}

TEST(Muon, MovesMatricesOfBlocksAlongOrthogonalDirectionsAndTheRestAsAdamw) {
  const ParameterTable table({.layers = 1, .channels = 6, .heads = 1, .context = 2, .vocab = 5});
  CpuOps ops;
  Optimizer muon({.weight_decay = 0.1, .has_muon = true, .muon_momentum = 0.9}, table, ops);
  Optimizer adamw({.weight_decay = 0.1}, table, ops);
  std::vector<float> p(table.count(), 0.5f), rest(p), g(table.count());
  std::vector<double> want(table.count(), 0.5), m(table.count(), 0.0);
  constexpr double lr = 0.01, scale = 0.5;
  for (std::size_t step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < g.size(); ++i)
      g[i] = static_cast<float>(std::sin(static_cast<double>(i * i + 7 * step)));
    muon.update(step, lr, p.data(), g.data(), scale);
    adamw.update(step, lr, rest.data(), g.data(), scale);
    for (const Parameter& parameter : table.parameters()) {
      const std::size_t first = parameter.offset, end = first + parameter.count;
      if (!parameter.isHidden()) {
        for (std::size_t i = first; i < end; ++i)
          ASSERT_EQ(p[i], rest[i]) << parameter.name;
        continue;
      }
      Matrix u{parameter.shape[0], parameter.shape[1], {}};
      for (std::size_t i = first; i < end; ++i) {
        m[i] = 0.9 * m[i] + 0.1 * scale * static_cast<double>(g[i]);
        u.at.push_back(0.9 * m[i] + 0.1 * scale * static_cast<double>(g[i]));
      }
      const Matrix direction = newtonSchulz(u);
      const double rate = lr * 0.2 * std::sqrt(static_cast<double>(std::max(u.rows, u.columns)));
      for (std::size_t i = first; i < end; ++i)
        want[i] = want[i] * (1 - lr * 0.1) - rate * direction.at[i - first];
      // The iteration multiplies rounding errors of 6e-8 by 3.4445^5 = 485 at most; the rate is below 0.01.
      for (std::size_t i = first; i < end; ++i)
        ASSERT_NEAR(p[i], want[i], 1e-6) << parameter.name << " element " << i - first << " in step " << step;
    }
  }
}

TEST(Muon, AGradientOfZeroMovesNothing) {
  const ParameterTable table({.layers = 1, .channels = 4, .heads = 1, .context = 2, .vocab = 5});
  CpuOps ops;
  Optimizer muon({.weight_decay = 0, .has_muon = true}, table, ops);
  std::vector<float> p(table.count(), 0.5f);
  muon.update(0, 0.01, p.data(), std::vector<float>(table.count(), 0.0f).data(), 1.0);
  EXPECT_EQ(p, std::vector<float>(table.count(), 0.5f));
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
