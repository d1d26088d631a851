/// Normalised squared errors on 2^20 Gaussian elements, against the figures measured with the published
/// implementations' arithmetic (tails_test.cc has those of heavy tails), and what sparsifiers lose.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/compressors/harness.h"

namespace goss::test {
namespace {

constexpr std::size_t kElems = 1 << 20;

double errorOf(const std::string& spec, const Floats& values) {
  const auto codec = codecOf(spec);
  return normalizedError(values, decode(*codec, encode(*codec, values), values.size()));
}

struct Expected {
  const char* spec;
  double bytes_per_elem;
  double gaussian;
};

class Quality : public testing::TestWithParam<Expected> {};

TEST_P(Quality, MatchesThePublishedArithmetic) {
  static const Floats values = gaussian(kElems, 77);
  const Expected& expected = GetParam();
  // Figures are published with two digits: half a unit of the second one besides the 5 %.
  const double unit = std::pow(10.0, std::floor(std::log10(expected.gaussian)) - 1);
  const double error = errorOf(expected.spec, values);
  RecordProperty("error", std::to_string(error));
  EXPECT_NEAR(error, expected.gaussian, 0.05 * expected.gaussian + unit / 2) << expected.spec;
  const auto codec = codecOf(expected.spec);
  const double bytes = static_cast<double>(encode(*codec, values).size()) / kElems;
  EXPECT_NEAR(bytes, expected.bytes_per_elem, 0.002 * bytes + 1e-3) << expected.spec;
}

INSTANTIATE_TEST_SUITE_P(
    Gaussian, Quality,
    testing::Values(Expected{"minmaxuint8", 1.000, 1.2e-4}, Expected{"int8:block=512,mode=minmax", 1.016, 4.8e-5},
                    Expected{"int4:block=512,mode=minmax", 0.516, 1.4e-2},
                    Expected{"int4:block=512,mode=minmax,round=stochastic", 0.516, 2.8e-2},
                    Expected{"int4:block=128,mode=minmax", 0.563, 1.0e-2}, Expected{"qsgd", 1.031, 1.3e-3},
                    Expected{"terngrad", 0.25, 1.01}, Expected{"sign:norm=l2", 0.125, 0.40},
                    Expected{"sign:norm=l1", 0.125, 0.36}, Expected{"uniform8", 1.001, 2.5e-4},
                    Expected{"dynamic8", 1.001, 1.7e-4}, Expected{"int4:block=2048", 0.502, 1.7e-2},
                    Expected{"int4:block=128", 0.531, 1.1e-2}, Expected{"int8:block=2048", 1.002, 6.7e-5},
                    Expected{"mxfp8", 1.031, 7.0e-4}, Expected{"mxfp4", 0.531, 1.3e-2}, Expected{"e4m3", 1, 7.0e-4},
                    Expected{"natural", 1, 8.2e-2}));

/// Figures of the same arithmetic in numpy, in double, on other draws.
INSTANTIATE_TEST_SUITE_P(GaussianInNumpy, Quality,
                         testing::Values(Expected{"mxfp6:element=e2m3", 0.781, 8.0e-4},
                                         Expected{"mxfp6:element=e3m2", 0.781, 2.9e-3},
                                         Expected{"mxint8", 1.031, 6.8e-5}, Expected{"nf4:block=64", 0.563, 8.5e-3},
                                         Expected{"nvfp4", 0.563, 9.1e-3},
                                         Expected{"hadamard:chunk=256+int4:block=128", 0.531, 1.07e-2},
                                         Expected{"hadamard:chunk=64+int2:block=64", 0.313, 0.156}));

TEST(QualityOfHeavyTails, SmallBlocksKeepSmallLayersAlive) {
  const Floats layers = layered(kElems, 80);
  EXPECT_LT(30 * errorOf("int8:block=256", layers), errorOf("minmaxuint8", layers));
  EXPECT_LT(30 * errorOf("int8:block=256", layers), errorOf("uniform8", layers));
}

// In numpy: 0.0388 and 0.0095, 0.233 and 0.137.
TEST(QualityOfHeavyTails, RotationsSpreadOutliers) {
  const Floats values = studentT(kElems, 3, 83);
  EXPECT_LT(3 * errorOf("hadamard:chunk=256+int4:block=128", values), errorOf("int4:block=128", values));
  EXPECT_LT(errorOf("hadamard:chunk=64+int2:block=64", values), 0.15);
  EXPECT_GT(errorOf("int2:block=64", values), 0.2);
}

// What top-k loses is what is left when the largest are taken away: no selection of k loses less.
TEST(QualityOfSparsifiers, ExactTopKLosesTheLeast) {
  const Floats values = studentT(kElems, 3, 81);
  Floats squares(values);
  for (float& value : squares) {
    value *= value;
  }
  std::sort(squares.begin(), squares.end());
  const std::size_t kept = (kElems + 99) / 100;
  double lost = 0, whole = 0;
  for (std::size_t i = 0; i < squares.size(); ++i) {
    whole += squares[i];
    lost += i < squares.size() - kept ? squares[i] : 0;
  }
  EXPECT_NEAR(errorOf("topk:ratio=0.01", values), lost / whole, 1e-5);
  const double sampled = errorOf("topk:ratio=0.01,select=sampled", values);
  EXPECT_GE(sampled, lost / whole - 1e-9);
  EXPECT_LT(sampled, lost / whole * 1.1);
}

// log2(100) + log2(e) bits are the least for one of a hundred.
TEST(QualityOfSparsifiers, PackedIndicesTakeLittleMoreThanTheyMust) {
  const Floats values = gaussian(kElems, 84);
  const double held = kElems / 100.0, values_bytes = 4 * held;
  const auto indexBits = [&](const char* spec) {
    return (static_cast<double>(encode(*codecOf(spec), values).size()) - values_bytes) * 8 / held;
  };
  EXPECT_LT(indexBits("topk:ratio=0.01,indices=packed+none"), 8.65);
  EXPECT_GT(indexBits("topk:ratio=0.01,indices=packed+none"), 8.08);
  EXPECT_GT(indexBits("topk:ratio=0.01+none"), 16);
}

TEST(QualityOfSparsifiers, CocktailSendsAsManyBytesAsItsAuthorsSay) {
  const Floats values = gaussian(kElems, 82);
  const double bytes = static_cast<double>(encode(*codecOf("cocktail"), values).size()) / kElems;
  EXPECT_NEAR(bytes, 0.0228, 0.0228 * 0.05);
}

TEST(Natural, EndsAtTheLargestAndTheSmallestOfItsPowers) {
  const Floats values = {0x1p17f, 0x1p18f, -3e38f, 0x1p-108f, 0x1p-110f, -0.0f};
  const Floats expected = {0x1p17f, 0x1p17f, -0x1p17f, 0x1p-108f, 0, 0};
  const auto codec = codecOf("natural:round=nearest");
  expectSameBits(decode(*codec, encode(*codec, values), values.size()), expected, "natural");
}

} // namespace
} // namespace goss::test
