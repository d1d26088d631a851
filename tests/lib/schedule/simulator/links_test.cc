#include "schedule/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

namespace goss::schedule {
namespace {

std::string readFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string golden(const char* name) {
  return readFile(std::filesystem::path(GOSS_TEST_GOLDEN_DIR) / "links/good" / name);
}

Links parsed(std::string_view text, int size) {
  Result<Links> links = Links::parse(text, size);
  EXPECT_TRUE(links.isOk()) << links.status().text();
  return links.isOk() ? links.take() : Links(size);
}

TEST(LinkFile, TwoSitesMeanWhatTheySay) {
  const Links links = parsed(golden("two_sites.links"), 8);
  EXPECT_EQ(links.cpu(), (CpuPrice{12e9, 8.0 * (1u << 30)}));
  EXPECT_EQ(links.price(1, 5), (LinkPrice{40e-3, 100e6, 20e-6, 256.0 * (1 << 20)}));
  EXPECT_EQ(links.price(1, 2), (LinkPrice{30e-6, 1.15e9, 5e-6, 256.0 * (1 << 20)}));
  EXPECT_EQ(links.price(0, 5).latency_s, 80e-3);
  EXPECT_EQ(links.price(5, 0).latency_s, 40e-3);
  EXPECT_EQ(links.price(2, 6), (LinkPrice{40e-3, 5e6, 20e-6, 256.0 * (1 << 20)}));
  EXPECT_EQ(links.price(6, 2).bandwidth_bytes_per_s, 5e6);
  EXPECT_EQ(links.nodeOf(3), links.nodeOf(0));
  EXPECT_NE(links.nodeOf(4), links.nodeOf(0));
  EXPECT_EQ(links.node(links.nodeOf(1)), (NodePrice{125e6, 250e6}));
  EXPECT_EQ(links.nodeSize(), 4);
  EXPECT_FALSE(links.uniform());
}

TEST(LinkFile, NodesOfManyRanksHoldConsecutiveRanks) {
  const Links links = parsed(golden("racks.links"), 7 + 1);
  EXPECT_EQ(links.nodeSize(), 2);
  EXPECT_EQ(links.price(0, 1).latency_s, 600e-9);
  EXPECT_EQ(links.price(1, 2).latency_s, 2e-6);
  EXPECT_EQ(links.price(6, 7).bandwidth_bytes_per_s, 6e9);
  EXPECT_EQ(links.price(7, 6).bandwidth_bytes_per_s, 10e9);
}

TEST(Links, NodesGetThePricesOfTheirFirstRanks) {
  Links before(5, {30e-6, 1e9, 5e-6, 256});
  before.setPrice(1, 4, {10e-6, 2e9, 5e-6, 256}); // Ranks of one node.
  before.setNode(std::vector{1, 4, 3}, {5e9, 5e9});
  before.setNode(std::vector{2, 0}, {5e9, 5e9});
  EXPECT_THAT(before.firstOfNodes(), ::testing::ElementsAre(0, 1));
  Links between(2, {40e-3, 20e6, 20e-6, 512}, {1e9, 2e9});
  between.setPrice(1, 0, {40e-3, 5e6, 20e-6, 512});
  between.setNode(std::vector{1}, {30e6, 60e6});
  const Links links = before.withNodes(between);
  for (int from = 0; from < 5; ++from) {
    for (int to = 0; to < 5; ++to) {
      if (from == to) continue;
      const bool first = from == 0 || from == 2;
      const LinkPrice expected = before.nodeOf(from) == before.nodeOf(to) ? before.price(from, to)
                                 : first                                  ? between.price(0, 1)
                                                                          : between.price(1, 0);
      EXPECT_EQ(links.price(from, to), expected) << from << " to " << to;
      EXPECT_EQ(links.nodeOf(from) == links.nodeOf(to), before.nodeOf(from) == before.nodeOf(to));
    }
  }
  EXPECT_EQ(links.price(1, 4).bandwidth_bytes_per_s, 2e9);
  EXPECT_EQ(links.node(links.nodeOf(4)), (NodePrice{30e6, 60e6}));
  EXPECT_EQ(links.node(links.nodeOf(2)), between.node(0));
  EXPECT_EQ(links.cpu(), between.cpu());
}

TEST(Links, AloneOnNodesRanksHaveThePricesBetweenThem) {
  const Links between = parsed(golden("two_sites.links"), 8).subset(std::vector{0, 4});
  const Links links = Links(2).withNodes(between);
  EXPECT_EQ(links.price(0, 1), between.price(0, 1));
  EXPECT_EQ(links.price(1, 0), between.price(1, 0));
}

TEST(LinkFile, TheHeaderAloneMeansSharedMemory) {
  const Links links = parsed(golden("minimal.links"), 4);
  EXPECT_TRUE(links.uniform());
  EXPECT_EQ(links.price(0, 1), Links::builtIn("shm", 4).value().price(0, 1));
}

TEST(LinkFile, SaysHowFastASenderPutsItsBytesIn) {
  const Links links = parsed("gossamer-links 1\nbase ucx\npair 0 -> 1 sender 3GB/s\n", 2);
  EXPECT_EQ(links.price(0, 1).sender_bytes_per_s, 3e9);
  EXPECT_EQ(links.price(1, 0), Links::builtIn("ucx", 2).value().price(0, 1));
  EXPECT_EQ(Links::builtIn("shm", 2).value().price(0, 1).sender_bytes_per_s, 0);
}

TEST(LinkFile, RefusesEveryMalformedFileWithLineAndReason) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(GOSS_TEST_GOLDEN_DIR) / "links/refuse")) {
    ++files;
    const std::string text = readFile(entry.path());
    const std::string marker = "# error: ";
    ASSERT_EQ(text.rfind(marker, 0), 0u) << entry.path();
    const std::string expected = text.substr(marker.size(), text.find('\n') - marker.size());
    const Result<Links> links = Links::parse(text, 8);
    ASSERT_FALSE(links.isOk()) << entry.path();
    EXPECT_EQ(links.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(links.status().text(), testing::HasSubstr(expected)) << entry.path();
  }
  EXPECT_GE(files, 28);
}

TEST(LinkFile, CutAnywhereItIsReadOrRefusedButNeverCrashes) {
  const std::string text = golden("two_sites.links");
  int refused = 0;
  for (std::size_t length = 0; length < text.size(); ++length) {
    if (!Links::parse(std::string_view(text).substr(0, length), 8).isOk()) ++refused;
  }
  EXPECT_GT(refused, 50);
  std::string broken = text;
  for (std::size_t i = 0; i < broken.size(); ++i) {
    const char original = broken[i];
    broken[i] = '\xff';
    (void)Links::parse(broken, 8).isOk();
    broken[i] = original;
  }
}

TEST(Links, BuiltInPricesGetSlowerWithDistance) {
  double latency_s = 0;
  for (const std::string_view name : builtInLinkNames()) {
    if (name == "ib100") continue; // Another kind of network: faster than the sockets of one host.
    if (name == "tls") continue;   // As far as tcp; encryption costs the processor.
    const Links links = Links::builtIn(name, 3).value();
    EXPECT_TRUE(links.uniform());
    EXPECT_GT(links.price(0, 1).latency_s, latency_s) << name;
    latency_s = links.price(0, 1).latency_s;
  }
  EXPECT_EQ(Links::builtIn("shm", 2).value().price(0, 1).latency_s, 0.6e-6);
  EXPECT_FALSE(Links::builtIn("none", 2).isOk());
}

TEST(Links, ASubsetKeepsPricesAndNodes) {
  const Links links = parsed(golden("two_sites.links"), 8);
  const Links part = links.subset(std::vector{6, 0, 1, 2});
  EXPECT_EQ(part.size(), 4);
  EXPECT_EQ(part.price(0, 3), links.price(6, 2));
  EXPECT_EQ(part.price(1, 0), links.price(0, 6));
  EXPECT_EQ(part.nodeOf(1), part.nodeOf(3));
  EXPECT_NE(part.nodeOf(0), part.nodeOf(1));
  EXPECT_EQ(part.node(part.nodeOf(0)), links.node(links.nodeOf(6)));
  EXPECT_TRUE(links.subset(std::vector{1, 5}).price(0, 1) == links.price(1, 5));
}

TEST(Links, ASubsetOfEqualLinksIsUniform) {
  const Links links = Links::builtIn("wan", 9).value();
  EXPECT_TRUE(links.subset(std::vector{3, 8, 2}).uniform());
  EXPECT_EQ(links.subset(std::vector{3, 8, 2}).price(0, 2), links.price(3, 2));
}

TEST(Links, PairsThatAllCostTheSameAreUniformHoweverTheyAreWritten) {
  const Links one = parsed("gossamer-links 1\nbase tcp\npair * -> * latency 5us", 6);
  const Links other = parsed("gossamer-links 1\nbase tcp\ndefault latency 5us", 6);
  EXPECT_TRUE(one.uniform());
  EXPECT_TRUE(other.uniform());
  EXPECT_EQ(one.price(4, 2), other.price(4, 2));
}

TEST(Links, KindsOfRanksHaveThePricesOfTheirPairs) {
  const std::vector<int> kinds{0, 0, 0, 1, 2, 1, 2, 2};
  const auto price_of = [&](int from, int to) {
    LinkPrice price;
    price.latency_s = 1 + 3 * kinds[static_cast<std::size_t>(from)] + kinds[static_cast<std::size_t>(to)];
    return price;
  };
  Links by_kind(8);
  by_kind.setPrices(kinds, price_of);
  Links by_pair(8);
  for (int from = 0; from < 8; ++from)
    for (int to = 0; to < 8; ++to)
      if (from != to) by_pair.setPrice(from, to, price_of(from, to));
  const auto expectSame = [](const Links& one, const Links& other) {
    for (int from = 0; from < one.size(); ++from)
      for (int to = 0; to < one.size(); ++to)
        if (from != to) EXPECT_EQ(one.price(from, to), other.price(from, to)) << from << " to " << to;
    EXPECT_EQ(one.uniform(), other.uniform());
    EXPECT_EQ(one.period(), other.period());
  };
  expectSame(by_kind, by_pair);
  const std::vector<int> some{7, 0, 3, 1};
  expectSame(by_kind.subset(some), by_pair.subset(some));
  const std::vector<int> alike{6, 4, 7};
  EXPECT_TRUE(by_kind.subset(alike).hasOnePrice());
  expectSame(by_kind.subset(alike), by_pair.subset(alike));
  by_kind.setNode(std::vector{0, 1, 2}, {});
  EXPECT_EQ(by_kind.representatives(), (std::vector{0, 1, 3, 4, 5, 6, 7})) << "two stand for three";
  for (Links* links : {&by_kind, &by_pair})
    links->setPrice(1, 2, {7, 1e9, 0, 0});
  expectSame(by_kind, by_pair);
  EXPECT_EQ(by_kind.representatives().size(), 8u) << "a pair differs";
  by_kind.setAll({});
  EXPECT_TRUE(by_kind.hasOnePrice());
}

TEST(Links, OfKindsThatCostTheSameHaveOnePrice) {
  Links links(6);
  links.setPrices({0, 1, 2, 0, 1, 2}, [](int, int) { return LinkPrice(); });
  EXPECT_TRUE(links.hasOnePrice());
  EXPECT_TRUE(links.uniform());
}

} // namespace
} // namespace goss::schedule
