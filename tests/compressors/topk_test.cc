/// Exact top-k beside its definition, where it finds the cut by a sample and where the sample deceives; and what
/// sampled top-k delivers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/compressors/harness.h"
#include "tests/support/quick.h"

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

/// Vectors of which a sample tells little.
struct Odd {
  const char* name;
  Floats values;
};

std::vector<Odd> oddVectors() {
  Floats scattered(kElems);
  for (std::size_t i = 17; i < kElems; i += 2000)
    scattered[i] = i % 3 == 0 ? -1.5f : 0.5f;
  Floats rows(kElems); // The gradient of an embedding: a few of its rows.
  const Floats normal = gaussian(kElems, 6);
  for (const std::size_t row : {3, 170, 171, 900, 1561})
    std::copy_n(normal.begin(), 64, rows.begin() + static_cast<std::ptrdiff_t>(row * 64));
  Floats signs = gaussian(kElems, 7);
  for (float& value : signs)
    value = std::copysign(0.25f, value);
  Floats tail = gaussian(kElems, 8);
  for (std::size_t i = kElems - kElems / 10; i < kElems; ++i)
    tail[i] *= 10;
  return {{"scattered", scattered}, {"rows", rows},       {"equal", Floats(kElems, 0.125f)},
          {"signs", signs},         {"heavy tail", tail}, {"normal", normal}};
}

TEST(TopK, RefusesPayloadsOfFewerElements) {
  const Bytes payload = encode(*codecOf("topk:ratio=0.1,select=exact+none"), gaussian(100, 1));
  EXPECT_FALSE(codecOf("topk:ratio=0.2,select=exact+none")->check(payload, 100).isOk());
  EXPECT_TRUE(codecOf("topk:ratio=0.2,select=sampled+none")->check(payload, 100).isOk());
}

TEST(SampledTopK, SendsFourFifthsOfWhatItMayOrMoreAndTheLargest) {
  for (const Odd& odd : oddVectors()) {
    for (const char* ratio : {"0.001", "0.01", "0.2"}) {
      const auto k = static_cast<std::size_t>(std::ceil(std::stod(ratio) * static_cast<double>(kElems)));
      for (const compressors::Loops& loops : compressors::availableLoops()) {
        const auto codec = codecOf("topk:ratio=" + std::string(ratio) + ",select=sampled", loops);
        const std::vector<std::uint32_t> taken = selected(*codec, odd.values);
        EXPECT_GE(5 * taken.size(), 4 * k) << odd.name << ", ratio " << ratio << ", " << loops.isa;
        EXPECT_EQ(taken, largest(odd.values, taken.size())) << odd.name << ", ratio " << ratio << ", " << loops.isa;
      }
    }
  }
}

/// || what `steps` equal gradients still owe || / || one gradient ||.
double owed(const Codec& codec, const Floats& gradient, std::uint32_t steps) {
  Floats residual(gradient.size());
  std::vector<double> sum(gradient.size());
  for (std::uint32_t step = 0; step < steps; ++step) {
    EncodeCase what{gradient};
    what.residual = &residual;
    what.step = step;
    const Floats sent = decode(codec, DecodeCase{{encode(codec, what)}, Floats(gradient.size()), {}, 1, step});
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += static_cast<double>(sent[i]);
  }
  double left = 0, whole = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    left += std::pow(steps * static_cast<double>(gradient[i]) - sum[i], 2);
    whole += std::pow(static_cast<double>(gradient[i]), 2);
  }
  return std::sqrt(left / whole);
}

// What k of n elements leave is at most sqrt(1 - k/n) of a vector; so feedback never owes more than the sum of that
// series (Karimireddy et al. 2019, arXiv 1901.09847, lemma 3).
TEST(SampledTopK, WithFeedbackOwesABoundedNumberOfGradients) {
  const std::uint32_t steps = fullOr(60U, 15U);
  for (const char* spec : {"topk:ratio=0.05,select=exact", "topk:ratio=0.05,select=sampled"}) {
    const auto codec = codecOf(spec);
    const double left = std::sqrt(1 - 0.8 * 0.05);
    for (const Odd& odd : oddVectors())
      EXPECT_LE(owed(*codec, odd.values, steps), left / (1 - left)) << spec << ", " << odd.name;
  }
  for (const char* name : {"scattered", "rows"}) // Both vectors are zero below the threshold of the ratio.
    for (const Odd& odd : oddVectors())
      if (odd.name == std::string(name)) {
        EXPECT_EQ(owed(*codecOf("topk:ratio=0.01,select=sampled"), odd.values, 20), 0) << name;
      }
}

TEST(SampledTopK, SendsAllPartsOfAVectorAlike) {
  const auto codec = codecOf("topk:ratio=0.01,select=sampled");
  std::array<double, 10> tenths{};
  double all = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    for (const std::uint32_t index : selected(*codec, gaussian(kElems, 100 + seed))) {
      tenths[index * std::size_t{10} / kElems] += 1;
      all += 1;
    }
  }
  for (const double tenth : tenths) // 40,000 in all, so that one in 25 is many deviations.
    EXPECT_NEAR(tenth / all, 0.1, 0.01);
}

} // namespace
} // namespace goss::test
