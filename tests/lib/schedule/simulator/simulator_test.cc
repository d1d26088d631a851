#include "schedule/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <functional>

#include "tests/lib/schedule/simulator/sample_schedules.h"

namespace goss::schedule {
namespace {

using samples::allRanks;

constexpr double kLatency_s = 25e-6;
constexpr double kBandwidth = 1.15e9;
constexpr double kReduce = 14e9;

/// The model of the closed forms: equal pairs, both ends ready, no overhead, copies free.
Links plainLinks(int size) { return Links(size, LinkPrice{kLatency_s, kBandwidth, 0, 0}, CpuPrice{kReduce, 0}); }

Shape bytes(std::uint64_t count) {
  Shape shape;
  shape.count = count;
  return shape;
}

Simulation priced(const std::vector<Schedule>& schedules, std::uint64_t count, const Links& links,
                  const SimulationOptions& options = {}) {
  Result<Simulation> result = simulate(schedules, bytes(count), links, options);
  EXPECT_TRUE(result.isOk()) << result.status().text();
  return result.isOk() ? result.take() : Simulation{};
}

std::vector<Schedule> ring(int p, const std::vector<int>& order = {}) {
  return allRanks(p, [&](int rank) { return samples::ringAllReduce(p, rank, order); });
}
std::vector<Schedule> direct(int p) {
  return allRanks(p, [&](int rank) { return samples::circulantAllReduce(p, rank, samples::unitSkips(p), "direct"); });
}
std::vector<Schedule> halving(int p) {
  return allRanks(p,
                  [&](int rank) { return samples::circulantAllReduce(p, rank, samples::halvingSkips(p), "halving"); });
}
std::vector<Schedule> doubling(int p) {
  return allRanks(p, [&](int rank) { return samples::doublingAllReduce(p, rank); });
}

int ceilLog2(int p) { return p <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<unsigned>(p - 1))); }

TEST(Simulator, RingEqualsItsClosedForm) {
  for (const int p : {2, 3, 7, 8, 16}) {
    const std::uint64_t m = static_cast<std::uint64_t>(p) * 6400;
    const double n = 6400;
    const double expected = 2 * (p - 1) * (kLatency_s + n / kBandwidth) + (p - 1) * n / kReduce;
    EXPECT_NEAR(priced(ring(p), m, plainLinks(p)).finish_s, expected, expected * 1e-9) << p << " ranks";
  }
}

TEST(Simulator, RecursiveDoublingEqualsItsClosedForm) {
  const double m = 4096;
  const double exchange = kLatency_s + m / kBandwidth + m / kReduce;
  for (const int p : {2, 4, 8, 32}) {
    const double expected = ceilLog2(p) * exchange;
    EXPECT_NEAR(priced(doubling(p), 4096, plainLinks(p)).finish_s, expected, expected * 1e-9) << p << " ranks";
  }
  // Other sizes fold first and unfold at the end: two messages more, part of which hides behind the exchanges of
  // others.
  for (const int p : {3, 6, 12}) {
    const double exchanges = (ceilLog2(p) - 1) * exchange;
    const double found = priced(doubling(p), 4096, plainLinks(p)).finish_s;
    EXPECT_GT(found, exchanges + kLatency_s + m / kBandwidth) << p << " ranks";
    EXPECT_LE(found, exchanges + exchange + kLatency_s + m / kBandwidth + 1e-12) << p << " ranks";
  }
}

TEST(Simulator, DirectExchangeEqualsItsClosedForm) {
  for (const int p : {2, 3, 8, 13}) {
    const double n = 64000;
    // Sums hide behind the arrival of the next block, all but the last.
    const double expected = 2 * (kLatency_s + (p - 1) * n / kBandwidth) + n / kReduce;
    const double formula = 2 * kLatency_s + 2 * (p - 1) * n / kBandwidth + (p - 1) * n / kReduce;
    const double found = priced(direct(p), static_cast<std::uint64_t>(p) * 64000, plainLinks(p)).finish_s;
    EXPECT_NEAR(found, expected, expected * 1e-9) << p << " ranks";
    EXPECT_LE(found, formula * (1 + 1e-9));
  }
}

TEST(Simulator, HalvingEqualsItsClosedForm) {
  for (const int p : {2, 3, 4, 5, 8, 13, 16}) {
    const double n = 64000;
    const auto m = static_cast<std::uint64_t>(p) * 64000;
    const double transfer = 2 * ceilLog2(p) * kLatency_s + 2 * (p - 1) * n / kBandwidth;
    const double expected = transfer + (p - 1) * n / kReduce;
    const double found = priced(halving(p), m, plainLinks(p)).finish_s;
    // In other sizes than powers of two, blocks that a round does not touch leave earlier than the formula says.
    if (std::has_single_bit(static_cast<unsigned>(p))) {
      EXPECT_NEAR(found, expected, expected * 1e-9) << p << " ranks";
    } else {
      EXPECT_GT(found, 0.7 * transfer) << p << " ranks";
      EXPECT_LE(found, expected * (1 + 1e-9)) << p << " ranks";
    }
  }
}

TEST(Simulator, TreesEqualTheirClosedForms) {
  const double m = 65536;
  for (const int p : {2, 8, 16}) {
    const auto tree = allRanks(p, [&](int rank) { return samples::binomialBroadcast(p, rank); });
    // The root's k-th child waits for the root's port k messages long, and has a subtree that is shorter by as many.
    const double expected = ceilLog2(p) * (kLatency_s + m / kBandwidth);
    EXPECT_NEAR(priced(tree, 65536, plainLinks(p)).finish_s, expected, expected * 1e-9) << p << " ranks";
  }
  for (const std::uint32_t blocks : {1u, 4u, 16u}) {
    const int p = 6;
    const auto chain = allRanks(p, [&](int rank) { return samples::chainBroadcast(p, rank, blocks); });
    Links links = plainLinks(p);
    links.setAll({kLatency_s, kBandwidth, 0, 1e9});
    const double block = m / blocks / kBandwidth;
    const double expected = (p - 1) * (kLatency_s + block) + (blocks - 1) * block;
    EXPECT_NEAR(priced(chain, 65536, links).finish_s, expected, expected * 1e-9) << blocks << " blocks";
  }
}

/// Finish times computed by an independent implementation of the model, in another language.
struct Golden {
  std::string_view algorithm;
  int size;
  bool ports; ///< Nodes have ports of their own bandwidth; else the pairs' bandwidth holds the port.
  double finish_s;
};
constexpr Golden kGolden[] = {
    {"ring", 5, false, 0.03458552380952381},      {"ring", 5, true, 0.03537790476190476},
    {"direct", 5, false, 0.018172761904761907},   {"direct", 5, true, 0.015321142857142858},
    {"halving", 5, false, 0.02078676190476191},   {"halving", 5, true, 0.020013428571428574},
    {"doubling", 5, false, 0.033061428571428575}, {"doubling", 5, true, 0.030211428571428573},
    {"ring", 8, false, 0.062011809523809545},     {"ring", 8, true, 0.06267466666666668},
    {"direct", 8, false, 0.026562095238095246},   {"direct", 8, true, 0.01908342857142857},
    {"halving", 8, false, 0.053499142857142856},  {"halving", 8, true, 0.04822571428571428},
    {"doubling", 8, false, 0.08582742857142857},  {"doubling", 8, true, 0.08582742857142857},
    {"ring", 12, false, 0.09426400000000001},     {"ring", 12, true, 0.09609257142857144},
    {"direct", 12, false, 0.03722942857142859},   {"direct", 12, true, 0.02559114285714286},
    {"halving", 12, false, 0.06568038095238095},  {"halving", 12, true, 0.061420285714285705},
    {"doubling", 12, false, 0.17750485714285713}, {"doubling", 12, true, 0.16662485714285713},
};

TEST(Simulator, AgreesWithAnIndependentImplementationOnUnequalLinks) {
  for (const Golden& golden : kGolden) {
    const int p = golden.size;
    Links links(p, {}, CpuPrice{14e9, 0});
    for (int i = 0; i < p; ++i) {
      for (int j = 0; j < p; ++j) {
        if (i != j) links.setPrice(i, j, {1e-3 * (1 + (i + 2 * j) % 3), 5e6 * (1 + (i * 3 + j * 5) % 7), 5e-5, 0});
      }
      const double port = 1e8 / (1 + (i * 7) % 5);
      if (golden.ports) links.setNode(std::vector{i}, {port, port});
    }
    const auto schedules = golden.algorithm == "ring"      ? ring(p)
                           : golden.algorithm == "direct"  ? direct(p)
                           : golden.algorithm == "halving" ? halving(p)
                                                           : doubling(p);
    const double found = priced(schedules, static_cast<std::uint64_t>(p) * 16000, links).finish_s;
    EXPECT_NEAR(found, golden.finish_s, golden.finish_s * 1e-9)
        << golden.algorithm << " of " << p << (golden.ports ? " with ports" : "");
  }
}

TEST(Simulator, CountsBytesAndMessagesPerRank) {
  const Simulation result = priced(ring(4), 4000, plainLinks(4));
  for (const RankTraffic& rank : result.ranks) {
    EXPECT_EQ(rank.messages_sent, 6u);
    EXPECT_EQ(rank.bytes_sent, 6000u);
  }
  const auto tree = allRanks(8, [](int rank) { return samples::binomialBroadcast(8, rank); });
  const Simulation broadcast = priced(tree, 1000, plainLinks(8));
  EXPECT_EQ(broadcast.ranks[0].bytes_sent, 3000u);
  EXPECT_EQ(broadcast.ranks[7].bytes_sent, 0u);
}

TEST(Simulator, NamesTheRankBehindTheSlowLinkAsCritical) {
  Links links = plainLinks(5);
  links.setPrice(0, 3, {1, kBandwidth, 0, 0});
  const auto star = allRanks(5, [](int rank) {
    ScheduleBuilder builder({Collective::broadcast, 5, rank, 0, Partition::even, 1});
    for (int child = 1; rank == 0 && child < 5; ++child)
      builder.send(child, {data(0)});
    if (rank != 0) builder.recv(0, {data(0)});
    return builder.build("star");
  });
  const Simulation result = priced(star, 1000, links);
  EXPECT_EQ(result.critical_rank, 3);
  EXPECT_GT(result.finish_s, 1.0);
  EXPECT_LT(result.ranks[4].finish_s, 0.1);
}

TEST(Simulator, RanksOfOneNodeShareItsPort) {
  // Ranks 0..3 on one node each send 1 MB to a rank of another node: four flows through one port.
  const auto pairs = allRanks(8, [](int rank) {
    ScheduleBuilder builder({Collective::allToAll, 8, rank, -1, Partition::byRank, 8});
    if (rank < 4) builder.send(rank + 4, {input(static_cast<std::uint32_t>(rank + 4))});
    if (rank >= 4) builder.recv(rank - 4, {output(static_cast<std::uint32_t>(rank - 4))});
    return builder.build("pairs");
  });
  Shape shape;
  shape.input_blocks.assign(8, {0, 1000000});
  shape.output_blocks = shape.input_blocks;
  Links links(8, LinkPrice{0, 1e9, 0, 1e9}, CpuPrice{0, 0});
  EXPECT_NEAR(simulate(pairs, shape, links).value().finish_s, 1e-3, 1e-9);
  links.setNode(std::vector{0, 1, 2, 3}, {1e9, 1e9});
  EXPECT_NEAR(simulate(pairs, shape, links).value().finish_s, 4e-3, 1e-9);
  links.setNode(std::vector{4, 5, 6, 7}, {1e9, 0.5e9});
  EXPECT_NEAR(simulate(pairs, shape, links).value().finish_s, 8e-3, 1e-9);
}

TEST(Simulator, EagerMessagesDoNotWaitForTheReceive) {
  // Rank 1 adds what ranks 0 and 2 send, one after the other; the second message may travel during the first sum.
  const auto fan_in = allRanks(3, [](int rank) {
    ScheduleBuilder builder({Collective::reduce, 3, rank, 1, Partition::even, 1});
    if (rank != 1) builder.send(1, {data(0)});
    if (rank == 1) {
      builder.recvReduce(0, {data(0)});
      builder.recvReduce(2, {data(0)});
    }
    return builder.build("fan-in");
  });
  const double m = 1e6;
  const LinkPrice waits{1e-3, 1e9, 0, 0};
  const LinkPrice eager{1e-3, 1e9, 0, 2e6};
  const double flow = m / 1e9;
  EXPECT_NEAR(priced(fan_in, 1000000, Links(3, waits, {1e9, 0})).finish_s, 2 * (1e-3 + flow + flow), 1e-9);
  EXPECT_NEAR(priced(fan_in, 1000000, Links(3, eager, {1e9, 0})).finish_s, 1e-3 + 3 * flow, 1e-9);
}

TEST(Simulator, ASenderThatMovesItsBytesItselfAddsNothingMeanwhile) {
  const double n = 1 << 20; // Elements of each of both halves.
  const double sender = kBandwidth / 4;
  Links links = plainLinks(2);
  const double free_s = 2 * (kLatency_s + n / kBandwidth) + n / kReduce;
  EXPECT_NEAR(priced(direct(2), 2 << 20, links).finish_s, free_s, free_s * 1e-9);
  links.setAll({kLatency_s, kBandwidth, 5e-6, 0, sender});
  // A message that came meanwhile waits until the current one has left.
  const double busy_s = 2 * (n / sender + 5e-6) + n / kReduce;
  EXPECT_NEAR(priced(direct(2), 2 << 20, links).finish_s, busy_s, busy_s * 1e-9);
}

TEST(Simulator, FragmentsPipelineWithinTheirWindow) {
  const int p = 8;
  const auto whole = doubling(p);
  const Links links = plainLinks(p);
  const double one = priced(whole, 64 << 20, links).finish_s;
  const double eight = priced(whole, 64 << 20, links, {8, 4, 8}).finish_s;
  EXPECT_LT(eight, one);
  // With one fragment in flight the time is that of eight whole all-reduces of an eighth.
  const double row = priced(whole, 64 << 20, links, {8, 1, 8}).finish_s;
  EXPECT_NEAR(row, 8 * priced(whole, 8 << 20, links).finish_s, row * 1e-6);
}

TEST(Simulator, ExtrapolatesManyFragmentsCloseToTheFullRun) {
  const int p = 6;
  const Links links = plainLinks(p);
  for (const auto& schedules : {ring(p), direct(p), doubling(p)}) {
    const Simulation full = priced(schedules, 48 << 20, links, {64, 4, 64});
    const Simulation part = priced(schedules, 48 << 20, links, {64, 4, 16});
    EXPECT_NEAR(part.finish_s, full.finish_s, full.finish_s * 0.08) << schedules[0].algorithm;
    EXPECT_EQ(part.ranks[1].messages_sent, full.ranks[1].messages_sent);
    EXPECT_NEAR(static_cast<double>(part.ranks[1].bytes_sent), static_cast<double>(full.ranks[1].bytes_sent),
                static_cast<double>(full.ranks[1].bytes_sent) * 0.001);
  }
}

TEST(Simulator, RepeatsBitForBit) {
  const int p = 12;
  Links links = plainLinks(p);
  for (int i = 1; i < p; ++i)
    links.setPrice(0, i, {1e-6 * i, 1e9 + i, 1e-7, 1e4});
  const double first = priced(halving(p), 123457, links, {5, 2, 8}).finish_s;
  const auto elsewhere = halving(p);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(priced(elsewhere, 123457, links, {5, 2, 8}).finish_s),
            std::bit_cast<std::uint64_t>(first));
}

TEST(Simulator, RefusesASendWithoutReceive) {
  auto schedules = ring(3);
  schedules[1] = samples::doublingAllReduce(3, 1);
  const Result<Simulation> result = simulate(schedules, bytes(300), plainLinks(3));
  ASSERT_FALSE(result.isOk());
  EXPECT_EQ(result.status().kind(), GOSS_ERR_INTERNAL);
  EXPECT_THAT(result.status().text(), testing::HasSubstr("meets no"));
}

TEST(Simulator, RefusesSchedulesThatWaitInACircle) {
  const auto circle = allRanks(2, [](int rank) {
    ScheduleBuilder builder({Collective::allReduce, 2, rank, -1, Partition::even, 1});
    builder.recvReduce(1 - rank, {data(0)});
    builder.send(1 - rank, {data(0)});
    return builder.build("circle");
  });
  const Result<Simulation> result = simulate(circle, bytes(8), plainLinks(2));
  ASSERT_FALSE(result.isOk());
  EXPECT_THAT(result.status().text(), testing::HasSubstr("never ends"));
}

TEST(Simulator, PricesDirectExchangeOf64RanksQuickly) {
  const auto schedules = direct(64);
  const auto begin = std::chrono::steady_clock::now();
  priced(schedules, 64 << 20, plainLinks(64));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  // Takes about 10 ms when optimised; the bound leaves room for sanitizers and a busy machine.
  EXPECT_LT(seconds.count(), 5.0);
  RecordProperty("milliseconds", std::to_string(seconds.count() * 1e3));
}

// ---- Rankings of the published regimes ----

struct Regime {
  const char* name;
  LinkPrice price;
};
constexpr CpuPrice kRegimeCpu{14e9, 0};
const Regime kIb{"ib100", {2e-6, 12e9, 0.3e-6, 0}};
const Regime kTcp{"tcp10g", {25e-6, 1.15e9, 5e-6, 0}};
const Regime kWan{"wan", {40e-3, 100e6, 20e-6, 0}};

double regimeTime(const Regime& regime, const std::vector<Schedule>& schedules, std::uint64_t m) {
  return priced(schedules, m, Links(static_cast<int>(schedules.size()), regime.price, kRegimeCpu)).finish_s;
}

TEST(SimulatorRanking, RecursiveDoublingIsBestForTinyMessages) {
  for (const Regime& regime : {kIb, kTcp}) {
    const double best = regimeTime(regime, doubling(8), 1024);
    EXPECT_LT(best, regimeTime(regime, direct(8), 1024)) << regime.name;
    EXPECT_LT(best, regimeTime(regime, halving(8), 1024)) << regime.name;
    EXPECT_LT(best, regimeTime(regime, ring(8), 1024)) << regime.name;
  }
}

TEST(SimulatorRanking, DirectExchangeIsBestForLargeMessagesOnFastLinks) {
  for (const std::uint64_t m : {std::uint64_t{256} << 10, std::uint64_t{4} << 20, std::uint64_t{64} << 20}) {
    const double best = regimeTime(kIb, direct(8), m);
    EXPECT_GT(regimeTime(kIb, halving(8), m) / best, 1.15);
    EXPECT_LT(regimeTime(kIb, halving(8), m) / best, 1.40);
    EXPECT_GT(regimeTime(kIb, ring(8), m) / best, 1.15);
    EXPECT_LT(regimeTime(kIb, ring(8), m) / best, 1.75);
  }
  EXPECT_GT(regimeTime(kIb, ring(32), 256 << 10) / regimeTime(kIb, direct(32), 256 << 10), 2.0);
}

TEST(SimulatorRanking, LargeMessagesNearlyTieOnTenGigabit) {
  for (const std::uint64_t m : {std::uint64_t{4} << 20, std::uint64_t{64} << 20}) {
    const double halved = regimeTime(kTcp, halving(8), m);
    EXPECT_NEAR(regimeTime(kTcp, direct(8), m) / halved, 1.0, 0.05);
    EXPECT_NEAR(regimeTime(kTcp, ring(8), m) / halved, 1.0, 0.08);
  }
}

TEST(SimulatorRanking, DirectExchangeAlwaysWinsOnWideArea) {
  for (const std::uint64_t m : {std::uint64_t{16} << 10, std::uint64_t{1} << 20, std::uint64_t{4} << 20}) {
    const double best = regimeTime(kWan, direct(16), m);
    EXPECT_LT(best, regimeTime(kWan, doubling(16), m));
    EXPECT_LT(best, regimeTime(kWan, halving(16), m));
    const double ratio = regimeTime(kWan, ring(16), m) / best;
    EXPECT_GT(ratio, 4.0);
    EXPECT_LT(ratio, 17.0);
  }
}

} // namespace
} // namespace goss::schedule
