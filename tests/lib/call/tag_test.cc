#include "call/tag.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "collectives/catalogue.h"

namespace goss {
namespace {

TEST(Tags, OfDifferentMessagesDiffer) {
  const std::uint32_t contexts[] = {0, 1, 0x5555, kMaxContext};
  const std::uint64_t sequences[] = {0, 1, 0x2aaaaa, kSequenceMask};
  const std::uint32_t fragments[] = {0, 1, 0x155, kMaxFragments - 1};
  const std::uint32_t ordinals[] = {0, 1, 0x1555, kMaxOrdinals - 1};
  const std::int32_t user_tags[] = {0, 1, 0x2aaaaaaa, 0x7fffffff};
  std::set<Tag> seen{kControlTag};
  std::size_t count = 1;
  for (const std::uint32_t context : contexts) {
    for (const std::uint64_t sequence : sequences) {
      for (const std::uint32_t fragment : fragments) {
        for (const std::uint32_t ordinal : ordinals) {
          seen.insert(collectiveTag(context, sequence, fragment, ordinal));
          ++count;
        }
      }
    }
    for (const std::int32_t user_tag : user_tags) {
      seen.insert(pointToPointTag(context, user_tag));
      ++count;
    }
  }
  EXPECT_EQ(seen.size(), count);
}

TEST(Tags, EachBitBelongsToOneField) {
  std::uint64_t used = 0;
  const auto expectOwnBits = [&](Tag bits) {
    EXPECT_EQ(used & bits, 0u);
    used |= bits;
  };
  expectOwnBits(collectiveTag(0xffff, 0, 0, 0));
  expectOwnBits(collectiveTag(0, kSequenceMask, 0, 0));
  expectOwnBits(collectiveTag(0, 0, kMaxFragments - 1, 0));
  expectOwnBits(collectiveTag(0, 0, 0, kMaxOrdinals - 1));
  EXPECT_EQ(~used, pointToPointTag(0, 0)) << "the one bit left tells messages from collectives";
}

TEST(Tags, OfTheSequenceWrapAround) {
  EXPECT_EQ(collectiveTag(3, kSequenceMask + 1, 1, 2), collectiveTag(3, 0, 1, 2));
  EXPECT_EQ(collectiveTag(3, (std::uint64_t{1} << 40) + 5, 1, 2), collectiveTag(3, 5, 1, 2));
}

TEST(Tags, HaveRoomForTheMessagesOfEveryAlgorithm) {
  const Catalogue catalogue = collectives::builtinAlgorithms();
  for (const CatalogueEntry& entry : catalogue.entries()) {
    for (const int size : {2, 5, 16}) {
      PlanRequest request;
      request.collective = entry.collective;
      request.size = size;
      request.blocks = entry.algorithm->traits().pipelined ? 1024 : 1;
      request.group_size = size == 16 ? 4 : 0;
      request.partition = Partition::even;
      if (!entry.algorithm->supports(request)) request.partition = Partition::byRank;
      if (!entry.algorithm->supports(request)) continue;
      std::uint32_t highest = 0;
      for (const Step& step : entry.algorithm->plan(request).steps)
        highest = std::max(highest, step.ordinal);
      EXPECT_LT(highest, kMaxOrdinals) << entry.algorithm->name() << " of " << size;
    }
  }
}

} // namespace
} // namespace goss
