/// Conversions between dtypes, exhaustive for the formats of 8 and 16 bits.
#include <gtest/gtest.h>

#include <bit>

#include "kernels/kernels.h"
#include "kernels/table.h"
#include "tests/lib/kernels/reference.h"

namespace goss::kernels {
namespace {

using goss::testing::SmallFormat;
using goss::testing::smallFormat;

constexpr std::array<DType, 4> kSmall = {GOSS_FLOAT16, GOSS_BFLOAT16, GOSS_FLOAT8_E4M3, GOSS_FLOAT8_E5M2};

/// Every float32 that could tell a wrong rounding from the right one: each value of the format, each midpoint between
/// two and the float32 on either side of it, both signs, the ends of float32 and NaNs; then a stride through all bit
/// patterns.
std::vector<float> telltales(const SmallFormat& format) {
  std::vector<float> floats = {0.0f,
                               std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::denorm_min(),
                               std::numeric_limits<float>::quiet_NaN(),
                               std::bit_cast<float>(0x7f800001u),
                               std::bit_cast<float>(0x7fffffffu)};
  const auto& values = format.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const long double next = i + 1 < values.size() ? values[i + 1] : 2 * values[i] - values[i - 1];
    const auto middle = static_cast<float>((values[i] + next) / 2);
    floats.insert(floats.end(), {static_cast<float>(values[i]), middle, std::nextafter(middle, 0.0f),
                                 std::nextafter(middle, std::numeric_limits<float>::infinity())});
  }
  for (std::size_t i = 0, n = floats.size(); i < n; ++i) {
    floats.push_back(-floats[i]);
  }
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += 65521) { // a prime
    floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return floats;
}

template <typename Bits>
void checkNarrowing(const Table& table, DType dtype) {
  const SmallFormat& format = *smallFormat(dtype);
  const std::vector<float> floats = telltales(format);
  std::vector<Bits> small(floats.size());
  table.narrow[dtype](small.data(), floats.data(), floats.size());
  for (std::size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(small[i], format.encode(floats[i])) << table.isa << ", float32 " << std::hexfloat << floats[i];
  }
}

template <typename Bits>
void checkWidening(const Table& table, DType dtype) {
  const SmallFormat& format = *smallFormat(dtype);
  std::vector<Bits> small(std::size_t{1} << (8 * sizeof(Bits)));
  for (std::size_t i = 0; i < small.size(); ++i) {
    small[i] = static_cast<Bits>(i);
  }
  std::vector<float> floats(small.size());
  table.widen[dtype](floats.data(), small.data(), small.size());
  std::vector<float> narrowest(small.size());
  availableTables().front().widen[dtype](narrowest.data(), small.data(), small.size());
  ASSERT_EQ(0, std::memcmp(floats.data(), narrowest.data(), 4 * floats.size())) << table.isa; // also the NaNs
  for (std::size_t i = 0; i < small.size(); ++i) {
    const auto expected = static_cast<float>(format.decode(small[i]));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(floats[i])) << table.isa << ", pattern " << i;
      ASSERT_EQ(std::signbit(floats[i]), std::signbit(expected));
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]), std::bit_cast<std::uint32_t>(expected))
          << table.isa << " " << i;
    }
  }
}

TEST(Conversion, NarrowingRoundsToNearestEvenOnEveryInstructionSet) {
  for (const Table& table : availableTables()) {
    checkNarrowing<std::uint16_t>(table, GOSS_FLOAT16);
    checkNarrowing<std::uint16_t>(table, GOSS_BFLOAT16);
    checkNarrowing<std::uint8_t>(table, GOSS_FLOAT8_E4M3);
    checkNarrowing<std::uint8_t>(table, GOSS_FLOAT8_E5M2);
  }
}

TEST(Conversion, WideningIsExactForEveryPatternOnEveryInstructionSet) {
  for (const Table& table : availableTables()) {
    checkWidening<std::uint16_t>(table, GOSS_FLOAT16);
    checkWidening<std::uint16_t>(table, GOSS_BFLOAT16);
    checkWidening<std::uint8_t>(table, GOSS_FLOAT8_E4M3);
    checkWidening<std::uint8_t>(table, GOSS_FLOAT8_E5M2);
  }
}

TEST(Conversion, Float8E4M3SaturatesAndE5M2Overflows) {
  const std::array<float, 4> in = {1e9f, -1e9f, std::numeric_limits<float>::infinity(), 464.5f};
  std::array<std::uint8_t, 4> out{};
  convert(GOSS_FLOAT8_E4M3, out.data(), GOSS_FLOAT32, in.data(), in.size());
  EXPECT_EQ(out, (std::array<std::uint8_t, 4>{0x7e, 0xfe, 0x7e, 0x7e}));
  convert(GOSS_FLOAT8_E5M2, out.data(), GOSS_FLOAT32, in.data(), in.size());
  EXPECT_EQ(out, (std::array<std::uint8_t, 4>{0x7c, 0xfc, 0x7c, 0x5f}));
}

/// All pairs, on random patterns and edge cases; a double or a 64-bit integer must not be rounded twice.
TEST(Conversion, EveryPairMatchesTheReference) {
  constexpr std::size_t kCount = 500;
  for (int from = 0; from < GOSS_DTYPE_COUNT; ++from) {
    const auto source = static_cast<DType>(from);
    goss::testing::Bytes in = goss::testing::randomElements(source, kCount, 7);
    for (int to = 0; to < GOSS_DTYPE_COUNT; ++to) {
      const auto target = static_cast<DType>(to);
      const std::size_t wide = goss::testing::width(target), narrow = goss::testing::width(source);
      goss::testing::Bytes out(kCount * wide), expected(kCount * wide);
      convert(target, out.data(), source, in.data(), kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        goss::testing::referenceConvert(target, expected.data() + i * wide, source, in.data() + i * narrow);
        const unsigned char* got = out.data() + i * wide;
        const bool both_nan = goss::testing::isFloating(target) && std::isnan(goss::testing::load(target, got)) &&
                              std::isnan(goss::testing::load(target, expected.data() + i * wide));
        ASSERT_TRUE(both_nan || std::memcmp(got, expected.data() + i * wide, wide) == 0)
            << goss::testing::dtypeName(source) << " to " << goss::testing::dtypeName(target) << ", value "
            << goss::testing::load(source, in.data() + i * narrow) << " gave " << goss::testing::load(target, got);
      }
    }
  }
}

TEST(Conversion, DoublesNearATieAreRoundedOnce) {
  for (const DType dtype : kSmall) {
    const auto& values = smallFormat(dtype)->values();
    for (std::size_t i = values.size() / 2; i + 1 < values.size(); i += 1 + values.size() / 300) {
      const auto middle = static_cast<double>((values[i] + values[i + 1]) / 2);
      for (const double value : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300)}) {
        std::uint16_t out = 0;
        convert(dtype, &out, GOSS_FLOAT64, &value, 1);
        ASSERT_EQ(out, smallFormat(dtype)->encode(value)) << goss::testing::dtypeName(dtype) << std::hexfloat << value;
      }
    }
  }
}

} // namespace
} // namespace goss::kernels
