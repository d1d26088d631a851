#include "transports/shm/bulk_stores.h"

#include <gtest/gtest.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace goss::transports::shm {
namespace {

constexpr double kSlow_s = 2e-6;
constexpr double kFast_s = 3e-7;

TEST(BulkStores, GoesPastTheCachesWhenThreeOfEightTrialsGain) {
  BulkStores stores;
  EXPECT_FALSE(stores.pastCaches());
  for (int i = 0; i < 2; ++i) {
    stores.saw(kSlow_s, kFast_s);
    EXPECT_FALSE(stores.pastCaches()) << "another program may have had the processor";
  }
  for (int i = 0; i < 7; ++i)
    stores.saw(kFast_s, kFast_s);
  stores.saw(kSlow_s, kFast_s);
  EXPECT_FALSE(stores.pastCaches()) << "the first two are long over";
  stores.saw(kFast_s, kFast_s);
  stores.saw(kSlow_s, kFast_s);
  stores.saw(kSlow_s, kFast_s);
  EXPECT_TRUE(stores.pastCaches());
}

TEST(BulkStores, GoesBackWhenAllButOneTrialGainNothing) {
  BulkStores stores;
  for (int i = 0; i < 8; ++i)
    stores.saw(kSlow_s, kFast_s);
  for (int i = 0; i < 6; ++i) {
    stores.saw(kFast_s, kFast_s);
    EXPECT_TRUE(stores.pastCaches()) << i;
  }
  stores.saw(kFast_s, kSlow_s);
  EXPECT_FALSE(stores.pastCaches());
}

// Lengths around every limit, from pieces whose ends are nowhere near those of the runs; several trials go by.
TEST(BulkStores, MovesEveryByteEitherWay) {
  constexpr std::array<std::size_t, 10> kRuns = {1, 63, 4095, 4096, 4097, 8191, 8192, 8193, 16384, 65536};
  constexpr std::size_t kRounds = 40;
  std::size_t total = 0;
  for (const std::size_t run : kRuns)
    total += run * kRounds;
  std::vector<std::byte> source(total);
  for (std::size_t i = 0; i < total; ++i)
    source[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  std::vector<iovec> pieces;
  for (std::size_t at = 0, length = 1; at < total; at += pieces.back().iov_len, length = length * 3 % 50021)
    pieces.push_back({source.data() + at, std::min(length, total - at)});

  for (const bool past : {false, true}) {
    BulkStores stores;
    for (int i = 0; past && i < 3; ++i)
      stores.saw(kSlow_s, kFast_s);
    ASSERT_EQ(stores.pastCaches(), past);
    PieceCursor from(pieces);
    constexpr std::byte kUntouched{0xA5};
    std::size_t at = 0;
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (const std::size_t run : kRuns) {
        std::vector<std::byte> to(run + 128, kUntouched);
        const std::size_t offset = round % 2 == 0 ? 48 : 64; // Behind a header, or in a line of its own.
        stores.gather(from, {to.data() + offset, run});
        ASSERT_TRUE(std::equal(to.begin() + static_cast<std::ptrdiff_t>(offset),
                               to.begin() + static_cast<std::ptrdiff_t>(offset + run),
                               source.begin() + static_cast<std::ptrdiff_t>(at)))
            << run << " bytes at " << at;
        for (std::size_t i = 0; i < to.size(); ++i)
          ASSERT_TRUE((i >= offset && i < offset + run) || to[i] == kUntouched) << i;
        at += run;
      }
    }
    EXPECT_TRUE(from.current().empty());
  }
}

} // namespace
} // namespace goss::transports::shm
