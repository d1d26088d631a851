#include "planner/processor_share.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "platform/host.h"

namespace goss {
namespace {

std::string setOf(std::initializer_list<unsigned> processors) {
  std::string set;
  for (const unsigned processor : processors) {
    set.resize(std::max<std::size_t>(set.size(), processor / 8 + 1), '\0');
    set[processor / 8] = static_cast<char>(set[processor / 8] | 1 << processor % 8);
  }
  return set;
}

ProcessorShare share(const std::vector<std::string>& sets) { return shareOfProcessors({sets.begin(), sets.end()}); }

TEST(ProcessorShare, BoundToProcessorsOfTheirOwnIsNoCrowd) {
  EXPECT_FALSE(share({setOf({0}), setOf({1})}).oversubscribed);
  EXPECT_DOUBLE_EQ(share({setOf({0}), setOf({1})}).ranks_per_processor, 1);
  EXPECT_FALSE(share({setOf({0, 1}), setOf({0, 1})}).oversubscribed);
  EXPECT_FALSE(share({setOf({100}), setOf({3})}).oversubscribed);
  EXPECT_DOUBLE_EQ(share({setOf({0, 1, 2, 3}), setOf({2, 3})}).ranks_per_processor, 0.5);
}

TEST(ProcessorShare, MoreRanksThanProcessorsIsACrowd) {
  EXPECT_TRUE(share({setOf({0, 1}), setOf({0, 1}), setOf({0, 1})}).oversubscribed);
  EXPECT_DOUBLE_EQ(share({setOf({0, 1}), setOf({0, 1}), setOf({0, 1})}).ranks_per_processor, 1.5);
}

TEST(ProcessorShare, RanksBoundToOneProcessorAreACrowdWhateverIsLeftOver) {
  EXPECT_TRUE(share({setOf({0}), setOf({0}), setOf({1, 2, 3})}).oversubscribed);
  EXPECT_TRUE(share({setOf({0, 9}), setOf({0, 9}), setOf({9}), setOf({1, 2, 3, 4})}).oversubscribed);
  EXPECT_LT(share({setOf({0}), setOf({0}), setOf({1, 2, 3})}).ranks_per_processor, 1);
}

TEST(ProcessorShare, EarlierRanksMoveOutOfTheWay) {
  // The rank that comes last may only use processor 0, and each before it can move up by one.
  EXPECT_FALSE(share({setOf({0, 1}), setOf({0, 1, 2}), setOf({1, 2, 3}), setOf({0})}).oversubscribed);
  EXPECT_TRUE(share({setOf({0, 1}), setOf({0, 1, 2}), setOf({1, 2}), setOf({0})}).oversubscribed);
}

TEST(ProcessorShare, WhoNamesNoneHasNone) {
  EXPECT_TRUE(share({setOf({0, 1}), ""}).oversubscribed);
  EXPECT_FALSE(share({}).oversubscribed);
}

TEST(ProcessorShare, OnlyRanksOfTheHostCount) {
  std::vector<PeerCard> cards(3);
  for (PeerCard& card : cards)
    card.processors = setOf({0, 1});
  cards[0].host = cards[1].host = "here";
  cards[2].host = "there";
  EXPECT_FALSE(shareOfProcessors(cards, "here").oversubscribed);
  EXPECT_DOUBLE_EQ(shareOfProcessors(cards, "there").ranks_per_processor, 0.5);
  cards[2].host = "here";
  EXPECT_TRUE(shareOfProcessors(cards, "here").oversubscribed);
}

TEST(ProcessorShare, HundredsOfRanksAreServed) {
  std::string all(32, '\xff');
  std::vector<std::string> sets(256, all);
  EXPECT_FALSE(share(sets).oversubscribed);
  sets.push_back(all);
  EXPECT_TRUE(share(sets).oversubscribed);
}

TEST(ProcessorShare, ThisProcessMayRunSomewhere) {
  const std::string usable = platform::usableProcessors();
  ASSERT_FALSE(usable.empty());
  EXPECT_NE(usable.back(), '\0');
  EXPECT_FALSE(share({usable}).oversubscribed);
}

} // namespace
} // namespace goss
