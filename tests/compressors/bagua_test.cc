// MinMaxUInt8 beside its published formulas, written out here in plain arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/compressors/harness.h"

namespace goss::test {
namespace {

/// One chunk: minimum and maximum, zeros up to 32 bytes, then codes, zeros up to a multiple of 32.
Bytes referenceBytes(const Floats& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const float scale = 255.0f / (*high - *low + 1e-7f);
  const float upper = std::nearbyint(*high * scale);
  const float lower = upper - 255.0f;
  Bytes bytes(32 + (values.size() + 31) / 32 * 32);
  std::memcpy(bytes.data(), &*low, sizeof(float));
  std::memcpy(bytes.data() + sizeof(float), &*high, sizeof(float));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float level = std::min(std::nearbyint(values[i] * scale), upper);
    // With a range of nearly zero `upper` has no units left and the difference may be 256, which the published
    // conversion leaves undefined; the codec saturates.
    bytes[32 + i] = static_cast<std::byte>(static_cast<std::uint8_t>(std::clamp(level - lower, 0.0f, 255.0f)));
  }
  return bytes;
}

Floats referenceValues(const Bytes& bytes, std::size_t count) {
  float low = 0, high = 0;
  std::memcpy(&low, bytes.data(), sizeof low);
  std::memcpy(&high, bytes.data() + sizeof low, sizeof high);
  const float scale = 255.0f / (high - low + 1e-7f);
  const float lower = std::nearbyint(high * scale) - 255.0f;
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = (static_cast<float>(std::to_integer<int>(bytes[32 + i])) + lower) / scale;
  return values;
}

void expectAsReference(const Floats& values, const std::string& what) {
  const auto codec = codecOf("minmaxuint8");
  const Bytes expected = referenceBytes(values), found = encode(*codec, values);
  EXPECT_EQ(found, expected) << what;
  expectSameBits(decode(*codec, found, values.size()), referenceValues(expected, values.size()), what);
}

TEST(MinMaxUint8, GivesThePublishedBytes) {
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{31}, std::size_t{32}, std::size_t{1000}, std::size_t{70001}}) {
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      expectAsReference(gaussian(count, seed), "normal");
      expectAsReference(studentT(count, 3, seed), "heavy tails");
      expectAsReference(layered(count, seed), "layers");
      Floats shifted = gaussian(count, seed);
      for (float& value : shifted)
        value = 3 + 0.1f * value;
      expectAsReference(shifted, "far from zero");
      for (float& value : shifted)
        value = -1e-3f * value;
      expectAsReference(shifted, "small and negative");
    }
  }
  expectAsReference(Floats(100, 0.0f), "zeros");
  expectAsReference(Floats(100, 2.5f), "equal");
}

} // namespace
} // namespace goss::test
