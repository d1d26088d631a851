// What the ranks' systems have seen of their paths, as all of them plan by it.
#include "planner/round_trips.h"

#include <gtest/gtest.h>

namespace goss {
namespace {

/// One rank for each letter, on the host of that name.
std::vector<PeerCard> cardsOn(std::string_view hosts) {
  std::vector<PeerCard> cards(hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i)
    cards[i].host = hosts[i];
  return cards;
}

TEST(RoundTrips, ShortOnesAndThoseWithinAHostDoNotCount) {
  RoundTrips trips(cardsOn("aab"));
  trips.add(0, 1, 0.05);
  trips.add(0, 2, 1.9e-3);
  trips.settle();
  EXPECT_FALSE(trips.anyWide());
  EXPECT_EQ(trips.between(0, 2), 0);
  EXPECT_EQ(RoundTrips().between(0, 1), 0);
}

TEST(RoundTrips, HostsHaveTheShortestOfTheirRanks) {
  RoundTrips trips(cardsOn("abab"));
  trips.add(0, 1, 0.050);
  trips.add(2, 3, 0.041);
  trips.add(1, 2, 0.044);
  trips.settle();
  EXPECT_TRUE(trips.anyWide());
  EXPECT_EQ(trips.between(0, 1), 0.041);
  EXPECT_EQ(trips.between(3, 0), 0.041);
  EXPECT_EQ(trips.between(0, 2), 0);
}

TEST(RoundTrips, EqualButForNoiseAreMadeEqual) {
  RoundTrips trips(cardsOn("abcd"));
  const double seconds[] = {0.0702, 0.0711, 0.0700, 0.0850, 0.0705};
  int i = 0;
  for (const auto& [one, other] : {std::pair(0, 1), {0, 2}, {0, 3}, {1, 2}, {1, 3}})
    trips.add(one, other, seconds[i++]);
  trips.add(2, 3, 0.140);
  trips.settle();
  for (const auto& [one, other] : {std::pair(0, 1), {2, 0}, {0, 3}, {1, 2}, {3, 1}})
    EXPECT_EQ(trips.between(one, other), 0.0705);
  EXPECT_EQ(trips.between(2, 3), 0.140);
}

TEST(RoundTrips, ARelayedLinkIsAsLongAsTheLongestKnown) {
  RoundTrips trips(cardsOn("abc"));
  trips.add(0, 1, 0.02);
  trips.add(0, 2, 0.08);
  trips.add(1, 2, 0);
  trips.settle();
  EXPECT_EQ(trips.between(1, 2), 0.08);
  RoundTrips none(cardsOn("ab"));
  none.add(0, 1, 0);
  none.settle();
  EXPECT_FALSE(none.anyWide()) << "nothing tells that the network is wide";
}

} // namespace
} // namespace goss
