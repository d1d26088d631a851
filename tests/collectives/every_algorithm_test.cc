// Proves every algorithm of the catalogue with the checker, for every number of ranks that CI has time for.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collectives/catalogue.h"
#include "schedule/checker.h"
#include "schedule/contract.h"

namespace goss::collectives {
namespace {

bool movesBlocksOfRanks(Collective collective) {
  switch (collective) {
    case Collective::allGather:
    case Collective::reduceScatter:
    case Collective::allToAll:
    case Collective::gather:
    case Collective::scatter:
      return true;
    default:
      return false;
  }
}

class EveryAlgorithm : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryAlgorithm, IsCorrectForAllSizes) {
  const Catalogue catalogue = builtinAlgorithms();
  const CatalogueEntry& entry = catalogue.entries()[GetParam()];
  int supported = 0;
  for (int p = 1; p <= 64; ++p) {
    PlanRequest request;
    request.collective = entry.collective;
    request.size = p;
    if (movesBlocksOfRanks(entry.collective)) request.partition = Partition::byRank;
    if (!entry.algorithm->supports(request)) continue;
    ++supported;
    const Result<schedule::RunFacts> facts = schedule::checkAlgorithm(*entry.algorithm, request);
    ASSERT_TRUE(facts.isOk()) << facts.status().text();
  }
  EXPECT_GT(supported, 0);
}

std::string testName(const testing::TestParamInfo<std::size_t>& info) {
  const Catalogue catalogue = builtinAlgorithms();
  const CatalogueEntry& entry = catalogue.entries()[info.param];
  std::string name = std::string(schedule::nameOf(entry.collective)) + "_" + std::string(entry.algorithm->name());
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryAlgorithm,
                         testing::Range<std::size_t>(0, builtinAlgorithms().entries().size()), testName);

} // namespace
} // namespace goss::collectives
