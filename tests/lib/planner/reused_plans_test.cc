// Which calls share a plan, and which plans a schedule.
#include <gtest/gtest.h>

#include <set>

#include "collectives/catalogue.h"
#include "tests/lib/planner/plan_keys.h"

namespace goss {
namespace {

using schedule::Links;
using test::bytesOf;
using test::kKiB;
using test::kMiB;

/// Of four ranks.
Links builtIn(std::string_view name) { return Links::builtIn(name, 4).take(); }

class ReusedPlans : public ::testing::Test {
 protected:
  const Catalogue catalogue_ = collectives::builtinAlgorithms();
};

TEST_F(ReusedPlans, OneHashLookUpAfterTheFirstCall) {
  Planner planner(1, builtIn("shm"), catalogue_);
  const PlanKey key = bytesOf(Collective::allReduce, 4096);
  const auto first = planner.plan(key).take();
  EXPECT_EQ(planner.plan(key).value().get(), first.get());
  EXPECT_EQ(planner.plan(bytesOf(Collective::allReduce, 4200)).value().get(), first.get()) << "the same size class";
  EXPECT_NE(planner.plan(bytesOf(Collective::allReduce, 16384)).value().get(), first.get());
  EXPECT_NE(planner.plan(bytesOf(Collective::allReduce, 4096, "ring")).value().get(), first.get());
  PlanKey rooted = bytesOf(Collective::broadcast, 4096);
  const auto from_0 = planner.plan(rooted).take();
  rooted.root = 1;
  EXPECT_NE(planner.plan(rooted).value().get(), from_0.get());
}

TEST_F(ReusedPlans, PlansOfOtherSizeClassesShareASchedule) {
  Preferences cut;
  cut.fragment_bytes = 64 * kKiB;
  Planner planner(1, builtIn("tcp"), catalogue_, cut);
  const auto plan = [&](Collective collective, std::uint64_t bytes, std::string_view algorithm, int root = 0) {
    PlanKey key = bytesOf(collective, bytes, algorithm);
    key.root = root;
    return planner.plan(key).value();
  };
  const auto small = plan(Collective::allReduce, 4 * kKiB, "ring");
  const auto large = plan(Collective::allReduce, 4 * kMiB, "ring");
  EXPECT_NE(small, large);
  EXPECT_EQ(small->schedule, large->schedule);
  EXPECT_NE(plan(Collective::allReduce, 4 * kMiB, "direct")->schedule, large->schedule);

  const auto from_0 = plan(Collective::broadcast, kMiB, "chain");
  EXPECT_EQ(from_0->schedule->chunk_count, 16u);
  const auto from_1 = plan(Collective::broadcast, kMiB, "chain", 1);
  EXPECT_NE(from_1->schedule, from_0->schedule) << "another root";
  EXPECT_EQ(from_1->schedule->root, 1);
  const auto longer = plan(Collective::broadcast, 2 * kMiB, "chain");
  EXPECT_NE(longer->schedule, from_0->schedule) << "more blocks";
  EXPECT_EQ(longer->schedule->chunk_count, 32u);

  PlanKey uneven = bytesOf(Collective::allGather, 0, "ring");
  const auto even = planner.plan(uneven).value();
  uneven.uneven = true;
  EXPECT_NE(planner.plan(uneven).value()->schedule, even->schedule) << "blocks of the ranks differ";

  planner.useLinks(builtIn("lan10g"));
  EXPECT_NE(plan(Collective::allReduce, 4 * kKiB, "ring")->schedule, small->schedule) << "other links";
}

TEST_F(ReusedPlans, OnlyPlansThatFitTogetherHaveEqualHashes) {
  const auto hash = [&](int rank, const Links& links, std::string_view algorithm, Preferences preferred = {}) {
    Planner planner(rank, links, catalogue_, std::move(preferred));
    return planner.plan(bytesOf(Collective::allReduce, 4 * kMiB, algorithm)).value()->hash;
  };
  const Links links = builtIn("lan10g");
  const std::uint64_t ring = hash(0, links, "ring");
  EXPECT_EQ(hash(3, links, "ring"), ring);
  EXPECT_NE(hash(0, links, "direct"), ring);
  EXPECT_NE(hash(0, links, "ring", {.fragment_bytes = 64 * kKiB}), hash(0, links, "ring", {.fragment_bytes = kMiB}));

  const auto blocks = [&](std::uint64_t fragment_bytes) {
    Planner planner(0, links, catalogue_, {.fragment_bytes = fragment_bytes});
    return planner.plan(bytesOf(Collective::broadcast, 4 * kMiB, "chain")).value();
  };
  EXPECT_EQ(blocks(64 * kKiB)->fragments, blocks(kMiB)->fragments);
  EXPECT_NE(blocks(64 * kKiB)->hash, blocks(kMiB)->hash) << "other blocks of a pipeline";

  Links crossed = links; // The ring goes over 0, 2, 1, 3.
  for (const auto& [one, other] : {std::pair(0, 1), {2, 3}}) {
    schedule::LinkPrice slow = links.price(one, other);
    slow.bandwidth_bytes_per_s /= 8;
    crossed.setPrice(one, other, slow);
    crossed.setPrice(other, one, slow);
  }
  EXPECT_NE(hash(0, crossed, "ring"), ring) << "another order of the ring";

  Links uneven = links;
  for (int peer = 1; peer < 4; ++peer) {
    schedule::LinkPrice slow = links.price(0, peer);
    slow.bandwidth_bytes_per_s /= 2;
    uneven.setPrice(0, peer, slow);
  }
  Planner weighted(0, uneven, catalogue_);
  const auto plan = weighted.plan(bytesOf(Collective::allReduce, 64 * kMiB, "direct")).value();
  EXPECT_FALSE(plan->weights.empty());
  Planner even(0, links, catalogue_);
  EXPECT_NE(even.plan(bytesOf(Collective::allReduce, 64 * kMiB, "direct")).value()->hash, plan->hash);
}

TEST_F(ReusedPlans, SizeClassesCoverAllSizesOnce) {
  Planner planner(0, builtIn("tcp"), catalogue_);
  std::set<const Plan*> seen;
  const Plan* last = nullptr;
  for (std::uint64_t bytes = 1; bytes < (std::uint64_t{1} << 50); bytes += 1 + bytes / 7) {
    const auto plan = planner.plan(bytesOf(Collective::allGather, bytes, "ring"));
    ASSERT_TRUE(plan.isOk()) << bytes << " bytes";
    if (plan.value().get() == last) continue;
    last = plan.value().get();
    EXPECT_TRUE(seen.insert(last).second) << "a class that begins again at " << bytes << " bytes";
  }
  EXPECT_GT(seen.size(), 40u);
}

} // namespace
} // namespace goss
