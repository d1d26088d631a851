// DeMo against a reference in double precision: its own cosine transform, its own choice of components.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "tests/lib/sync/methods/model.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

constexpr std::size_t kChunk = 8, kKeep = 3, kChunks = 2;
constexpr double kDecay = 0.75;
constexpr double kClear = 1e-4; // far above what float32 loses on numbers of this size in so few steps

/// Nothing here is near a tie, which rounding could turn either way.
double oddGradient(int rank, int step, std::size_t i) {
  return gradientOf(rank, step, i) + 0.137 * gradientOf(rank + 7, step + 31, i) + 0.0113 * static_cast<double>(i);
}

/// Orthonormal DCT-II of a chunk, or its inverse.
Vector transform(const Vector& in, bool inverse) {
  Vector out(kChunk, 0.0);
  for (std::size_t k = 0; k < kChunk; ++k) {
    for (std::size_t n = 0; n < kChunk; ++n) {
      const double basis =
          std::sqrt((k == 0 ? 1.0 : 2.0) / kChunk) *
          std::cos(std::numbers::pi * (static_cast<double>(n) + 0.5) * static_cast<double>(k) / kChunk);
      (inverse ? out[n] : out[k]) += basis * (inverse ? in[k] : in[n]);
    }
  }
  return out;
}

/// Sets all but the kKeep largest components to zero; the gap below them must be clear.
void keepLargest(Vector& components) {
  Vector sizes(kChunk);
  std::transform(components.begin(), components.end(), sizes.begin(), [](double c) { return std::abs(c); });
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  ASSERT_GT(sizes[kKeep - 1] - sizes[kKeep], kClear);
  for (double& component : components) {
    component = std::abs(component) < sizes[kKeep - 1] ? 0 : component;
  }
}

/// The gradient that the optimizer sees in one step, and each rank's momentum after it.
Vector referenceStep(int step, std::vector<Vector>& momenta) {
  Vector seen(kElements);
  for (std::size_t c = 0; c < kChunks; ++c) {
    Vector sum(kChunk, 0.0), present(kChunk, 0.0);
    for (int rank = 0; rank < kRanks; ++rank) {
      Vector& momentum = momenta[static_cast<std::size_t>(rank)]; // whole chunks: the last one is filled up with zeros
      const auto at = momentum.begin() + static_cast<std::ptrdiff_t>(c * kChunk);
      for (std::size_t n = 0; n < kChunk && c * kChunk + n < kElements; ++n) {
        at[static_cast<std::ptrdiff_t>(n)] =
            kDecay * at[static_cast<std::ptrdiff_t>(n)] + learningRate(step) * oddGradient(rank, step, c * kChunk + n);
      }
      Vector components = transform(Vector(at, at + kChunk), false);
      keepLargest(components);
      const Vector sent = transform(components, true);
      for (std::size_t n = 0; n < kChunk; ++n) {
        // Beyond the end nothing is kept: the filling is zero in every step.
        if (c * kChunk + n < kElements) at[static_cast<std::ptrdiff_t>(n)] -= sent[n];
        sum[n] += components[n];
        present[n] += components[n] != 0 ? 1 : 0;
      }
    }
    for (std::size_t k = 0; k < kChunk; ++k) {
      sum[k] /= std::max(1.0, present[k]);
    }
    const Vector mean = transform(sum, true);
    for (std::size_t n = 0; n < kChunk && c * kChunk + n < kElements; ++n) {
      EXPECT_GT(std::abs(mean[n]), kClear) << "the sign must not hang on rounding";
      seen[c * kChunk + n] = mean[n] > 0 ? 1 : -1;
    }
  }
  return seen;
}

std::vector<Vector> referenceSigns() {
  std::vector<Vector> momenta(kRanks, Vector(kChunks * kChunk, 0.0)), signs;
  for (int step = 0; step < kSteps; ++step) {
    signs.push_back(referenceStep(step, momenta));
  }
  return signs;
}

struct DemoRun {
  explicit DemoRun(goss_comm_t comm) : parameters(kElements), gradient(kElements) {
    goss_comm_rank(comm, &rank);
    EXPECT_EQ(goss_sync_create(comm, "demo:decay=0.75,chunk=8,keep=3", &sync), GOSS_SUCCESS) << goss_last_error();
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = "weights";
    tensor.parameter = parameters.data();
    tensor.gradient = gradient.data();
    tensor.count = kElements;
    EXPECT_EQ(goss_sync_register(sync, &tensor, nullptr), GOSS_SUCCESS) << goss_last_error();
  }
  ~DemoRun() { goss_sync_destroy(sync); }
  DemoRun(const DemoRun&) = delete;
  DemoRun& operator=(const DemoRun&) = delete;

  Vector step(int number) {
    EXPECT_EQ(goss_sync_set_lr(sync, learningRate(number)), GOSS_SUCCESS);
    for (std::size_t i = 0; i < kElements; ++i) {
      gradient[i] = static_cast<float>(oddGradient(rank, number, i));
    }
    EXPECT_EQ(goss_sync_gradients(sync), GOSS_SUCCESS) << goss_last_error();
    EXPECT_EQ(goss_sync_step(sync), GOSS_SUCCESS) << goss_last_error();
    return {gradient.begin(), gradient.end()};
  }

  int rank = 0;
  std::vector<float> parameters, gradient;
  goss_sync_t sync = nullptr;
};

TEST(Demo, ShowsTheSignsOfTheMeanOfFastComponents) {
  const std::vector<Vector> signs = referenceSigns();
  runRanks(kRanks, [&](goss_comm_t comm, int) {
    DemoRun run(comm);
    EXPECT_EQ(goss_sync_start(run.sync), GOSS_SUCCESS) << goss_last_error();
    for (int step = 0; step < kSteps; ++step) {
      EXPECT_EQ(run.step(step), signs[static_cast<std::size_t>(step)]) << "step " << step;
    }
  });
}

TEST(Demo, KeepsItsMomentumOverARestart) {
  const std::vector<Vector> signs = referenceSigns();
  runRanks(kRanks, [&](goss_comm_t comm, int) {
    void* state = nullptr;
    std::size_t bytes = 0;
    {
      DemoRun run(comm);
      EXPECT_EQ(goss_sync_start(run.sync), GOSS_SUCCESS) << goss_last_error();
      for (int step = 0; step < kSteps / 2; ++step) {
        run.step(step);
      }
      EXPECT_EQ(goss_sync_export(run.sync, &state, &bytes), GOSS_SUCCESS) << goss_last_error();
    }
    DemoRun run(comm);
    EXPECT_EQ(goss_sync_import(run.sync, state, bytes), GOSS_SUCCESS) << goss_last_error();
    goss_free(state);
    EXPECT_EQ(goss_sync_start(run.sync), GOSS_SUCCESS) << goss_last_error();
    for (int step = kSteps / 2; step < kSteps; ++step) {
      EXPECT_EQ(run.step(step), signs[static_cast<std::size_t>(step)]) << "step " << step;
    }
  });
}

} // namespace
} // namespace goss::test
