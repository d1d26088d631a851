/// Layers get what sends the fewest bytes within the budget: beside trying everything.
#include "compressors/allocation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/compressors/harness.h"

namespace goss::test {
namespace {

using compressors::allocateAsUniform;
using compressors::allocateWithinBudget;
using compressors::LayerOptions;
using compressors::measureLayer;

double sumOf(const std::vector<LayerOptions>& layers, const std::vector<std::size_t>& chosen,
             double compressors::LayerOption::*what) {
  double sum = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    sum += layers[i][chosen[i]].*what;
  }
  return sum;
}

TEST(Allocation, FindsWhatTryingEverythingFinds) {
  std::mt19937 engine(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<LayerOptions> layers(5);
    for (LayerOptions& layer : layers) {
      for (int bits = 1; bits <= 4; ++bits) { // errors are whole ten-thousandths of the budget: nothing is rounded
        layer.push_back({"", bits * static_cast<double>(1 + engine() % 50), static_cast<double>(engine() % 4000)});
      }
    }
    double best = 1e300;
    for (std::size_t code = 0; code < 1024; ++code) {
      std::vector<std::size_t> chosen(5);
      for (std::size_t i = 0; i < 5; ++i) {
        chosen[i] = code >> (2 * i) & 3;
      }
      if (sumOf(layers, chosen, &compressors::LayerOption::error) <= 10000) {
        best = std::min(best, sumOf(layers, chosen, &compressors::LayerOption::bytes));
      }
    }
    const auto found = allocateWithinBudget(layers, 10000);
    if (best == 1e300) {
      EXPECT_EQ(found.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
      continue;
    }
    ASSERT_TRUE(found.isOk());
    EXPECT_LE(sumOf(layers, found.value(), &compressors::LayerOption::error), 10000);
    EXPECT_EQ(sumOf(layers, found.value(), &compressors::LayerOption::bytes), best);
  }
}

// The paper's point: what a uniform choice loses in small layers is spent where it saves most.
TEST(Allocation, SendsLessThanAUniformChoiceOfTheSameError) {
  const std::vector<std::string> specs = {"int2:block=64", "int4:block=128", "int6:block=256", "int8:block=256"};
  std::vector<LayerOptions> layers;
  for (std::uint32_t i = 0; i < 12; ++i) {
    Floats values = gaussian(i % 3 == 0 ? 40000 : 2000, i + 1);
    for (float& value : values) {
      value *= std::exp2(static_cast<float>(i % 5) - 2);
    }
    auto measured = measureLayer(values, specs);
    ASSERT_TRUE(measured.isOk()) << measured.status().text();
    layers.push_back(measured.take());
  }
  const std::vector<std::size_t> uniform(layers.size(), 1);
  const auto chosen = allocateAsUniform(layers, 1);
  ASSERT_TRUE(chosen.isOk()) << chosen.status().text();
  EXPECT_LE(sumOf(layers, chosen.value(), &compressors::LayerOption::error),
            sumOf(layers, uniform, &compressors::LayerOption::error));
  EXPECT_LT(sumOf(layers, chosen.value(), &compressors::LayerOption::bytes),
            0.99 * sumOf(layers, uniform, &compressors::LayerOption::bytes));
}

TEST(Allocation, KnowsItsLimits) {
  const std::vector<LayerOptions> layers = {{{"a", 1, 5}, {"b", 2, 0}}};
  EXPECT_EQ(allocateWithinBudget(layers, 0).value(), std::vector<std::size_t>{1}); // nothing may be lost
  EXPECT_EQ(allocateWithinBudget(layers, 5).value(), std::vector<std::size_t>{0});
  EXPECT_FALSE(allocateWithinBudget(layers, -1).isOk());
  EXPECT_FALSE(allocateWithinBudget(std::vector<LayerOptions>{{}}, 1).isOk());
  EXPECT_FALSE(allocateAsUniform(layers, 2).isOk());
  EXPECT_TRUE(allocateWithinBudget({}, 1).value().empty());
  const std::vector<std::string> specs = {"int8", "powersgd"};
  EXPECT_FALSE(measureLayer(Floats(10), specs).isOk());
}

} // namespace
} // namespace goss::test
