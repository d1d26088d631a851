#include "mesh/group.h"

#include <gtest/gtest.h>

#include <numeric>

namespace goss {
namespace {

TEST(Group, TranslatesRanksOfTheWorld) {
  const Group group({5, 0, 3}, 3, 6);
  EXPECT_EQ(group.rank(), 2);
  EXPECT_EQ(group.size(), 3);
  EXPECT_EQ(group.worldRank(0), 5);
  EXPECT_EQ(group.rankOfWorld(5), 0);
  EXPECT_EQ(group.rankOfWorld(4), -1);
  EXPECT_EQ(group.rankOfWorld(6), -1);
  EXPECT_EQ(group.rankOfWorld(-1), -1);
  EXPECT_EQ(group.others(), std::vector<int>({0, 1}));
}

TEST(Group, NamesTheWorldRankWhereItDiffers) {
  const Group group({0, 3}, 0, 4);
  EXPECT_EQ(group.nameOf(0), "rank 0");
  EXPECT_EQ(group.nameOf(1), "rank 1 (world rank 3)");
  EXPECT_EQ(group.namesOf({1}), "rank 1 (world rank 3)");
  EXPECT_EQ(group.namesOf({0, 1}), "ranks 0, 1 (world rank 3)");
}

TEST(Group, NamesNoMoreThanSixteenRanks) {
  std::vector<int> ranks(20);
  std::iota(ranks.begin(), ranks.end(), 0);
  const Group group(ranks, 0, 20);
  EXPECT_EQ(group.namesOf(ranks), "ranks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 4 more");
}

} // namespace
} // namespace goss
