// What goss-sim says, against what can be worked out by hand and against the library's simulator.
#include <gtest/gtest.h>

#include <string>

#include "bench/sim/network.h"
#include "bench/sim/recovery.h"
#include "bench/sim/training.h"

namespace goss::bench::sim {
namespace {

constexpr const char* kFourSites = R"({"within": {"base": "shm"},
  "between": {"latency": "20ms", "bandwidth": "10MB/s", "overhead": "0us"}, "sites": [{"count": 4}]})";

Sites sitesOf(const std::string& text, int ranks) {
  auto sites = Sites::parse(text, ranks);
  EXPECT_TRUE(sites.isOk()) << sites.status().text();
  return sites.take();
}

TrainingOptions steps(const std::string& sync, std::uint64_t count) {
  TrainingOptions options;
  options.sync = sync;
  options.parameters = 1e6;
  options.steps = count;
  return options;
}

TEST(SimTest, RanksThatExchangeNothingComputeAllTheTime) {
  const auto result = train(Sites(8), steps("local", 10));
  ASSERT_TRUE(result.isOk()) << result.status().text();
  EXPECT_NEAR(result.value().time_s - result.value().start_s, 10, 1e-9);
  EXPECT_GT(result.value().utilisation, 0.999);
}

// Two sites of one rank: half of 4 MB each way, twice, at 10 MB/s and 20 ms.
TEST(SimTest, AnExchangeOfTwoRanksTakesWhatTheLinkTakes) {
  const std::string text =
      R"({"between": {"latency": "20ms", "bandwidth": "10MB/s", "overhead": "0us"}, "sites": [{"count": 2}]})";
  const auto result = train(sitesOf(text, 2), steps("diloco:h=5", 10));
  ASSERT_TRUE(result.isOk()) << result.status().text();
  EXPECT_NEAR(result.value().time_s - result.value().start_s, 10 + 2 * (0.4 + 0.04), 0.05);
  EXPECT_NEAR(result.value().traffic.bytes, 2 * 2 * 4e6, 2e5);
}

TEST(SimTest, BucketsLeaveDuringTheBackwardPass) {
  // 1 s of backward pass hides what takes less.
  const std::string text = R"({"within": {"latency": "10us", "bandwidth": "100MB/s"}})";
  const auto overlapped = train(sitesOf(text, 2), steps("ddp", 10));
  ASSERT_TRUE(overlapped.isOk()) << overlapped.status().text();
  EXPECT_LT(overlapped.value().time_s, 10.2); // 4 MB take 40 ms, of which the last bucket's are seen.
}

TEST(SimTest, ASlowRankHoldsUpTheOthersUnlessItComputesLess) {
  TrainingOptions options = steps("diloco:h=10", 40);
  options.straggling = 0.3;
  options.slowdown = 2;
  const auto fixed = train(Sites(6), options);
  options.sync = "diloco:h=10,steps=dynamic";
  const auto dynamic = train(Sites(6), options);
  ASSERT_TRUE(fixed.isOk() && dynamic.isOk());
  EXPECT_GT(fixed.value().time_s, 79);
  EXPECT_LT(dynamic.value().time_s, 60);
}

TEST(SimTest, GossipExchangesWithNeighborsAlone) {
  for (const char* sync : {"dpsgd:topology=ring", "choco:codec=int8", "sgp"}) {
    const auto result = train(sitesOf(kFourSites, 8), steps(sync, 6));
    ASSERT_TRUE(result.isOk()) << sync << ": " << result.status().text();
    EXPECT_GT(result.value().traffic.bytes, 1e6) << sync;
  }
}

TEST(SimTest, IslandsShareThePortsOfTheirSites) {
  const auto result = train(sitesOf(kFourSites, 8), steps("diloco:h=2,islands=4", 4));
  ASSERT_TRUE(result.isOk()) << result.status().text();
  EXPECT_GT(result.value().traffic.exchanges, 8u);
}

TEST(SimTest, SurvivorsAgreeAndGoOn) {
  TrainingOptions options = steps("diloco:h=5,codec=int8", 60);
  options.churn_per_s = 20.0 / 3600;
  options.silence_s = 1;
  const auto result = train(sitesOf(kFourSites, 12), options);
  ASSERT_TRUE(result.isOk()) << result.status().text();
  EXPECT_GT(result.value().recoveries, 0u);
  EXPECT_LT(result.value().survivors, 12);
  EXPECT_EQ(result.value().step_ends_s.size(), 60u);
  EXPECT_GT(result.value().agreement_messages, 5.0 * 10) << "a few of each survivor, however many there are";
}

// Nobody exchanges anything, so nobody hears of a death. The steps that the dead have begun are theirs until they die.
TEST(SimTest, TheDeadNeitherComputeNorCountAsSurvivors) {
  for (const char* sync : {"local", "dpsgd:topology=ring"}) {
    TrainingOptions options = steps(sync, 10);
    options.churn_per_s = 0.02;
    options.silence_s = 1;
    const auto result = train(Sites(12), options);
    ASSERT_TRUE(result.isOk()) << sync << ": " << result.status().text();
    EXPECT_LT(result.value().survivors, 12) << sync;
    EXPECT_LE(result.value().utilisation, 1 + 1e-9) << sync;
  }
}

// Three times 20 ms: what each rank has lost, what all have, and the decision. And a majority must be left.
TEST(SimTest, AgreementTakesItsRounds) {
  Network network(sitesOf(kFourSites, 8), 1);
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
  const AgreementCost one = agree(network, all, {3});
  EXPECT_TRUE(one.goes_on);
  EXPECT_NEAR(one.time_s, 0.06, 0.005);
  EXPECT_FALSE(agree(network, all, {0, 1, 2, 3, 4}).goes_on);
}

// Level by level, what all ranks' schedules would take: hier-* over 4 sites of 16.
TEST(SimTest, PricesByLevelAreNearThoseOfAllRanks) {
  const std::string ported = R"({"within": {"base": "shm"}, "between": {"latency": "20ms", "bandwidth": "100MB/s"},
    "sites": [{"count": 4, "up": "1Gbit/s", "down": "1Gbit/s"}]})";
  Network whole(sitesOf(ported, 64), 1);
  Network levels(sitesOf(ported, 68), 1);
  const Exchange exchange{Collective::allReduce, 64 << 20};
  const auto of_all = whole.cost({{{0, 16}, {1, 16}, {2, 16}, {3, 16}}}, exchange, 0);
  const auto by_level = levels.cost({{{0, 17}, {1, 17}, {2, 17}, {3, 17}}}, exchange, 0);
  ASSERT_TRUE(of_all.isOk() && by_level.isOk());
  EXPECT_NEAR(by_level.value().time_s / of_all.value().time_s, 1, 0.25)
      << by_level.value().plan << " and " << of_all.value().plan;
}

} // namespace
} // namespace goss::bench::sim
