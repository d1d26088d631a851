#include "survey/link_measurement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schedule/links.h"
#include "survey/link_stream.h"

namespace goss {
namespace {

TEST(LinkMeasurement, EveryPairMeetsOnceAndBothKnowIt) {
  for (int size = 2; size <= 17; ++size) {
    std::set<std::pair<int, int>> met;
    const int rounds = size + size % 2 - 1;
    for (int round = 0; round < rounds; ++round) {
      for (int rank = 0; rank < size; ++rank) {
        const int partner = partnerInRound(size, rank, round);
        ASSERT_LT(partner, size);
        ASSERT_NE(partner, rank);
        if (partner < 0) continue;
        ASSERT_EQ(partnerInRound(size, partner, round), rank) << size << " ranks, round " << round;
        if (rank < partner) {
          ASSERT_TRUE(met.emplace(rank, partner).second) << "twice";
        }
      }
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(size * (size - 1) / 2));
  }
}

TEST(LinkMeasurement, ItsTextNamesLinksThatAreRelayed) {
  std::vector<MeasuredLink> links(16, {5e-3, 100e6});
  const auto relayed = [&](std::size_t one, std::size_t other, double relay) {
    links[4 * one + other].relay = links[4 * other + one].relay = relay;
  };
  const schedule::Links before(4);
  EXPECT_EQ(linksText(links, before).find("relayed"), std::string::npos);
  relayed(1, 2, 0);
  relayed(0, 3, kRelayElsewhere);
  const std::string text = linksText(links, before);
  EXPECT_NE(text.find("# The link between rank 1 and rank 2 is relayed by rank 0.\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# The link between rank 0 and rank 3 is relayed by a rank outside of this communicator.\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("rank 2 and rank 1"), std::string::npos) << "once for both ways";
  EXPECT_TRUE(schedule::Links::parse(text, 4).isOk());
}

TEST(LinkMeasurement, ItsTextIsALinkFileOfTheSameFigures) {
  const std::vector<MeasuredLink> links = {{0, 0},         {10e-3, 12e6}, {50e-3, 1e6},  //
                                           {10e-3, 25e6},  {0, 0},        {1e-6, 9.1e9}, //
                                           {50e-3, 1.5e6}, {1e-6, 9e9},   {0, 0}};
  schedule::Links before(3, {1, 1, 7e-6, 4096, 6e9}, {3e9, 2e9});
  const auto read = schedule::Links::parse(linksText(links, before), 3);
  ASSERT_TRUE(read.isOk()) << read.status().text();
  EXPECT_DOUBLE_EQ(read.value().price(0, 1).latency_s, 10e-3);
  EXPECT_DOUBLE_EQ(read.value().price(0, 1).bandwidth_bytes_per_s, 12e6);
  EXPECT_DOUBLE_EQ(read.value().price(1, 0).bandwidth_bytes_per_s, 25e6);
  EXPECT_DOUBLE_EQ(read.value().price(1, 2).bandwidth_bytes_per_s, 9.1e9);
  EXPECT_DOUBLE_EQ(read.value().price(2, 1).latency_s, 1e-6);
  EXPECT_DOUBLE_EQ(read.value().price(2, 0).overhead_s, 7e-6);
  EXPECT_DOUBLE_EQ(read.value().price(2, 0).eager_bytes, 4096);
  EXPECT_DOUBLE_EQ(read.value().price(2, 0).sender_bytes_per_s, 6e9);
  EXPECT_EQ(read.value().cpu(), (schedule::CpuPrice{3e9, 2e9}));
  EXPECT_FALSE(read.value().uniform());
}

TEST(LinkMeasurement, EqualFiguresGiveUniformLinks) {
  std::vector<MeasuredLink> links(16, {5e-3, 100.4e6});
  links[1] = {5.04e-3, 99.6e6}; // The same values after rounding to two digits.
  const auto read = schedule::Links::parse(linksText(links, schedule::Links(4)), 4);
  ASSERT_TRUE(read.isOk()) << read.status().text();
  EXPECT_TRUE(read.value().uniform());
}

TEST(LinkMeasurement, APortIsAsFastAsThePairsThatUseItAtOnce) {
  // Two hosts of two ranks. In two rounds of three all ranks stream to the other host.
  std::vector<MeasuredLink> links(16, {1e-6, 5e9});
  for (const std::size_t from : {0, 1})
    for (const std::size_t to : {2, 3}) {
      links[from * 4 + to] = {5e-3, 10e6};
      links[to * 4 + from] = {5e-3, 20e6};
    }
  schedule::Links before(4);
  before.setNode(std::vector<int>{0, 1}, {1, 1});
  before.setNode(std::vector<int>{2, 3}, {1, 1});
  const auto read = schedule::Links::parse(linksText(links, before), 4);
  ASSERT_TRUE(read.isOk()) << read.status().text();
  ASSERT_EQ(read.value().nodeOf(0), read.value().nodeOf(1));
  ASSERT_NE(read.value().nodeOf(0), read.value().nodeOf(2));
  const schedule::NodePrice& first = read.value().node(read.value().nodeOf(0));
  EXPECT_DOUBLE_EQ(first.up_bytes_per_s, 20e6);
  EXPECT_DOUBLE_EQ(first.down_bytes_per_s, 40e6);
  EXPECT_DOUBLE_EQ(read.value().price(0, 1).bandwidth_bytes_per_s, 5e9);
}

TEST(LinkMeasurement, APortOfLongPathsIsAsFastAsAllThatWereMeasuredTogether) {
  // Two hosts of two ranks: four pairs share what joins them, and were not measured otherwise.
  std::vector<MeasuredLink> links(16, {1e-6, 5e9});
  for (const std::size_t one : {0u, 1u})
    for (const std::size_t other : {2u, 3u}) {
      links[one * 4 + other] = {50e-3, 3e6, kNoRelay, 3e6};
      links[other * 4 + one] = {50e-3, 5e6, kNoRelay, 5e6};
    }
  schedule::Links before(4);
  before.setNode(std::vector<int>{0, 1}, {1, 1});
  before.setNode(std::vector<int>{2, 3}, {1, 1});
  const auto read = schedule::Links::parse(linksText(links, before), 4);
  ASSERT_TRUE(read.isOk()) << read.status().text();
  const schedule::NodePrice& first = read.value().node(read.value().nodeOf(0));
  EXPECT_DOUBLE_EQ(first.up_bytes_per_s, 12e6);
  EXPECT_DOUBLE_EQ(first.down_bytes_per_s, 20e6);
}

/// Four ranks, each on a node of its own.
schedule::Links told(const std::vector<MeasuredLink>& links) {
  const std::string text = linksText(links, schedule::Links(4));
  auto read = schedule::Links::parse(text, 4);
  EXPECT_TRUE(read.isOk()) << read.status().text();
  return read.isOk() ? read.take() : schedule::Links(4);
}

MeasuredLink both(double alone_bytes_per_s, double together_bytes_per_s, double latency_s = 10e-3) {
  return {latency_s, std::max(alone_bytes_per_s, together_bytes_per_s), kNoRelay, together_bytes_per_s};
}

TEST(LinkMeasurement, LinksThatAreSlowTogetherShareALine) {
  std::vector<MeasuredLink> links(16, both(60e6, 20e6));
  links[1] = both(45e6, 30e6); // TCP did not find its speed, and then took more than its share.
  links[6] = both(58e6, 14e6);
  const schedule::Links read = told(links);
  EXPECT_TRUE(read.uniform());
  EXPECT_DOUBLE_EQ(read.node(read.nodeOf(2)).up_bytes_per_s, 60e6);
  EXPECT_DOUBLE_EQ(read.node(read.nodeOf(2)).down_bytes_per_s, 60e6);
  EXPECT_DOUBLE_EQ(read.price(0, 1).bandwidth_bytes_per_s, 60e6);
}

TEST(LinkMeasurement, ARankWithASlowerLineHasAPortOfItsOwn) {
  std::vector<MeasuredLink> links(16, both(60e6, 30e6));
  for (std::size_t peer = 0; peer < 3; ++peer)
    links[3 * 4 + peer] = links[peer * 4 + 3] = both(12e6, 4e6);
  const schedule::Links read = told(links);
  EXPECT_FALSE(read.uniform());
  EXPECT_DOUBLE_EQ(read.node(read.nodeOf(3)).up_bytes_per_s, 12e6);
  EXPECT_DOUBLE_EQ(read.price(0, 1).bandwidth_bytes_per_s, 60e6);
  EXPECT_DOUBLE_EQ(read.price(3, 0).bandwidth_bytes_per_s, 12e6);
}

TEST(LinkMeasurement, PathsOfTheirOwnAreNotHeldUpByAPort) {
  std::vector<MeasuredLink> links(16, both(20e6, 20e6));
  const auto pair = [&](std::size_t one, std::size_t other, double rate) {
    links[4 * one + other] = links[4 * other + one] = both(rate, 0.95 * rate);
  };
  pair(0, 1, 120e6);
  pair(2, 3, 120e6);
  pair(0, 3, 1.2e6);
  const schedule::Links read = told(links);
  for (int rank = 0; rank < 4; ++rank) {
    double all = 0;
    for (int peer = 0; peer < 4; ++peer)
      if (peer != rank) all += read.price(rank, peer).bandwidth_bytes_per_s;
    EXPECT_GE(read.node(read.nodeOf(rank)).up_bytes_per_s, all) << rank;
    EXPECT_GE(read.node(read.nodeOf(rank)).down_bytes_per_s, all) << rank;
  }
}

TEST(LinkMeasurement, NoPortIsNamedInDoubt) {
  const auto named = [](const MeasuredLink& link) {
    return linksText(std::vector<MeasuredLink>(16, link), schedule::Links(4)).find("node") != std::string::npos;
  };
  EXPECT_TRUE(named(both(60e6, 20e6)));
  EXPECT_FALSE(named(both(30e6, 30e6))) << "perhaps what lost packets left";
  EXPECT_FALSE(named(both(30e6, 24e6))) << "in between";
  EXPECT_FALSE(named(both(30e6, 10e6, 50e-3))) << "too far away to tell in so short a time";
  EXPECT_FALSE(named({10e-3, 30e6})) << "not measured together";
}

TEST(LinkMeasurement, NoPortIsNamedOfARankWithALongPathThoughOthersAreNearlyAsLong) {
  std::vector<MeasuredLink> links(16, both(30e6, 10e6, 11e-3));
  links[1] = links[4] = both(25e6, 25e6, 13e-3);
  const schedule::Links read = told(links);
  EXPECT_DOUBLE_EQ(read.price(0, 1).latency_s, 11e-3) << "alike";
  EXPECT_DOUBLE_EQ(read.node(read.nodeOf(0)).up_bytes_per_s, 0);
  EXPECT_DOUBLE_EQ(read.node(read.nodeOf(1)).down_bytes_per_s, 0);
  EXPECT_DOUBLE_EQ(read.node(read.nodeOf(2)).up_bytes_per_s, 30e6);
}

TEST(LinkMeasurement, TheBestRateIsThatOfTheFastestLongEnoughStretch) {
  // A slow start, then 100 bytes every tenth of a second, then a pause.
  const std::vector<std::uint64_t> bytes = {10, 10, 100, 100, 100, 10};
  const std::vector<double> at_s = {1.0, 2.0, 2.1, 2.2, 2.3, 4.0};
  EXPECT_NEAR(bestRate(bytes, at_s, 0.25), 1000, 1e-6);
  EXPECT_NEAR(bestRate(bytes, at_s, 1.25), 310 / 1.3, 1e-6);
  EXPECT_NEAR(bestRate(bytes, at_s, 10), 330 / 4.0, 1e-6) << "all of it, from the start";
  EXPECT_NEAR(bestRate({64}, {0.5}, 0.1), 128, 1e-6);
  EXPECT_EQ(bestRate({}, {}, 0.1), 0);
}

} // namespace
} // namespace goss
