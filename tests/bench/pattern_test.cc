/// The validator of goss-bench: right results pass, and each kind of wrong one is counted.
#include "bench/suite/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "bench/suite/collective_table.h"

namespace goss::bench {
namespace {

TEST(Pattern, WholeNumbersAreEncodedAsTheFormatsDefine) {
  EXPECT_EQ(encodeWhole(GOSS_FLOAT16, 1), 0x3c00u);
  EXPECT_EQ(encodeWhole(GOSS_FLOAT16, -2), 0xc000u);
  EXPECT_EQ(encodeWhole(GOSS_BFLOAT16, 3), 0x4040u);
  EXPECT_EQ(encodeWhole(GOSS_FLOAT8_E4M3, 16), 0x58u);
  EXPECT_EQ(encodeWhole(GOSS_FLOAT8_E5M2, 5), 0x45u);
  EXPECT_EQ(encodeWhole(GOSS_FLOAT64, 0), 0u);
  EXPECT_EQ(encodeWhole(GOSS_INT8, -1) & 0xff, 0xffu);
  for (const float value : {1.0f, 7.0f, 100.0f, 16777216.0f}) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    EXPECT_EQ(encodeWhole(GOSS_FLOAT32, static_cast<std::int64_t>(value)), bits);
  }
}

/// Sums the inputs of all ranks as plain integers.
std::vector<std::int32_t> summed(const Pattern& pattern, int ranks, std::size_t count) {
  std::vector<std::int32_t> sum(count), part(count);
  for (int rank = 0; rank < ranks; ++rank) {
    pattern.fill(part.data(), rank, 0, count);
    for (std::size_t i = 0; i < count; ++i) {
      sum[i] += part[i];
    }
  }
  return sum;
}

TEST(Pattern, ARightSumPassesAndEveryWrongElementIsCounted) {
  constexpr std::size_t kCount = 5000;
  const Pattern pattern(GOSS_INT32, GOSS_SUM, 4, 1);
  std::vector<std::int32_t> sum = summed(pattern, 4, kCount);
  EXPECT_EQ(pattern.wrong(sum.data(), 0, 4, 0, kCount), 0u);
  for (const std::size_t i : {std::size_t{0}, Pattern::kPeriod, kCount - 1}) {
    sum[i] += 1;
  }
  EXPECT_EQ(pattern.wrong(sum.data(), 0, 4, 0, kCount), 3u);
}

TEST(Pattern, AMissingRankAMissingRoundAndAShiftedBlockAreSeen) {
  constexpr std::size_t kCount = 3000;
  const Pattern pattern(GOSS_INT32, GOSS_SUM, 4, 1);
  EXPECT_GT(pattern.wrong(summed(pattern, 3, kCount).data(), 0, 4, 0, kCount), kCount / 2);
  EXPECT_GT(pattern.wrong(summed(Pattern(GOSS_INT32, GOSS_SUM, 4, 0), 4, kCount).data(), 0, 4, 0, kCount), kCount / 2);
  EXPECT_GT(pattern.wrong(summed(pattern, 4, kCount).data() + 1, 0, 4, 0, kCount - 1), kCount / 2);
  EXPECT_EQ(pattern.wrong(summed(pattern, 4, kCount).data() + 1, 0, 4, 1, kCount - 1), 0u);
}

/// Partial sums must stay exact, else a right answer could look wrong: checked in the narrowest type at many sizes.
TEST(Pattern, SumsStayWithinTheExactNumbersForAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 7, 8, 9, 64, 1000}) {
    for (const goss_op op : {GOSS_SUM, GOSS_PREMUL_SUM}) {
      const Pattern pattern(GOSS_FLOAT8_E5M2, op, ranks, 3);
      std::vector<unsigned char> part(200);
      std::vector<int> sum(part.size());
      for (int rank = 0; rank < ranks; ++rank) {
        pattern.fill(part.data(), rank, 0, part.size());
        for (std::size_t i = 0; i < part.size(); ++i) {
          for (int value = 0; value <= 8; ++value) {
            sum[i] += encodeWhole(GOSS_FLOAT8_E5M2, value) == part[i] ? value * (op == GOSS_PREMUL_SUM ? 2 : 1) : 0;
          }
        }
      }
      EXPECT_LE(*std::max_element(sum.begin(), sum.end()), exactLimit(GOSS_FLOAT8_E5M2)) << ranks;
      EXPECT_GT(*std::max_element(sum.begin(), sum.end()), 0) << ranks;
    }
  }
  EXPECT_THROW(Pattern(GOSS_FLOAT8_E5M2, GOSS_AVG, 9, 0), std::invalid_argument);
}

TEST(Pattern, LogicalAndBitwiseResultsAreThoseOfTheInputs) {
  constexpr std::size_t kCount = 50;
  const Pattern truth(GOSS_BOOL, GOSS_LAND, 3, 1), bits(GOSS_INT32, GOSS_BXOR, 3, 1);
  std::vector<unsigned char> all(kCount, 1), some(kCount);
  std::vector<std::int32_t> odd(kCount), word(kCount);
  for (int rank = 0; rank < 3; ++rank) {
    truth.fill(some.data(), rank, 0, kCount);
    bits.fill(word.data(), rank, 0, kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      all[i] &= some[i];
      odd[i] ^= word[i];
    }
  }
  EXPECT_EQ(truth.wrong(all.data(), 0, 3, 0, kCount), 0u);
  EXPECT_GT(std::count(all.begin(), all.end(), 1), 0);
  EXPECT_GT(std::count(all.begin(), all.end(), 0), 0);
  EXPECT_EQ(bits.wrong(odd.data(), 0, 3, 0, kCount), 0u);
}

/// A result that is right but for one swapped pair of blocks, for a collective that gathers.
TEST(WrongElements, SwappedBlocksOfAnAllGatherAreSeen) {
  constexpr std::size_t kCount = 10;
  const CollectiveSpec& spec = collectiveSpecs()[3];
  ASSERT_STREQ(spec.name, "allgather");
  const Shape shape = shapeOf(spec, kCount, 0, 3);
  EXPECT_EQ(shape.send, kCount);
  EXPECT_EQ(shape.recv, 3 * kCount);
  const Pattern pattern(GOSS_INT32, GOSS_SUM, 1, 0);
  std::vector<std::int32_t> recv(3 * kCount);
  for (int source = 0; source < 3; ++source) {
    pattern.fill(recv.data() + static_cast<std::size_t>(source) * kCount, source, 0, kCount);
  }
  CollectiveCall call;
  call.collective = spec.collective;
  call.recv = recv.data();
  call.dtype = GOSS_INT32;
  EXPECT_EQ(wrongElements(call, shape, pattern, 0, 3), 0u);
  std::swap_ranges(recv.begin(), recv.begin() + kCount, recv.begin() + kCount);
  EXPECT_EQ(wrongElements(call, shape, pattern, 0, 3), 2 * kCount);
}

} // namespace
} // namespace goss::bench
