/// The cosine transform of DeMo's codec, beside its definition, and the mean in the transform's domain.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/compressors/harness.h"

namespace goss::test {
namespace {

// A single cosine of the transform has one coefficient.
TEST(Dct, SendsACosineAsOneCoefficient) {
  const auto codec = codecOf("dct:chunk=64,keep=1");
  for (const int frequency : {0, 1, 17, 63}) {
    Floats values(128);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double place = static_cast<double>(i % 64) + 0.5;
      values[i] = static_cast<float>(std::cos(std::numbers::pi * place * frequency / 64));
    }
    EXPECT_LT(normalizedError(values, decode(*codec, encode(*codec, values), values.size())), 1e-10) << frequency;
  }
}

// The transform is orthonormal: with all coefficients nothing but rounding is lost, and what is dropped is what is
// lost.
TEST(Dct, KeepsEnergy) {
  const Floats values = gaussian(4096, 3);
  const auto all = codecOf("dct:chunk=64,keep=64");
  EXPECT_LT(normalizedError(values, decode(*all, encode(*all, values), values.size())), 1e-12);
  double before = 1;
  for (const char* spec : {"dct:chunk=64,keep=1", "dct:chunk=64,keep=8", "dct:chunk=64,keep=32"}) {
    const auto codec = codecOf(spec);
    const Floats decoded = decode(*codec, encode(*codec, values), values.size());
    double kept = 0, whole = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      kept += static_cast<double>(decoded[i]) * decoded[i];
      whole += static_cast<double>(values[i]) * values[i];
    }
    const double error = normalizedError(values, decoded);
    EXPECT_NEAR(error, 1 - kept / whole, 1e-5);
    EXPECT_LT(error, before);
    before = error;
  }
}

TEST(Dct, AveragesOverThoseThatSentACoefficient) {
  const auto codec = codecOf("dct:chunk=8,keep=1");
  const Floats level(8, 3.0f);
  Floats wave(8);
  for (std::size_t i = 0; i < 8; ++i) {
    wave[i] = static_cast<float>(std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) * 2 / 8));
  }
  const Bytes one = encode(*codec, level), two = encode(*codec, wave), three = encode(*codec, Floats(8, 5.0f));
  const Floats mean = decode(*codec, {{one, two, three}, Floats(8), DecodeMode::meanOfPresent});
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(mean[i], 4.0f + wave[i], 1e-5); // the level twice, the wave once
  }
}

} // namespace
} // namespace goss::test
