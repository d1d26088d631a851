/// The random streams: known answers of Philox, and that streams never meet.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/philox.h"

namespace goss::kernels {
namespace {

void expectWords(const Random128& got, const std::vector<std::uint32_t>& words) {
  EXPECT_EQ(std::vector<std::uint32_t>({got.word0, got.word1, got.word2, got.word3}), words);
}

// The test vectors that the authors published for philox4x32-10: counter, key, result.
TEST(Philox, GivesTheKnownAnswers) {
  expectWords(philox(StreamKey{{0, 0}, 0, 0}, 0), {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  expectWords(philox(StreamKey{{0xffffffff, 0xffffffff}, 0xffffffff, 0xffffffff}, 0xffffffffffffffff),
              {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  expectWords(philox(StreamKey{{0xa4093822, 0x299f31d0}, 0x13198a2e, 0x03707344}, 0x85a308d3243f6a88),
              {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(RandomStreams, DifferInEveryPartOfTheirName) {
  const RandomContext base{1, 2, 3, 4};
  std::vector<StreamKey> keys = {SharedStream(base).key()};
  for (const RandomContext& other :
       {RandomContext{9, 2, 3, 4}, RandomContext{1, 9, 3, 4}, RandomContext{1, 2, 9, 4}, RandomContext{1, 2, 3, 9}}) {
    keys.push_back(SharedStream(other).key());
  }
  for (std::uint32_t rank = 0; rank < 100; ++rank) {
    keys.push_back(PrivateStream(base, rank).key());
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(keys[i] == keys[j]) << i << " and " << j;
    }
  }
}

TEST(RandomStreams, Are16UniformBitsAnElement) {
  const StreamKey key = PrivateStream({5, 0, 0, 0}, 3).key();
  constexpr std::uint64_t kCount = 1 << 16;
  double sum = 0, neighbours = 0, before = 0;
  std::vector<int> buckets(16);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double uniform = (random16(key, i) + 0.5) / 65536 - 0.5;
    sum += uniform;
    neighbours += uniform * before;
    before = uniform;
    ++buckets[random16(key, i) >> 12];
  }
  EXPECT_LT(std::abs(sum / kCount), 6 * std::sqrt(1.0 / 12 / kCount));
  EXPECT_LT(std::abs(neighbours / kCount), 6 * std::sqrt(1.0 / 144 / kCount));
  for (const int bucket : buckets) {
    EXPECT_NEAR(bucket, kCount / 16.0, 6 * std::sqrt(kCount / 16.0));
  }
}

} // namespace
} // namespace goss::kernels
