// The other compressed collectives: all ranks that get a block get the same bits, and these are near the values sent.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/lib/execution/compressed/harness.h"

namespace goss::test {
namespace {

constexpr int kRanks = 4;
constexpr std::size_t kCount = 1500;
/// int8 in blocks of 256 normal numbers: peaks of about 3 in 127 steps lose 5e-5 of the squares; once more in sums.
constexpr double kInt8Error = 1.2e-4;

goss_options int8() {
  goss_options options = GOSS_OPTIONS_INIT;
  options.codec = "int8";
  options.tensor = 3;
  return options;
}

Floats part(const Floats& values, std::size_t index) {
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(index * kCount);
  return {first, first + static_cast<std::ptrdiff_t>(kCount)};
}

TEST(CompressedCollectives, AllGatherGivesAllTheSameBits) {
  std::vector<Floats> results(kRanks);
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    const goss_options options = int8();
    const Floats mine = contribution(rank, kCount);
    Floats& all = results[static_cast<std::size_t>(rank)];
    all.resize(kRanks * kCount);
    ASSERT_EQ(goss_all_gather(comm, mine.data(), all.data(), kCount, GOSS_FLOAT32, &options, nullptr), GOSS_SUCCESS)
        << goss_last_error();
    for (int r = 0; r < kRanks; ++r)
      EXPECT_LT(errorOf(contribution(r, kCount), part(all, static_cast<std::size_t>(r))), kInt8Error);
  });
  for (const Floats& result : results)
    EXPECT_EQ(result, results[0]);
}

TEST(CompressedCollectives, BroadcastChangesTheRootToo) {
  std::vector<Floats> results(kRanks);
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    const goss_options options = int8();
    Floats& values = results[static_cast<std::size_t>(rank)];
    values = contribution(rank, kCount);
    ASSERT_EQ(goss_broadcast(comm, values.data(), values.data(), kCount, GOSS_FLOAT32, 2, &options, nullptr),
              GOSS_SUCCESS)
        << goss_last_error();
    EXPECT_LT(errorOf(contribution(2, kCount), values), kInt8Error);
  });
  for (const Floats& result : results)
    EXPECT_EQ(result, results[0]);
}

TEST(CompressedCollectives, ReduceScatterAddsInFullPrecision) {
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    const goss_options options = int8();
    const Floats mine = contribution(rank, kRanks * kCount);
    Floats block(kCount), exact(kCount);
    ASSERT_EQ(goss_reduce_scatter(comm, mine.data(), block.data(), kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_SUCCESS)
        << goss_last_error();
    for (int r = 0; r < kRanks; ++r) {
      const Floats other = part(contribution(r, kRanks * kCount), static_cast<std::size_t>(rank));
      for (std::size_t i = 0; i < kCount; ++i)
        exact[i] += other[i];
    }
    EXPECT_LT(errorOf(exact, block), kInt8Error);
  });
}

TEST(CompressedCollectives, AllToAllDecodesEachBlock) {
  for (const char* codec : {"int8", "randk:ratio=1+int8", "none"}) {
    runRanks(kRanks, [&](goss_comm_t comm, int rank) {
      goss_options options = int8();
      options.codec = codec;
      Floats blocks = contribution(rank, kRanks * kCount); // In place.
      ASSERT_EQ(goss_all_to_all(comm, blocks.data(), blocks.data(), kCount, GOSS_FLOAT32, &options, nullptr),
                GOSS_SUCCESS)
          << goss_last_error();
      for (int r = 0; r < kRanks; ++r) {
        const Floats sent = part(contribution(r, kRanks * kCount), static_cast<std::size_t>(rank));
        EXPECT_LT(errorOf(sent, part(blocks, static_cast<std::size_t>(r))), kInt8Error) << codec;
      }
    });
  }
}

TEST(CompressedCollectives, ReduceGatherAndScatterFallOut) {
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    const goss_options options = int8();
    Floats values = contribution(rank, kCount);
    ASSERT_EQ(goss_reduce(comm, values.data(), values.data(), kCount, GOSS_FLOAT32, GOSS_SUM, 1, &options, nullptr),
              GOSS_SUCCESS)
        << goss_last_error();
    Floats all(kRanks * kCount);
    const Floats mine = contribution(rank, kCount);
    ASSERT_EQ(goss_gather(comm, mine.data(), all.data(), kCount, GOSS_FLOAT32, 0, &options, nullptr), GOSS_SUCCESS);
    Floats back(kCount);
    ASSERT_EQ(goss_scatter(comm, all.data(), back.data(), kCount, GOSS_FLOAT32, 0, &options, nullptr), GOSS_SUCCESS);
    EXPECT_LT(errorOf(mine, back), kInt8Error) << "there and back with the same scales";
  });
}

TEST(CompressedCollectives, TakeBlocksOfDifferentSizes) {
  std::vector<Floats> results(3);
  runRanks(3, [&](goss_comm_t comm, int rank) {
    const std::size_t counts[] = {700, 0, 33};
    const goss_options options = int8();
    const Floats mine = contribution(rank, counts[rank]);
    Floats& all = results[static_cast<std::size_t>(rank)];
    all.resize(733);
    ASSERT_EQ(goss_all_gatherv(comm, mine.data(), all.data(), counts, nullptr, GOSS_FLOAT32, &options, nullptr),
              GOSS_SUCCESS)
        << goss_last_error();
    EXPECT_LT(errorOf(contribution(0, 700), Floats(all.begin(), all.begin() + 700)), kInt8Error);
  });
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(results[2], results[0]);
}

TEST(CompressedCollectives, MayBePersistentAndConcurrent) {
  runRanks(3, [&](goss_comm_t comm, int rank) {
    goss_options options = int8();
    options.flags = GOSS_PERSISTENT;
    Floats first = contribution(rank, kCount), second = first, sum(kCount), other(kCount);
    goss_request_t requests[2] = {nullptr, nullptr};
    ASSERT_EQ(goss_all_reduce(comm, first.data(), sum.data(), kCount, GOSS_FLOAT32, GOSS_SUM, &options, &requests[0]),
              GOSS_SUCCESS);
    ASSERT_EQ(
        goss_all_reduce(comm, second.data(), other.data(), kCount, GOSS_FLOAT32, GOSS_SUM, &options, &requests[1]),
        GOSS_SUCCESS);
    for (int round = 0; round < 3; ++round) {
      ASSERT_EQ(goss_start(requests[0]), GOSS_SUCCESS);
      ASSERT_EQ(goss_start(requests[1]), GOSS_SUCCESS);
      ASSERT_EQ(goss_wait_all(requests, 2), GOSS_SUCCESS);
      EXPECT_EQ(sum, other) << "round " << round;
    }
    goss_request_free(&requests[0]);
    goss_request_free(&requests[1]);
  });
}

} // namespace
} // namespace goss::test
