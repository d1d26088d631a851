// Proves every algorithm of the catalogue with the checker, for 1 to GOSS_CHECK_RANKS (CMakeLists.txt) ranks.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "collectives/catalogue.h"
#include "schedule/checker.h"
#include "schedule/contract.h"
#include "schedule/sample_requests.h"
#include "tests/collectives/entry_name.h"

namespace goss::collectives {
namespace {

class EveryAlgorithm : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryAlgorithm, IsCorrectForAllSizes) {
  const Catalogue catalogue = builtinAlgorithms();
  const CatalogueEntry& entry = catalogue.entries()[GetParam()];
  int checked = 0;
  bool always_identical = true;
  for (int p = 1; p <= GOSS_CHECK_RANKS; ++p) {
    for (const PlanRequest& request : schedule::sampleRequests(*entry.algorithm, entry.collective, p)) {
      const Result<schedule::RunFacts> facts = schedule::checkAlgorithm(*entry.algorithm, request);
      ASSERT_TRUE(facts.isOk()) << facts.status().text();
      always_identical = always_identical && facts.value().identical_bits;
      ++checked;
    }
  }
  EXPECT_GE(checked, std::bit_width(unsigned{GOSS_CHECK_RANKS})); // the powers of two alone
  EXPECT_EQ(entry.algorithm->traits().identical_bits, always_identical);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryAlgorithm, everyEntry(), entryName);

} // namespace
} // namespace goss::collectives
