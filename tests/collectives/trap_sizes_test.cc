// Sizes at which another library's circulant schedules disagree between sender and receiver, and the tables far beyond
// 64 ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "collectives/catalogue.h"
#include "collectives/circulant.h"
#include "collectives/circulant_pipeline.h"
#include "schedule/checker.h"
#include "schedule/sample_requests.h"
#include "tests/support/quick.h"

namespace goss::collectives {
namespace {

using schedule::requestFor;

class TrapSizes : public testing::TestWithParam<int> {};

TEST_P(TrapSizes, EveryOneLevelAlgorithmIsCorrect) {
  const Catalogue catalogue = builtinAlgorithms();
  for (const CatalogueEntry& entry : catalogue.entries()) {
    PlanRequest request = requestFor(entry.collective, GetParam());
    if (!entry.algorithm->supports(request)) continue;
    const Result<schedule::RunFacts> facts = schedule::checkAlgorithm(*entry.algorithm, request);
    EXPECT_TRUE(facts.isOk()) << facts.status().text();
  }
}

TEST_P(TrapSizes, CirculantPipelineIsCorrectForManyBlocks) {
  const Catalogue catalogue = builtinAlgorithms();
  for (const Collective collective : {Collective::broadcast, Collective::reduce}) {
    PlanRequest request = requestFor(collective, GetParam());
    request.root = GetParam() / 2;
    for (const std::uint32_t blocks : {2u, 7u, 8u, 32u}) {
      request.blocks = blocks;
      const Algorithm& algorithm = *catalogue.find(collective, "circulant-pipeline");
      const Result<schedule::RunFacts> facts = schedule::checkAlgorithm(algorithm, request);
      EXPECT_TRUE(facts.isOk()) << facts.status().text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, TrapSizes,
                         testing::ValuesIn(test::fullOr(std::vector<int>{33, 65, 66, 67, 68, 69, 73, 81, 129},
                                                        std::vector<int>{33, 65, 67})));

/// One size's receive schedules, and the skips they are for, ascending.
struct Tables {
  std::vector<int> skips;
  std::vector<std::vector<int>> receives;
};

Tables tablesFor(int p) {
  Tables tables{halvingSkips(p), {}};
  std::reverse(tables.skips.begin(), tables.skips.end());
  for (int v = 0; v < p; ++v)
    tables.receives.push_back(circulantReceiveSchedule(p, v));
  return tables;
}

/// Block `entry` of round k is sent by `position`: it came in an earlier round, or one phase ago as the base block.
bool holdsBefore(const std::vector<int>& receives, std::size_t k, int entry) {
  const int rounds = static_cast<int>(receives.size());
  const int base = *std::max_element(receives.begin(), receives.end());
  const auto earlier = receives.begin() + static_cast<std::ptrdiff_t>(k);
  return entry == base - rounds || std::find(receives.begin(), earlier, entry) != earlier;
}

TEST(ReceiveSchedule, IsConsistentUpToSixHundredRanks) {
  for (int p = 2; p <= 600; ++p) {
    const Tables tables = tablesFor(p);
    const std::size_t rounds = tables.skips.size() - 1;
    for (int v = 0; v < p; ++v) {
      const std::vector<int>& own = tables.receives[static_cast<std::size_t>(v)];
      ASSERT_EQ(own.size(), rounds) << p << " ranks, position " << v;
      ASSERT_EQ(std::set<int>(own.begin(), own.end()).size(), rounds) << p << " ranks, position " << v;
      ASSERT_EQ(std::count_if(own.begin(), own.end(), [](int entry) { return entry >= 0; }), v == 0 ? 0 : 1);
      for (std::size_t k = 0; k < rounds; ++k) {
        const int to = (v + tables.skips[k]) % p;
        if (to == 0) continue;
        const int sent = tables.receives[static_cast<std::size_t>(to)][k];
        const bool legal = v == 0 ? sent == static_cast<int>(k) : holdsBefore(own, k, sent);
        ASSERT_TRUE(legal) << p << " ranks, position " << v << " round " << k << " sends " << sent;
      }
    }
  }
}

TEST(Skips, AreLegalForAllSizes) {
  for (int p = 1; p <= 300; ++p) {
    for (const std::vector<int>& skips :
         {unitSkips(p), halvingSkips(p), doublingSkips(p), radixSkips(p, 4), radixSkips(p, 8)}) {
      EXPECT_EQ(skips.front(), p);
      EXPECT_EQ(skips.back(), 1);
      for (std::size_t k = 0; k + 1 < skips.size(); ++k) {
        EXPECT_GT(skips[k], skips[k + 1]);
        EXPECT_LE(skips[k] - skips[k + 1], skips[k + 1]);
      }
    }
  }
}

} // namespace
} // namespace goss::collectives
