// Which messages are only stored, and over which links that makes them faster.
#include "schedule/stored.h"

#include <gtest/gtest.h>

#include <string_view>

#include "collectives/catalogue.h"
#include "schedule/compress.h"
#include "schedule/contract.h"
#include "schedule/sample_requests.h"
#include "schedule/simulator.h"

namespace goss::schedule {
namespace {

std::vector<Schedule> planned(Collective collective, std::string_view algorithm, int size, std::uint32_t blocks = 1) {
  const Catalogue catalogue = collectives::builtinAlgorithms();
  PlanRequest request = requestFor(collective, size);
  request.blocks = blocks;
  std::vector<Schedule> ranks;
  for (request.rank = 0; request.rank < size; ++request.rank)
    ranks.push_back(catalogue.find(collective, algorithm)->plan(request));
  return ranks;
}

bool stores(Collective collective, std::string_view algorithm, std::uint32_t blocks, std::uint32_t fragments) {
  return storesMessages(planned(collective, algorithm, 4, blocks)[1], fragments);
}

TEST(Stored, AreBlocksOfRanksAndBroadcastsThatAreNotCut) {
  EXPECT_TRUE(stores(Collective::allGather, "direct", 1, 4));
  EXPECT_TRUE(stores(Collective::gather, "linear", 1, 1));
  EXPECT_TRUE(stores(Collective::broadcast, "binomial", 1, 1));
  EXPECT_FALSE(stores(Collective::broadcast, "binomial", 8, 1));
  EXPECT_FALSE(stores(Collective::broadcast, "flat", 1, 2));
  EXPECT_FALSE(stores(Collective::broadcast, "scatter-direct", 1, 1));
  EXPECT_FALSE(stores(Collective::allReduce, "direct", 1, 1));
  EXPECT_FALSE(stores(Collective::reduceScatter, "direct", 1, 1));
}

TEST(Stored, AreNoMessagesOfACompressedSchedule) {
  for (const Collective collective : {Collective::broadcast, Collective::allGather}) {
    const Schedule plain = planned(collective, collective == Collective::broadcast ? "linear" : "direct", 2)[1];
    const Schedule encoded = schedule::compressed(plain).schedule;
    EXPECT_TRUE(storesMessages(plain, 1)) << nameOf(collective);
    EXPECT_FALSE(storesMessages(encoded, 1)) << nameOf(collective);
  }
}

TEST(Stored, GainWhereMemoryCarriesThemAndTheyAreNeitherShortNorLong) {
  for (const std::string_view name : builtInLinkNames()) {
    const LinkPrice price = Links::builtIn(name, 2).value().price(0, 1);
    const bool is_memory = name == "loopback" || name == "shm";
    EXPECT_EQ(storedGain(price, 1 << 18) > 1, is_memory) << name;
    EXPECT_EQ(storedGain(price, 1 << 14), 1) << name;
    EXPECT_EQ(storedGain(price, 1 << 20), 1) << name;
  }
}

double price_s(const std::vector<Schedule>& ranks, std::uint64_t bytes, std::string_view links) {
  Shape shape;
  shape.count = bytes;
  shape.element_bytes = 1;
  return simulate(ranks, shape, Links::builtIn(links, ranks[0].size).value()).value().finish_s;
}

TEST(Stored, ABroadcastInMemoryIsCheaperWholeThanCutUnlessItIsLong) {
  const std::vector<Schedule> whole = planned(Collective::broadcast, "linear", 2);
  const std::vector<Schedule> cut = planned(Collective::broadcast, "linear", 2, 8);
  EXPECT_LT(price_s(whole, 1 << 18, "shm"), price_s(cut, 1 << 18, "shm") / 1.3);
  EXPECT_GT(price_s(whole, 1 << 20, "shm"), price_s(cut, 1 << 20, "shm") / 1.1);
}

} // namespace
} // namespace goss::schedule
