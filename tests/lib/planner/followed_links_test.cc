// Prices that follow the speeds of flows.
#include "planner/followed_links.h"

#include <gtest/gtest.h>

#include <vector>

namespace goss {
namespace {

using schedule::Links;

constexpr double kMegabyte = 1e6;

/// Paths of 24 MB/s, and lines that they share.
Links measured(int size) {
  Links links(size, {0.05, 24 * kMegabyte, 0, 0});
  for (int rank = 0; rank < size; ++rank)
    links.setNode(std::vector{rank}, {24 * kMegabyte, 24 * kMegabyte});
  return links;
}

/// Each rank sends for two seconds, as fast as `rates` in MB/s say; 0: nothing.
std::vector<ObservedFlow> seconds(const std::vector<std::vector<double>>& rates) {
  std::vector<ObservedFlow> flows;
  for (const auto& row : rates)
    for (const double rate : row)
      flows.push_back({static_cast<std::uint64_t>(2 * rate * kMegabyte), rate > 0 ? 2.0 : 0.0, rate * kMegabyte});
  return flows;
}

/// All ranks send to all.
std::vector<std::vector<double>> toAll(int size, double rate) {
  std::vector<std::vector<double>> rates(static_cast<std::size_t>(size),
                                         std::vector<double>(static_cast<std::size_t>(size), rate));
  for (std::size_t rank = 0; rank < rates.size(); ++rank)
    rates[rank][rank] = 0;
  return rates;
}

double rateOf(const FollowedLinks& followed, int from, int to, int size) {
  const std::string rates = followed.encode();
  const Links links = rates.empty() ? measured(size) : *ObservedLinks::decode(rates, measured(size));
  return links.price(from, to).bandwidth_bytes_per_s / kMegabyte;
}

TEST(FollowedLinks, StayWhereFlowsShareLines) {
  FollowedLinks followed(measured(4));
  EXPECT_FALSE(followed.observe(seconds(toAll(4, 8))));
  EXPECT_FALSE(followed.observe(seconds(toAll(4, 6.5))));
  EXPECT_EQ(followed.encode(), "") << "a third of the line each is no news, nor is noise";
}

TEST(FollowedLinks, FollowOnePath) {
  FollowedLinks followed(measured(3));
  followed.observe(seconds(toAll(3, 12)));
  std::vector<std::vector<double>> rates = {{0, 2.4, 20}, {2.4, 0, 20}, {12, 12, 0}};
  EXPECT_TRUE(followed.observe(seconds(rates)));
  EXPECT_NEAR(rateOf(followed, 0, 1, 3), 4.8, 0.1) << "slower by the factor by which the flow is";
  EXPECT_EQ(rateOf(followed, 0, 2, 3), 24) << "a flow that gets more of a shared line tells nothing of the path";
  EXPECT_FALSE(followed.observe(seconds(rates)));
  EXPECT_TRUE(followed.observe(seconds(toAll(3, 12))));
  EXPECT_EQ(followed.encode(), "") << "the link is as it was measured";
}

TEST(FollowedLinks, FollowALine) {
  FollowedLinks followed(measured(4));
  followed.observe(seconds(toAll(4, 8)));
  std::vector<std::vector<double>> rates = {{0, 8, 8, 0.8}, {8, 0, 8, 0.8}, {8, 8, 0, 0.8}, {0.8, 0.8, 0.8, 0}};
  EXPECT_TRUE(followed.observe(seconds(rates)));
  const auto links = ObservedLinks::decode(followed.encode(), measured(4));
  ASSERT_TRUE(links.has_value());
  EXPECT_NEAR(links->node(links->nodeOf(3)).up_bytes_per_s, 2.4 * kMegabyte, 0.1 * kMegabyte);
  EXPECT_NEAR(links->node(links->nodeOf(3)).down_bytes_per_s, 2.4 * kMegabyte, 0.1 * kMegabyte);
  EXPECT_NEAR(links->node(links->nodeOf(0)).up_bytes_per_s, 24 * kMegabyte, 0.1 * kMegabyte);
}

TEST(FollowedLinks, TakeALineForSlowWhereOneFlowEachWayIs) {
  FollowedLinks followed(measured(4));
  followed.observe(seconds({{0, 20, 0, 0}, {0, 0, 20, 0}, {0, 0, 0, 20}, {20, 0, 0, 0}}));
  EXPECT_TRUE(followed.observe(seconds({{0, 2, 0, 0}, {0, 0, 2, 0}, {0, 0, 0, 20}, {20, 0, 0, 0}})));
  EXPECT_NEAR(rateOf(followed, 1, 3, 4), 2.4, 0.1) << "the line of rank 1 is slow, to whomever it sends";
  EXPECT_NEAR(rateOf(followed, 3, 1, 4), 2.4, 0.1);
  EXPECT_EQ(rateOf(followed, 0, 2, 4), 24);
}

TEST(FollowedLinks, DoNotBelieveOneMeasureAlone) {
  FollowedLinks followed(measured(3));
  std::vector<ObservedFlow> flows = seconds(toAll(3, 12));
  followed.observe(flows);
  for (ObservedFlow& flow : flows)
    flow.busy_s *= 5; // Its program has less to send at a time; the system sees the same rate.
  EXPECT_FALSE(followed.observe(flows));
  EXPECT_EQ(followed.encode(), "");
}

TEST(FollowedLinks, FindASlowPathThatAPlanOnTrialUses) {
  FollowedLinks followed(measured(3));
  followed.observe(seconds({{0, 20, 0}, {0, 0, 20}, {20, 0, 0}}));
  EXPECT_TRUE(followed.observe(seconds({{0, 2, 0}, {0, 0, 20}, {20, 0, 0}})));
  followed.observeOthers(seconds({{0, 0, 20}, {2, 0, 0}, {0, 20, 0}}));
  EXPECT_NEAR(rateOf(followed, 1, 0, 3), 2, 0.1);
  EXPECT_EQ(rateOf(followed, 0, 2, 3), 24);
}

TEST(FollowedLinks, SayWhereASlowPathIsNotUsed) {
  FollowedLinks followed(measured(3));
  followed.observe(seconds(toAll(3, 12)));
  EXPECT_TRUE(followed.observe(seconds({{0, 2, 12}, {2, 0, 12}, {12, 12, 0}})));
  EXPECT_FALSE(followed.hidesRates());
  followed.forgetFlows();
  EXPECT_FALSE(followed.observe(seconds({{0, 0, 24}, {0, 0, 24}, {24, 24, 0}})));
  EXPECT_TRUE(followed.hidesRates());
  EXPECT_NEAR(rateOf(followed, 0, 1, 3), 4, 0.1);
  followed.use(measured(3));
  EXPECT_EQ(followed.encode(), "");
}

} // namespace
} // namespace goss
