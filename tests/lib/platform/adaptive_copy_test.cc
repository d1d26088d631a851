#include "platform/memory/adaptive_copy.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

namespace goss::platform {
namespace {

constexpr double kSlow_s = 2e-6;
constexpr double kFast_s = 3e-7;

TEST(AdaptiveCopy, GoesPastTheCachesWhenThreeOfEightTrialsGain) {
  AdaptiveCopy copies;
  EXPECT_FALSE(copies.pastCaches());
  for (int i = 0; i < 2; ++i) {
    copies.saw(kSlow_s, kFast_s);
    EXPECT_FALSE(copies.pastCaches()) << "another program may have had the processor";
  }
  for (int i = 0; i < 7; ++i)
    copies.saw(kFast_s, kFast_s);
  copies.saw(kSlow_s, kFast_s);
  EXPECT_FALSE(copies.pastCaches()) << "the first two are long over";
  copies.saw(kFast_s, kFast_s);
  copies.saw(kSlow_s, kFast_s);
  copies.saw(kSlow_s, kFast_s);
  EXPECT_TRUE(copies.pastCaches());
}

TEST(AdaptiveCopy, GoesBackWhenAllButOneTrialGainNothing) {
  AdaptiveCopy copies;
  for (int i = 0; i < 8; ++i)
    copies.saw(kSlow_s, kFast_s);
  for (int i = 0; i < 6; ++i) {
    copies.saw(kFast_s, kFast_s);
    EXPECT_TRUE(copies.pastCaches()) << i;
  }
  copies.saw(kFast_s, kSlow_s);
  EXPECT_FALSE(copies.pastCaches());
}

// Lengths around every limit, often enough that several trials go by.
TEST(AdaptiveCopy, MovesEveryByteEitherWay) {
  constexpr std::array<std::size_t, 9> kLengths = {0, 1, 63, 4095, 4096, 4097, 8192, 16384, 65536};
  constexpr std::byte kUntouched{0xA5};
  std::vector<std::byte> source(kLengths.back() + 64);
  for (std::size_t i = 0; i < source.size(); ++i)
    source[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  for (const bool past : {false, true}) {
    AdaptiveCopy copies;
    for (int i = 0; past && i < 3; ++i)
      copies.saw(kSlow_s, kFast_s);
    ASSERT_EQ(copies.pastCaches(), past);
    for (std::size_t round = 0; round < 40; ++round) {
      const std::size_t from = round * 7 % 64;
      const std::size_t at = round % 2 == 0 ? 48 : 64; // Behind a header, or in a line of its own.
      for (const std::size_t length : kLengths) {
        std::vector<std::byte> to(length + 128, kUntouched);
        copies.copy(to.data() + at, source.data() + from, length);
        for (std::size_t i = 0; i < to.size(); ++i) {
          const bool inside = i >= at && i < at + length;
          ASSERT_EQ(to[i], inside ? source[from + i - at] : kUntouched) << "byte " << i << " of " << length;
        }
      }
    }
  }
}

} // namespace
} // namespace goss::platform
