/// Lossless coding: every bit survives, and what can be predicted becomes smaller.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "tests/compressors/harness.h"
#include "tests/golden/golden.h"

namespace goss::test {
namespace {

TEST(Lossless, KeepsEveryBitOfEveryNumber) {
  Floats values(100000);
  for (std::size_t i = 0; i < values.size(); ++i) { // all exponents, NaNs with their payloads, subnormals, both zeros
    values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i * 2654435761u));
  }
  for (const char* spec : {"lossless", "exponents"}) {
    const auto codec = codecOf(spec);
    expectSameBits(values, decode(*codec, encode(*codec, values), values.size()), spec);
  }
}

TEST(Lossless, SavesWhatExponentsRepeat) {
  const auto codec = codecOf("lossless");
  const Floats values = gaussian(1 << 18, 3);
  const double bytes = static_cast<double>(encode(*codec, values).size());
  // A Gaussian's exponents have about 2.6 bits of 8, and its 24 other bits are noise.
  EXPECT_LT(bytes, 0.84 * sizeof(float) * static_cast<double>(values.size()));
  EXPECT_GT(bytes, 0.80 * sizeof(float) * static_cast<double>(values.size()));
}

TEST(Lossless, SendsWidenedHalvesAsLessThanHalves) {
  const auto codec = codecOf("lossless");
  Floats values = gaussian(1 << 18, 4);
  for (float& value : values) {
    value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffff0000u);
  }
  EXPECT_LT(encode(*codec, values).size(), 0.75 * 2 * static_cast<double>(values.size()));
  EXPECT_LT(encode(*codec, Floats(1 << 18, 1.5f)).size(), 400u);
}

/// Bytes of `exponents` for each byte of `lossless`.
double besideZstd(const Floats& values) {
  return static_cast<double>(encode(*codecOf("exponents"), values).size()) /
         static_cast<double>(encode(*codecOf("lossless"), values).size());
}

TEST(Exponents, TakeLittleMoreThanAnEntropyCoder) {
  Floats wide = gaussian(1 << 18, 5), heavy = studentT(1 << 18, 3, 6), narrow = wide;
  for (float& value : narrow) {
    value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffff0000u);
  }
  EXPECT_LT(besideZstd(wide), 1.04);
  EXPECT_LT(besideZstd(heavy), 1.05);
  EXPECT_LT(besideZstd(layered(1 << 18, 7)), 1.05);
  EXPECT_LT(besideZstd(narrow), 1.07);
}

TEST(Exponents, StoreTilesAsTheyAreWhereNothingIsSaved) {
  Floats noise(10000), zeros(10000);
  for (std::size_t i = 0; i < noise.size(); ++i) {
    noise[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i * 2654435761u * 2246822519u));
  }
  const auto codec = codecOf("exponents");
  EXPECT_LE(encode(*codec, noise).size(), codec->maxBytes(noise.size()));
  expectSameBits(noise, decode(*codec, encode(*codec, noise), noise.size()), "noise");
  EXPECT_EQ(encode(*codec, zeros).size(), 3u);
  Floats sparse = zeros;
  for (std::size_t i = 0; i < sparse.size(); i += 97) {
    sparse[i] = static_cast<float>(i) - 5000;
  }
  expectSameBits(sparse, decode(*codec, encode(*codec, sparse), sparse.size()), "sparse");
}

// What some version of zstd wrote must be read by all: the payload of 512 elements that are 2^(i mod 3), from a file.
TEST(Lossless, ReadsWhatAnotherVersionWrote) {
  Floats values(512);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(1 << (i * i % 7 % 3));
  }
  const auto codec = codecOf("lossless");
  for (const GoldenCase& one : readGolden(GOSS_GOLDEN_FOLDER "/lossless.txt")) {
    Bytes payload(one.bytes.size());
    std::transform(one.bytes.begin(), one.bytes.end(), payload.begin(), [](char c) { return std::byte(c); });
    if (one.accept) {
      expectSameBits(values, decode(*codec, payload, values.size()), one.name);
    } else {
      EXPECT_EQ(codec->check(payload, values.size()).kind(), GOSS_ERR_PROTOCOL) << one.name;
    }
  }
  EXPECT_EQ(readGolden(GOSS_GOLDEN_FOLDER "/lossless.txt").size(), 3u) << [&] {
    const Bytes payload = encode(*codec, values);
    return toHex({reinterpret_cast<const char*>(payload.data()), payload.size()});
  }();
}

} // namespace
} // namespace goss::test
