/// The reference store: intervals, cutting them anew, and its file format.
#include "state/reference_store.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

namespace goss::sync {
namespace {

constexpr ReferenceKey kKey{7, ReferenceRole::worker, 0};

std::vector<float> readAll(const ReferenceStore& store, const ReferenceKey& key, std::uint64_t first,
                           std::size_t count) {
  std::vector<float> out(count, -1);
  store.read(key, first, out);
  return out;
}

std::span<float> open(ReferenceStore& store, const ReferenceKey& key, ElementRange range) {
  Result<std::span<float>> opened = store.open(key, range);
  EXPECT_TRUE(opened.isOk()) << opened.status().text();
  return opened.take();
}

TEST(ReferenceStore, IsZeroAtFirstAndKeepsWhatIsWritten) {
  ReferenceStore store;
  const std::span<float> values = open(store, kKey, {10, 4});
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), std::vector<float>(4, 0.0f));
  std::iota(values.begin(), values.end(), 1.0f);
  EXPECT_EQ(open(store, kKey, {10, 4}).data(), values.data());
  EXPECT_EQ(readAll(store, kKey, 9, 6), (std::vector<float>{0, 1, 2, 3, 4, 0}));
}

TEST(ReferenceStore, MovesIntervalsOfARoleAndVersionToAnotherStore) {
  ReferenceStore from, to;
  open(from, kKey, {0, 2})[1] = 1;
  open(from, kKey, {2, 2})[1] = 2;
  EXPECT_TRUE(from.setVersion(kKey, {2, 2}, 5));
  constexpr ReferenceKey kOther{7, ReferenceRole::server, 0};
  open(from, kOther, {0, 1})[0] = 3;
  EXPECT_TRUE(from.setVersion(kOther, {0, 1}, 5));
  from.move(ReferenceRole::worker, 5, to);
  EXPECT_EQ(readAll(from, kKey, 0, 4), (std::vector<float>{0, 1, 0, 0}));
  EXPECT_EQ(readAll(to, kKey, 0, 4), (std::vector<float>{0, 0, 0, 2}));
  EXPECT_EQ(to.version(kKey, {2, 2}), 5U);
  from.move(ReferenceRole::server, 5, to);
  EXPECT_EQ(readAll(to, kOther, 0, 1), (std::vector<float>{3}));
  EXPECT_EQ(from.intervals(), 1U);
}

TEST(ReferenceStore, KeepsKeysApart) {
  ReferenceStore store;
  open(store, kKey, {0, 1})[0] = 1;
  open(store, {7, ReferenceRole::server, 0}, {0, 1})[0] = 2;
  open(store, {7, ReferenceRole::worker, 5}, {0, 1})[0] = 3;
  open(store, {8, ReferenceRole::worker, 0}, {0, 1})[0] = 4;
  EXPECT_EQ(readAll(store, kKey, 0, 1)[0], 1);
  store.reset({7, ReferenceRole::worker, std::nullopt});
  EXPECT_EQ(readAll(store, kKey, 0, 1)[0], 0);
  EXPECT_EQ(store.intervals(), 2u);
  store.reset({});
  EXPECT_EQ(store.intervals(), 0u);
}

// The model: a map from element to value. Any sequence of cuts must keep every value that was written last.
TEST(ReferenceStore, KeepsEveryElementHoweverItIsCut) {
  ReferenceStore store;
  std::map<std::uint64_t, float> model;
  std::uint32_t state = 99;
  const auto next = [&state](std::uint32_t below) { return (state = state * 1664525u + 1013904223u) / 256 % below; };
  for (int round = 0; round < 2000; ++round) {
    const ElementRange range{next(200), 1 + next(60)};
    const std::span<float> values = open(store, kKey, range);
    for (std::uint64_t i = 0; i < range.count; ++i) {
      ASSERT_EQ(values[i], model[range.first + i]) << "round " << round << ", element " << range.first + i;
      if (next(3) == 0) {
        model[range.first + i] = values[i] = static_cast<float>(round);
      }
    }
  }
  const std::vector<float> all = readAll(store, kKey, 0, 300);
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i], model[i]);
  }
  EXPECT_LE(store.elements(), 260u);
}

TEST(ReferenceStore, HasNoLongerWhatIsTaken) {
  ReferenceStore store;
  EXPECT_FALSE(store.holds(kKey, {0, 100}));
  const std::span<float> values = open(store, kKey, {10, 6});
  std::iota(values.begin(), values.end(), 1.0f);
  EXPECT_TRUE(store.holds(kKey, {15, 3}));
  EXPECT_FALSE(store.holds(kKey, {16, 3}));
  EXPECT_FALSE(store.holds(kKey, {12, 0}));
  std::vector<float> taken(4, -1);
  store.take(kKey, 8, taken);
  EXPECT_EQ(taken, (std::vector<float>{0, 0, 1, 2}));
  EXPECT_FALSE(store.holds(kKey, {8, 4}));
  EXPECT_EQ(readAll(store, kKey, 10, 6), (std::vector<float>{0, 0, 3, 4, 5, 6}));
  store.take(kKey, 12, std::span(taken));
  EXPECT_EQ(taken, (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(store.intervals(), 0u);
}

TEST(ReferenceStore, CountsVersionsOfExactSlots) {
  ReferenceStore store;
  open(store, kKey, {0, 8});
  EXPECT_EQ(store.version(kKey, {0, 8}), 0u);
  EXPECT_TRUE(store.setVersion(kKey, {0, 8}, 5));
  EXPECT_EQ(store.version(kKey, {0, 8}), 5u);
  EXPECT_FALSE(store.setVersion(kKey, {0, 4}, 6));
  EXPECT_EQ(store.version(kKey, {0, 4}), std::nullopt);
}

TEST(ReferenceStore, RefusesRangesBeyondEveryTensor) {
  ReferenceStore store;
  EXPECT_EQ(store.open(kKey, {~0ull, 2}).status().kind(), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(store.open(kKey, {0, 1ull << 62}).status().kind(), GOSS_ERR_RESOURCE);
  EXPECT_TRUE(store.open(kKey, {5, 0}).isOk());
}

std::string exampleBytes() {
  ReferenceStore store;
  open(store, kKey, {4, 2})[1] = 1.5f;
  open(store, kKey, {6, 1})[0] = -2;
  open(store, {9, ReferenceRole::neighbour, 12}, {0, 1})[0] = 3;
  store.setVersion(kKey, {4, 2}, 11);
  return store.exportAll();
}

TEST(ReferenceStore, ComesBackFromItsBytes) {
  ReferenceStore store;
  ASSERT_TRUE(store.importAll(exampleBytes()).isOk());
  EXPECT_EQ(readAll(store, kKey, 4, 3), (std::vector<float>{0, 1.5f, -2}));
  EXPECT_EQ(store.version(kKey, {4, 2}), 11u);
  EXPECT_EQ(store.exportAll(), exampleBytes());
}

TEST(ReferenceStore, RefusesDamagedBytesAndStaysAsItWas) {
  const std::string good = exampleBytes();
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    ReferenceStore store;
    open(store, kKey, {0, 1})[0] = 4;
    EXPECT_EQ(store.importAll(bad).kind(), GOSS_ERR_PROTOCOL) << i;
    EXPECT_EQ(store.importAll(std::string_view(good).substr(0, i)).kind(), GOSS_ERR_PROTOCOL) << i;
    EXPECT_EQ(readAll(store, kKey, 0, 1)[0], 4);
  }
}

} // namespace
} // namespace goss::sync
