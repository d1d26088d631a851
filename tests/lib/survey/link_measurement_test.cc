#include "survey/link_measurement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
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
  return {latency_s, std::max(alone_bytes_per_s, together_bytes_per_s), kNoRelay, together_bytes_per_s,
          alone_bytes_per_s};
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

TEST(LinkMeasurement, PathsOfManySpeedsKeepThemHoweverSlowTheyAreTogether) {
  // Regions in a row, the farther the slower. Together flows had no more than a processor could encrypt.
  std::vector<MeasuredLink> links(16);
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to) {
      const double alone = 96e6 / std::exp2(std::abs(from - to));
      if (from != to)
        links[static_cast<std::size_t>(4 * from + to)] = both(alone, 0.65 * alone, 40e-3 * std::abs(from - to));
    }
  links[3].alone_bytes_per_s = links[12].alone_bytes_per_s = 0; // These were not measured alone.
  const schedule::Links read = told(links);
  EXPECT_DOUBLE_EQ(read.price(0, 3).bandwidth_bytes_per_s, 12e6);
  EXPECT_DOUBLE_EQ(read.price(0, 1).bandwidth_bytes_per_s, 48e6);
  EXPECT_GE(read.node(read.nodeOf(0)).up_bytes_per_s, 84e6);
  EXPECT_GE(read.node(read.nodeOf(1)).up_bytes_per_s, 78e6) << "two fast flows may share a line";
}

TEST(LinkMeasurement, SlowFlowsBesideFastOnesDoNotHideASharedLine) {
  // Two continents of three hosts: 120 MB/s inside and 12 between, where windows are too small. All lines have 125
  // MB/s.
  std::vector<MeasuredLink> links(36);
  for (std::size_t from = 0; from < 6; ++from)
    for (std::size_t to = 0; to < 6; ++to) {
      const bool near = from / 3 == to / 3;
      if (from != to) links[6 * from + to] = near ? both(120e6, 45e6, 10e-3) : both(12e6, 11e6, 70e-3);
    }
  const auto read = schedule::Links::parse(linksText(links, schedule::Links(6)), 6);
  ASSERT_TRUE(read.isOk()) << read.status().text();
  EXPECT_DOUBLE_EQ(read.value().node(read.value().nodeOf(1)).up_bytes_per_s, 120e6);
  EXPECT_DOUBLE_EQ(read.value().price(0, 4).bandwidth_bytes_per_s, 12e6);
}

TEST(LinkMeasurement, FlowsBetweenNearRanksSayNothingOfLines) {
  // Ranks 0 and 1, 2 and 3 are near. The lines have 24 MB/s.
  std::vector<MeasuredLink> links(25, both(24e6, 8e6, 35e-3));
  for (const std::size_t near : {1, 5, 13, 17})
    links[near] = {0.2e-3, 1e9, kNoRelay, 0, 1e9};
  const auto read = schedule::Links::parse(linksText(links, schedule::Links(5)), 5);
  ASSERT_TRUE(read.isOk()) << read.status().text();
  EXPECT_LE(read.value().node(read.value().nodeOf(4)).up_bytes_per_s, 32e6);
  EXPECT_GT(read.value().node(read.value().nodeOf(4)).up_bytes_per_s, 0);
}

TEST(LinkMeasurement, LinesAreEqualWhereTheFastestFlowsOfAllAre) {
  // 24 MB/s each. Packets got lost: alone some flows found half of it, and together those of rank 0 next to nothing.
  std::vector<MeasuredLink> links(16, both(13e6, 6e6, 35e-3));
  for (const std::size_t pair : {1, 6, 11, 12})
    links[pair] = both(22e6, 12e6, 35e-3);
  for (const std::size_t pair : {1, 2, 3})
    links[pair].together_bytes_per_s = 1e6;
  const schedule::Links read = told(links);
  EXPECT_TRUE(read.uniform());
  EXPECT_GE(read.node(read.nodeOf(2)).up_bytes_per_s, 22e6);
  EXPECT_LE(read.node(read.nodeOf(2)).up_bytes_per_s, 24e6);
}

TEST(LinkMeasurement, FlowsThatLostPacketsByChanceDoNotMakeLinesUnequal) {
  // 24 MB/s each, of which flows that send 0.5 % of their bytes again have found what they could in their time.
  constexpr std::array kFound = {13.3e6, 12.7e6, 6.6e6,  8.5e6,  15.9e6, 5.2e6,
                                 13.8e6, 14.2e6, 25.9e6, 23.0e6, 6.9e6,  27e6};
  const auto linksThatResent = [&](double resent) {
    std::vector<MeasuredLink> links(16);
    std::size_t next = 0;
    for (std::size_t pair = 0; pair < links.size(); ++pair) {
      if (pair % 5 == 0) continue;
      links[pair] = both(kFound.at(next++), 5e6, 35e-3);
      links[pair].resent = resent;
    }
    return links;
  };
  const schedule::Links read = told(linksThatResent(0.005));
  EXPECT_TRUE(read.uniform());
  EXPECT_NEAR(read.node(read.nodeOf(2)).up_bytes_per_s, 27e6, 0.5e6);
  const auto remarks = [&](double resent) {
    return linksText(linksThatResent(resent), schedule::Links(4)).find("# Packets got lost") != std::string::npos;
  };
  EXPECT_TRUE(remarks(0.005));
  EXPECT_FALSE(remarks(0.1));
  EXPECT_FALSE(told(linksThatResent(0.1)).uniform()); // These filled their paths, which differ.
  EXPECT_FALSE(told(linksThatResent(0)).uniform());
}

TEST(LinkMeasurement, NoPortIsNamedInDoubt) {
  const auto named = [](const MeasuredLink& link) {
    return linksText(std::vector<MeasuredLink>(16, link), schedule::Links(4)).find("node") != std::string::npos;
  };
  EXPECT_TRUE(named(both(60e6, 20e6)));
  EXPECT_FALSE(named(both(30e6, 30e6))) << "perhaps what lost packets left";
  EXPECT_FALSE(named(both(30e6, 24e6))) << "in between";
  EXPECT_TRUE(named(both(30e6, 10e6, 150e-3))) << "however long the way is";
  EXPECT_FALSE(named({10e-3, 30e6, kNoRelay, 0, 30e6})) << "not measured together";
  EXPECT_FALSE(named({10e-3, 10e6, kNoRelay, 10e6})) << "not measured alone";
}

TEST(LinkMeasurement, OneRoundOfPairsAloneTellsWhichRanksHaveALine) {
  // All links carry a third of the line, and those of the pairs 0 and 3, 1 and 2 were measured alone, too.
  MeasuredLink share = both(0, 8e6, 35e-3);
  std::vector<MeasuredLink> links(16, share);
  for (const std::size_t pair : {3, 6, 9, 12})
    links[pair] = both(23e6, 7.9e6, 35e-3);
  const schedule::Links read = told(links);
  EXPECT_TRUE(read.uniform());
  EXPECT_DOUBLE_EQ(read.node(read.nodeOf(1)).up_bytes_per_s, 24e6);
  EXPECT_DOUBLE_EQ(read.price(0, 1).bandwidth_bytes_per_s, 24e6) << "not measured alone, but it has the same lines";
}

TEST(LinkMeasurement, ARankMayHaveASlowLineOutAndAFastOneIn) {
  // Rank 0 sends at 3.6 MB/s and receives at 24, the others at 36 both ways. Pairs 0 and 3, 1 and 2 were alone.
  std::vector<MeasuredLink> links(16, both(0, 14e6, 35e-3));
  for (const std::size_t peer : {1, 2, 3}) {
    links[peer] = both(0, 1.2e6, 35e-3);
    links[4 * peer] = both(0, 8e6, 35e-3);
  }
  links[3] = both(3.6e6, 1.2e6, 35e-3);
  links[12] = both(24e6, 8e6, 35e-3);
  links[6] = links[9] = both(36e6, 14e6, 35e-3);
  const schedule::Links read = told(links);
  EXPECT_DOUBLE_EQ(read.node(read.nodeOf(0)).up_bytes_per_s, 3.6e6);
  EXPECT_DOUBLE_EQ(read.node(read.nodeOf(0)).down_bytes_per_s, 24e6);
  EXPECT_DOUBLE_EQ(read.node(read.nodeOf(1)).up_bytes_per_s, 36e6);
}

TEST(LinkMeasurement, RatesThatHadNotSettledAreNamed) {
  std::vector<MeasuredLink> links(16, both(60e6, 20e6));
  links[1].spread = 0.4;
  const std::string text = linksText(links, schedule::Links(4));
  EXPECT_NE(text.find("# The rate from rank 0 to rank 1 varied by 40 % while it was measured.\n"), std::string::npos);
  EXPECT_EQ(text.find("rank 1 to rank 0"), std::string::npos);
  EXPECT_TRUE(schedule::Links::parse(text, 4).isOk());
}

TEST(LinkMeasurement, ItsTextSaysHowSureItIsOfLinesAndRoundTrips) {
  std::vector<MeasuredLink> links(16, both(60e6, 20e6));
  for (MeasuredLink& link : links)
    link.together_spread = 0.12;
  links[2].round_trip_spread = 0.5;
  const std::string text = linksText(links, schedule::Links(4));
  EXPECT_NE(text.find("# The round trip between rank 0 and rank 2 varied by 50 % while it was measured.\n"),
            std::string::npos);
  EXPECT_NE(
      text.find("# The line out of rank 3 is shared: together its links had 33 % of their rates alone, and varied "
                "by 12 %.\n"),
      std::string::npos)
      << text;
  EXPECT_TRUE(schedule::Links::parse(text, 4).isOk());
  EXPECT_EQ(linksText(std::vector<MeasuredLink>(16, both(30e6, 30e6)), schedule::Links(4)).find("is shared"),
            std::string::npos);
}

TEST(LinkMeasurement, EveryRankStreamsToOneAloneAtAnyDelay) {
  for (int size = 3; size <= 17; ++size) {
    for (const double round_trip_s : {0.003, 0.1, 0.6}) {
      for (int rank = 0; rank < size; ++rank) {
        double most_s = 0;
        double all_s = 0;
        for (int round = 0; round < size + size % 2 - 1; ++round) {
          if (partnerInRound(size, rank, round) < 0) continue;
          const double alone_s = timeAlone(round_trip_s, size, round);
          most_s = std::max(most_s, alone_s);
          all_s += alone_s;
        }
        EXPECT_GE(most_s, 13 * round_trip_s) << size << " ranks, rank " << rank;
        EXPECT_LE(all_s, std::max(10.0, 2 * 13 * round_trip_s) + 1e-9) << size << " ranks, rank " << rank;
      }
    }
  }
}

/// A flow that arrives every 5 ms; its speed doubles in each of so many round trips until it is `bytes_per_s`.
Arrivals flowOf(double bytes_per_s, double round_trip_s, double span_s, double doublings = 7) {
  Arrivals flow;
  constexpr double kEvery_s = 5e-3;
  for (double at_s = round_trip_s; at_s < span_s; at_s += kEvery_s) {
    const double share = std::min(1.0, std::exp2(at_s / round_trip_s - 1 - doublings));
    flow.bytes.push_back(static_cast<std::uint64_t>(bytes_per_s * kEvery_s * share));
    flow.at_s.push_back(at_s);
  }
  return flow;
}

TEST(LinkStream, SlowFlowsBesideFastOnesHaveTheirOwnRates) {
  // Two sites: 118 MB/s and 2 ms inside, twice 9.65 MB/s and 120 ms between. Scaled with all flows to what was
  // received in the best moments, the latter would come out as 3 MB/s or less.
  const double span_s = 1.4;
  const std::vector<Arrivals> flows = {flowOf(118e6, 2e-3, span_s), flowOf(9.65e6, 0.12, span_s),
                                       flowOf(9.65e6, 0.12, span_s)};
  const auto rates = ratesTogether({&flows[0], &flows[1], &flows[2]}, span_s);
  ASSERT_EQ(rates.size(), 3u);
  EXPECT_NEAR(rates[0].bytes_per_s, 118e6, 3e6);
  EXPECT_NEAR(rates[1].bytes_per_s, 9.65e6, 0.4e6);
  EXPECT_NEAR(rates[2].bytes_per_s, 9.65e6, 0.4e6);
  EXPECT_LT(rates[1].spread, 0.5);
}

TEST(LinkStream, FlowsThatShareALineAddUpToIt) {
  // They take turns: while one has 16 MB/s, the other has 8.
  Arrivals flows[2];
  for (int i = 0; i < 200; ++i)
    for (int flow : {0, 1}) {
      flows[flow].bytes.push_back(i / 10 % 2 == flow ? 160'000 : 80'000);
      flows[flow].at_s.push_back(0.01 * (i + 1));
    }
  const auto rates = ratesTogether({&flows[0], &flows[1]}, 2);
  EXPECT_NEAR(rates[0].bytes_per_s + rates[1].bytes_per_s, 24e6, 1e6);
}

TEST(LinkStream, AFlowThatHardlyArrivedHasASmallRate) {
  Arrivals slow{{16384}, {0.3}};
  const Arrivals fast = flowOf(10e6, 0.02, 1);
  const auto rates = ratesTogether({&slow, &fast}, 1);
  EXPECT_GT(rates[0].bytes_per_s, 0);
  EXPECT_LT(rates[0].bytes_per_s, 60e3);
  EXPECT_GE(rates[0].spread, 1) << "nobody should trust it";
  EXPECT_NEAR(rates[1].bytes_per_s, 10e6, 1e6);
  const Arrivals none;
  EXPECT_GT(rateAlone(none, 0.1).bytes_per_s, 0) << "a link file refuses 0";
}

TEST(LinkStream, AFlowHasSettledWhenItsRateGrowsNoMore) {
  const Arrivals flow = flowOf(24e6, 0.07, 2);
  EXPECT_FALSE(hasSettled(flow, 0.07, 0.3)) << "too soon to tell";
  EXPECT_FALSE(hasSettled(flow, 0.07, 0.8)) << "it was slow a few round trips ago";
  EXPECT_TRUE(hasSettled(flow, 0.07, 1.1));
  EXPECT_FALSE(hasSettled(flowOf(24e6, 0.07, 2, 14), 0.07, 0.9)) << "on its way to a faster line";
  EXPECT_FALSE(hasSettled({}, 0.07, 2));
  EXPECT_NEAR(rateAlone(flow, 0.07).bytes_per_s, 24e6, 1e6);
  EXPECT_LT(rateAlone(flow, 0.07).spread, 0.1);
  EXPECT_GT(rateAlone(flowOf(24e6, 0.07, 0.5), 0.07).spread, 0.5) << "it has not";
}

TEST(LinkStream, WhatTheSystemSawIsTheRateButForItsBestMoments) {
  SeenRates seen; // It doubles in each round trip, reaches the line, and once looks faster than that.
  for (int i = 0; i < 100; ++i) {
    seen.at_s.push_back(0.01 * i);
    seen.bytes_per_s.push_back(std::min(24e6, 1e5 * std::exp2(i / 5.0)));
  }
  seen.bytes_per_s[70] = 200e6;
  EXPECT_DOUBLE_EQ(rateSeenAlone(seen), 24e6);
  EXPECT_EQ(rateSeenAlone({}), 0);
  EXPECT_EQ(rateSeenAlone({{5e6}, {0.1}}), 5e6);
  EXPECT_DOUBLE_EQ(rateSeenTogether(seen, 1), 24e6) << "the first six tenths do not count";
  EXPECT_EQ(rateSeenTogether({{5e6}, {0.95}}, 1), 0) << "most of the time nothing was seen";
  EXPECT_EQ(rateSeenTogether({{5e6}, {0.2}}, 1), 5e6) << "it has not changed";
  EXPECT_EQ(rateSeenTogether({}, 1), 0);
}

TEST(LinkStream, WhatOtherProgramsHeldBackIsNoRate) {
  Arrivals flow = flowOf(24e6, 0.07, 1.4);
  std::uint64_t held = 0;
  for (std::size_t i = 0; i < flow.bytes.size(); ++i) {
    if (flow.at_s[i] < 1.0 || flow.at_s[i] > 1.1) continue;
    held += flow.bytes[i];
    flow.bytes[i] = 0;
    if (flow.at_s[i] > 1.095) flow.bytes[i] = held;
  }
  EXPECT_NEAR(rateAlone(flow, 0.07).bytes_per_s, 24e6, 3e6);
}

} // namespace
} // namespace goss
