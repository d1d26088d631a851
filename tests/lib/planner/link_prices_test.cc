// Prices by where ranks are, and the plans that follow from them.
#include "planner/link_prices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>

#include "collectives/catalogue.h"
#include "planner/planner.h"

namespace goss {
namespace {

using platform::Place;

/// One card a place, all on one host.
std::vector<PeerCard> cardsAt(const std::vector<Place>& places) {
  std::vector<PeerCard> cards;
  for (const Place& place : places) {
    PeerCard card;
    card.host = "host";
    card.process = std::to_string(cards.size());
    card.place = place;
    cards.push_back(card);
  }
  return cards;
}

std::vector<int> allOf(const std::vector<PeerCard>& cards) {
  std::vector<int> ranks(cards.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Four ranks a package, two a cache.
std::vector<PeerCard> twoPackages() {
  std::vector<Place> places;
  for (int rank = 0; rank < 8; ++rank)
    places.push_back({rank / 4, rank / 4, rank / 2});
  return cardsAt(places);
}

/// The least price of all algorithms whose names begin with `name`, in seconds.
double leastPrice(const std::vector<Candidate>& candidates, std::string_view name) {
  double least_s = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) {
    if (candidate.algorithm->name().starts_with(name)) least_s = std::min(least_s, candidate.price_s);
  }
  return least_s;
}

std::vector<Candidate> largeAllReduces(const schedule::Links& links) {
  static const Catalogue catalogue = collectives::builtinAlgorithms(); // candidates point to its algorithms
  const Planner planner(0, links, catalogue);
  PlanKey key;
  key.count = 64u << 20;
  auto candidates = planner.candidates(key);
  EXPECT_TRUE(candidates.isOk()) << candidates.status().text();
  return candidates.isOk() ? candidates.take() : std::vector<Candidate>();
}

TEST(Levels, AreTheNearestThingThatBothShare) {
  const Place here{0, 0, 0};
  EXPECT_EQ(levelBetween(here, {0, 0, 0}), Locality::cache);
  EXPECT_EQ(levelBetween(here, {0, 0, 1}), Locality::numa);
  EXPECT_EQ(levelBetween(here, {0, 1, 1}), Locality::package) << "a package may have several memories";
  EXPECT_EQ(levelBetween(here, {1, 1, 2}), Locality::package);
  EXPECT_EQ(levelBetween(here, {1, -1, -1}), Locality::package);
  EXPECT_EQ(levelBetween(here, {0, -1, -1}), Locality::cache) << "not known: as it is measured";
  EXPECT_EQ(levelBetween(here, {}), Locality::cache);
}

TEST(Levels, FartherIsDearerAndOtherHostsAreDearest) {
  std::vector<PeerCard> cards = cardsAt({{0, 0, 0}, {0, 0, 0}, {0, 0, 1}, {1, 1, 2}});
  cards.push_back(cards[0]);
  cards[4].host = "another";
  const schedule::Links links = linksBetween(cards, allOf(cards), {});
  EXPECT_EQ(links.price(0, 1), Tuning::builtIn().shm);
  EXPECT_EQ(links.price(0, 4), Tuning::builtIn().network);
  for (int to = 1; to < 4; ++to) {
    EXPECT_LT(links.price(0, to).latency_s, to == 1 ? 0.61e-6 : links.price(0, to + 1).latency_s) << to;
    EXPECT_GT(links.price(0, to).bandwidth_bytes_per_s, links.price(0, to + 1).bandwidth_bytes_per_s) << to;
    EXPECT_EQ(links.price(0, to), links.price(to, 0));
  }
  EXPECT_EQ(links.nodeOf(0), links.nodeOf(3)) << "hosts are the nodes where there are several";
  EXPECT_NE(links.nodeOf(0), links.nodeOf(4));
}

TEST(Levels, HostsThatAreWideApartHaveTheirRoundTripAndNoPortThatOneMayBePacedBy) {
  std::vector<PeerCard> cards = cardsAt(std::vector<Place>(5));
  for (const int rank : {1, 2, 3, 4})
    cards[static_cast<std::size_t>(rank)].host = rank == 4 ? "host3" : "host" + std::to_string(rank);
  LinkRules rules;
  rules.round_trips = RoundTrips(cards);
  for (const auto& [one, other] : {std::pair(0, 1), {0, 2}, {1, 2}, {0, 3}, {1, 3}})
    rules.round_trips.add(one, other, 0.07);
  rules.round_trips.settle();
  const schedule::Links links = linksBetween(cards, allOf(cards), rules);
  EXPECT_EQ(links.price(0, 1).latency_s, 0.035);
  EXPECT_LT(links.price(0, 4).bandwidth_bytes_per_s, 0.2 * Tuning::builtIn().network.bandwidth_bytes_per_s);
  EXPECT_EQ(links.price(2, 3), Tuning::builtIn().network) << "their network is a local one";
  EXPECT_EQ(links.price(3, 4), Tuning::builtIn().shm);
  EXPECT_EQ(links.node(links.nodeOf(0)).up_bytes_per_s, 0);
  EXPECT_EQ(links.node(links.nodeOf(2)).up_bytes_per_s, Tuning::builtIn().network.bandwidth_bytes_per_s);
  EXPECT_TRUE(linksBetween(cards, {0, 1, 3}, rules).uniform());
}

TEST(Levels, HostsOfOneRankHaveOnePriceForAllPairs) {
  std::vector<PeerCard> cards = cardsAt(std::vector<Place>(6));
  for (std::size_t i = 0; i < cards.size(); ++i)
    cards[i].host = "host" + std::to_string(i);
  const schedule::Links hosts = linksBetween(cards, allOf(cards), {});
  EXPECT_TRUE(hosts.uniform());
  EXPECT_TRUE(hosts.hasOnePrice());
  EXPECT_EQ(hosts.price(0, 1), Tuning::builtIn().network);

  for (std::size_t i = 0; i < cards.size(); ++i)
    cards[i].host = "host" + std::to_string(i / 2);
  const schedule::Links pairs = linksBetween(cards, allOf(cards), {});
  EXPECT_FALSE(pairs.hasOnePrice());
  EXPECT_EQ(pairs.price(0, 1), Tuning::builtIn().shm);
  EXPECT_EQ(pairs.price(0, 2), Tuning::builtIn().network);
  EXPECT_EQ(pairs.price(5, 4), Tuning::builtIn().shm);
  const schedule::Links firsts = pairs.subset(std::vector{0, 2, 4});
  EXPECT_TRUE(firsts.uniform());
  EXPECT_TRUE(firsts.hasOnePrice());
  EXPECT_EQ(firsts.price(2, 0), Tuning::builtIn().network);
  const schedule::Links mixed = pairs.subset(std::vector{0, 2, 3, 1});
  EXPECT_EQ(mixed.price(0, 1), Tuning::builtIn().network);
  EXPECT_EQ(mixed.price(0, 3), Tuning::builtIn().shm);
  EXPECT_EQ(mixed.price(2, 1), Tuning::builtIn().shm);
  EXPECT_EQ(mixed.price(3, 2), Tuning::builtIn().network);
}

TEST(Levels, UnboundRanksAreAllAlike) {
  std::vector<PeerCard> cards = cardsAt(std::vector<Place>(8));
  EXPECT_TRUE(linksBetween(cards, allOf(cards), {}).uniform());
  cards = cardsAt(std::vector<Place>(8, Place{0, 0, -1}));
  EXPECT_TRUE(linksBetween(cards, allOf(cards), {}).uniform()) << "one package";
  cards = twoPackages();
  cards[5].place = {};
  EXPECT_EQ(linksBetween(cards, allOf(cards), {}).nodeSize(), 0) << "a rank that may be in either";
}

TEST(Levels, PackagesOfOneHostAreNodesAlsoInPartsOfAWorld) {
  const std::vector<PeerCard> cards = twoPackages();
  EXPECT_EQ(linksBetween(cards, allOf(cards), {}).nodeSize(), 4);
  EXPECT_EQ(linksBetween(cards, {0, 1, 6, 7}, {}).nodeSize(), 2);
  EXPECT_EQ(linksBetween(cards, {4, 5, 6, 7}, {}).nodeSize(), 0);
  std::vector<PeerCard> sockets = cards;
  for (PeerCard& card : sockets)
    card.addresses = {{"loopback", ""}, {"tcp", ""}};
  const schedule::Links over_sockets = linksBetween(sockets, allOf(sockets), {});
  EXPECT_TRUE(over_sockets.uniform()) << "the kernel is between them anyway";
  EXPECT_EQ(over_sockets.price(0, 7), Tuning::builtIn().tcp);
}

TEST(Levels, EachPairHasThePriceOfTheTransportThatBothOffer) {
  std::vector<PeerCard> cards = cardsAt(std::vector<Place>(5));
  for (PeerCard& card : cards)
    card.addresses = {{"loopback", ""}, {"shm", ""}, {"tcp", ""}};
  cards[0].addresses = {{"tcp", ""}};
  cards[4].process = cards[3].process;
  const Tuning built_in = Tuning::builtIn();
  const schedule::Links links = linksBetween(cards, allOf(cards), {});
  EXPECT_EQ(links.price(0, 1), built_in.tcp) << "rank 0 has no shared memory";
  EXPECT_EQ(links.price(4, 0), built_in.tcp);
  EXPECT_EQ(links.price(1, 2), built_in.shm);
  EXPECT_EQ(links.price(3, 4), built_in.loopback);
  EXPECT_EQ(links.price(2, 4), built_in.shm);
  LinkRules oversubscribed;
  oversubscribed.ranks_per_processor = 2;
  EXPECT_EQ(linksBetween(cards, {0, 1, 2}, oversubscribed).price(0, 1).bandwidth_bytes_per_s,
            built_in.tcp.bandwidth_bytes_per_s / 2);

  for (PeerCard& card : cards)
    card.addresses = {{"ucx", ""}};
  EXPECT_EQ(linksBetween(cards, allOf(cards), {}).price(3, 4), built_in.ucx) << "threads too";
  for (PeerCard& card : cards)
    card.addresses = {{"loopback", ""}, {"tls", ""}};
  EXPECT_EQ(linksBetween(cards, allOf(cards), {}).price(2, 3), built_in.tls);
  cards[4].host = "another";
  EXPECT_EQ(linksBetween(cards, allOf(cards), {}).price(3, 4).bandwidth_bytes_per_s, built_in.tls.bandwidth_bytes_per_s)
      << "no faster than it is encrypted";
}

// Among the plans that send no more than they must, those win that send most to near ranks: swing, whose first step
// moves half of the vector between two ranks of a cache, and two-level ones, for which a package is one level. That
// matters only where ranks are bound.
TEST(Levels, LargeAllReducesAcrossPackagesStayNear) {
  const std::vector<PeerCard> bound = twoPackages();
  const std::vector<Candidate> near = largeAllReduces(linksBetween(bound, allOf(bound), {}));
  const double least_s = leastPrice(near, "");
  EXPECT_LT(std::min(leastPrice(near, "swing"), leastPrice(near, "hier-")), 1.001 * least_s);
  EXPECT_LT(leastPrice(near, "hier-"), 1.1 * least_s);
  EXPECT_GT(leastPrice(near, "direct"), 1.2 * least_s);
  EXPECT_GT(leastPrice(near, "ring"), 1.5 * least_s);

  const std::vector<PeerCard> unbound = cardsAt(std::vector<Place>(8));
  const std::vector<Candidate> alike = largeAllReduces(linksBetween(unbound, allOf(unbound), {}));
  EXPECT_LT(leastPrice(alike, "direct"), 1.1 * leastPrice(alike, ""));
}

} // namespace
} // namespace goss
