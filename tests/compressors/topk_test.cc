/// Exact top-k beside its definition, where it finds the cut by a sample and where the sample deceives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/compressors/harness.h"

namespace goss::test {
namespace {

/// The k first of the indices by falling magnitude, then by place; NaNs are the largest.
std::vector<std::uint32_t> largest(const Floats& values, std::size_t k) {
  const auto magnitude = [&](std::uint32_t i) {
    return std::isnan(values[i]) ? std::numeric_limits<float>::infinity() : std::fabs(values[i]);
  };
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return magnitude(a) > magnitude(b); });
  order.resize(k);
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<std::uint32_t> selected(const Codec& codec, const Floats& values) {
  const Bytes payload = encode(codec, values);
  std::vector<std::uint32_t> indices(values.size());
  const auto held = codec.selected(payload, values.size(), randomness(0).shared, 0, indices);
  EXPECT_TRUE(held.isOk()) << held.status().text();
  indices.resize(held.isOk() ? held.value() : 0);
  return indices;
}

void expectLargest(const Floats& values, const char* what) {
  for (const char* ratio : {"0.001", "0.01", "0.2", "0.6"}) {
    const auto k = static_cast<std::size_t>(std::ceil(std::stod(ratio) * static_cast<double>(values.size())));
    const std::vector<std::uint32_t> expected = largest(values, k);
    for (const compressors::Loops& loops : compressors::availableLoops()) { // each gathers in its own way
      const auto codec = codecOf("topk:ratio=" + std::string(ratio), loops);
      EXPECT_EQ(selected(*codec, values), expected) << what << ", ratio " << ratio << ", " << loops.isa;
    }
  }
}

constexpr std::size_t kElems = 100'003; // No multiple of what is looked at together.

TEST(TopK, SelectsTheLargestOfLongVectors) {
  expectLargest(gaussian(kElems, 1), "normal");
  Floats layers = gaussian(kElems, 2);
  for (std::size_t i = kElems / 3; i < kElems / 2; ++i)
    layers[i] *= 1000;
  expectLargest(layers, "layers of different scale");
}

TEST(TopK, SelectsTheFirstOfEqualOnes) {
  expectLargest(Floats(kElems), "zeros");
  Floats coarse = gaussian(kElems, 3);
  for (float& value : coarse)
    value = std::round(value * 2);
  expectLargest(coarse, "few different magnitudes");
}

TEST(TopK, IsNotDeceivedByUnevenVectors) {
  Floats end(kElems); // All that is large lies together.
  for (std::size_t i = kElems - 1500; i < kElems; ++i)
    end[i] = static_cast<float>(i);
  expectLargest(end, "large at the end");
  for (const std::size_t apart : {32, 80, 160}) { // Whatever places are looked at, for some they are special.
    Floats striped = gaussian(kElems, 4);
    for (std::size_t i = 0; i < kElems; ++i)
      striped[i] *= i % apart < 16 ? 100.0f : 1.0f;
    expectLargest(striped, "stripes");
    for (std::size_t i = 0; i < kElems; ++i)
      striped[i] = i % apart < 16 ? 0.0f : striped[i];
    expectLargest(striped, "gaps");
  }
}

TEST(TopK, FillsUpWithZeros) {
  for (const std::size_t apart :
       {90, 300, 40'000}) { // More than, about as many as and far fewer than one in a hundred.
    Floats sparse(kElems);
    for (std::size_t i = 5; i < kElems; i += apart)
      sparse[i] = static_cast<float>(i % 1000) + 1;
    expectLargest(sparse, "mostly zeros");
  }
}

TEST(TopK, SelectsNotANumberFirst) {
  Floats values = gaussian(kElems, 5);
  values[7] = values[90'000] = std::numeric_limits<float>::quiet_NaN();
  expectLargest(values, "NaN");
}

} // namespace
} // namespace goss::test
