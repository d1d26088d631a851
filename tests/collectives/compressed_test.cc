// Proves what lib/schedule/compress.h makes of every algorithm: that it is still the collective, and that all ranks
// decode the same bytes.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "collectives/catalogue.h"
#include "schedule/checker.h"
#include "schedule/compress.h"
#include "schedule/contract.h"
#include "schedule/sample_requests.h"
#include "tests/collectives/entry_name.h"

namespace goss::collectives {
namespace {

using schedule::CompressedFacts;

/// Every rank gets the same results in these.
bool deliversToAll(Collective collective) {
  return collective == Collective::allReduce || collective == Collective::broadcast ||
         collective == Collective::allGather;
}

/// 1..GOSS_CHECK_RANKS.
std::vector<int> ranksToCheck() {
  std::vector<int> ranks(GOSS_CHECK_RANKS);
  std::iota(ranks.begin(), ranks.end(), 1);
  return ranks;
}

/// All samples up to 9 ranks. Beyond that one for each number of ranks, another one each time, or the largest would
/// take all the time.
std::vector<PlanRequest> requestsFor(const CatalogueEntry& entry, int ranks) {
  constexpr int kAllUpTo = 9;
  std::vector<PlanRequest> requests = schedule::sampleRequests(*entry.algorithm, entry.collective, ranks);
  if (ranks <= kAllUpTo || requests.size() <= 1) return requests;
  return {requests[static_cast<std::size_t>(ranks) % requests.size()]};
}

/// Beyond so many ranks one execution each: four of a direct exchange over 64 ranks take a second.
schedule::Interleavings interleavingsFor(int ranks) {
  constexpr int kAllUpTo = 16;
  return ranks <= kAllUpTo ? schedule::Interleavings::all : schedule::Interleavings::one;
}

class EveryCompressed : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryCompressed, IsCorrectAndTheSameOnAllRanks) {
  const Catalogue catalogue = builtinAlgorithms();
  const CatalogueEntry& entry = catalogue.entries()[GetParam()];
  if (!schedule::canCompress(entry.collective)) return;
  for (const int p : ranksToCheck()) {
    for (const PlanRequest& request : requestsFor(entry, p)) {
      const Result<CompressedFacts> facts =
          schedule::checkCompressed(*entry.algorithm, request, 0, schedule::Sums::decoded, interleavingsFor(p));
      ASSERT_TRUE(facts.isOk()) << facts.status().text();
      const int depth = facts.value().run.lossy_depth;
      EXPECT_TRUE(!deliversToAll(entry.collective) || facts.value().diverges || facts.value().run.identical_bits)
          << p << " ranks";
      EXPECT_TRUE(facts.value().requantizes || depth <= 2) << depth << " encodings, " << p << " ranks";
    }
  }
}

TEST_P(EveryCompressed, IsCorrectWhenOnlyWhatLeavesANodeIsEncoded) {
  const Catalogue catalogue = builtinAlgorithms();
  const CatalogueEntry& entry = catalogue.entries()[GetParam()];
  if (!schedule::canCompress(entry.collective)) return;
  for (const int p : {4, 6, 8, 12, 16}) {
    for (const PlanRequest& request : schedule::sampleRequests(*entry.algorithm, entry.collective, p)) {
      for (const int node_size : {2, 3, 4}) {
        const Result<CompressedFacts> facts = schedule::checkCompressed(*entry.algorithm, request, node_size);
        ASSERT_TRUE(facts.isOk()) << facts.status().text();
        const bool legal = !facts.value().diverges && !facts.value().requantizes;
        EXPECT_TRUE(!deliversToAll(entry.collective) || !legal || facts.value().run.identical_bits)
            << p << " ranks on nodes of " << node_size;
      }
    }
  }
}

TEST_P(EveryCompressed, EncodesOnceWhereSumsAreMadeOfPayloads) {
  const Catalogue catalogue = builtinAlgorithms();
  const CatalogueEntry& entry = catalogue.entries()[GetParam()];
  if (!schedule::canCompress(entry.collective) || !schedule::reduces(entry.collective)) return;
  for (const int p : ranksToCheck()) {
    for (const PlanRequest& request : requestsFor(entry, p)) {
      const Result<CompressedFacts> facts =
          schedule::checkCompressed(*entry.algorithm, request, 0, schedule::Sums::payloads, interleavingsFor(p));
      ASSERT_TRUE(facts.isOk()) << facts.status().text();
      EXPECT_LE(facts.value().run.lossy_depth, 1) << p << " ranks";
      EXPECT_FALSE(facts.value().requantizes || facts.value().diverges) << p << " ranks";
      EXPECT_TRUE(!deliversToAll(entry.collective) || !entry.algorithm->traits().identical_bits ||
                  facts.value().run.identical_bits)
          << p << " ranks";
    }
  }
}

TEST(Compressed, AllowsTheKnownPatterns) {
  struct Known {
    const char* name;
    bool requantizes;
    int depth; ///< Encodings for 16 ranks.
  };
  const Catalogue catalogue = builtinAlgorithms();
  for (const Known& known : {Known{"direct", false, 2}, Known{"flat", false, 1}, Known{"ring", true, 16}}) {
    const Algorithm& algorithm = *catalogue.find(Collective::allReduce, known.name);
    const auto facts = schedule::checkCompressed(algorithm, schedule::requestFor(Collective::allReduce, 16));
    ASSERT_TRUE(facts.isOk()) << facts.status().text();
    EXPECT_EQ(facts.value().requantizes, known.requantizes) << known.name;
    EXPECT_FALSE(facts.value().diverges) << known.name;
    EXPECT_EQ(facts.value().run.lossy_depth, known.depth) << known.name;
  }
  PlanRequest hierarchical = schedule::requestFor(Collective::allReduce, 16);
  hierarchical.group_size = 4;
  const Algorithm& two_level = *catalogue.find(Collective::allReduce, "hier-direct-direct");
  const auto facts = schedule::checkCompressed(two_level, hierarchical, 4);
  ASSERT_TRUE(facts.isOk()) << facts.status().text();
  EXPECT_FALSE(facts.value().requantizes || facts.value().diverges);
  EXPECT_EQ(facts.value().run.lossy_depth, 2) << "exact inside a node, two-shot between nodes";
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryCompressed, everyEntry(), entryName);

} // namespace
} // namespace goss::collectives
