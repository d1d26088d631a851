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

TEST(GroupNames, ReplaceTheWorldRankInTheErrorsOfTransports) {
  const Group group({5, 1, 12}, 1, 20);
  const auto named = [&](const char* text, int peer, ErrorScope scope = ErrorScope::peer) {
    const Status status = group.named(Status::error(GOSS_ERR_PEER_LOST, text, scope, peer));
    EXPECT_EQ(status.peer(), peer);
    return std::string(status.text());
  };
  EXPECT_EQ(named("lost rank 5: its process ended", 5), "lost rank 0 (world rank 5): its process ended");
  EXPECT_EQ(named("rank 12", 12), "rank 2 (world rank 12)");
  EXPECT_EQ(named("rank 1 has left", 1), "rank 1 has left") << "The numbers are the same.";
  EXPECT_EQ(named("lost rank 7", 7), "lost rank 7") << "It is no member.";
  EXPECT_EQ(named("rank 0 (world rank 5) has left", 5), "rank 0 (world rank 5) has left");
  EXPECT_EQ(named("rank 51 waits", 5), "rank 51 waits");
  EXPECT_EQ(named("rank 5 is meant as a member", 5, ErrorScope::communicator), "rank 5 is meant as a member");
}

} // namespace
} // namespace goss
