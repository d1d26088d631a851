// The checker as a net: spoil one step of a correct schedule and it must say so, for every algorithm, every step and
// every way to spoil it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collectives/catalogue.h"
#include "schedule/checker.h"
#include "schedule/contract.h"
#include "schedule/sample_requests.h"

namespace goss::collectives {
namespace {

constexpr int kRanks = 8;

std::vector<Schedule> plan(const CatalogueEntry& entry) {
  PlanRequest request = schedule::requestFor(entry.collective, kRanks);
  request.root = 3;
  request.blocks = entry.algorithm->traits().pipelined ? 3 : 1;
  request.group_size = entry.algorithm->traits().takes_group ? 4 : 0;
  std::vector<Schedule> ranks;
  for (request.rank = 0; request.rank < kRanks; ++request.rank)
    ranks.push_back(entry.algorithm->plan(request));
  return ranks;
}

/// Calls `spoil(schedule, step)` on a copy for each step of each rank; where it returns true, the checker must object.
template <typename Spoil>
void expectCaught(Spoil spoil) {
  const Catalogue catalogue = builtinAlgorithms();
  int spoiled = 0;
  for (const CatalogueEntry& entry : catalogue.entries()) {
    const std::vector<Schedule> correct = plan(entry);
    ASSERT_TRUE(schedule::checkSchedules(correct).isOk());
    for (std::size_t r = 0; r < correct.size(); ++r) {
      for (std::size_t s = 0; s < correct[r].steps.size(); ++s) {
        std::vector<Schedule> ranks = correct;
        if (!spoil(ranks[r], ranks[r].steps[s])) continue;
        ++spoiled;
        ASSERT_FALSE(schedule::checkSchedules(ranks).isOk())
            << schedule::nameOf(entry.collective) << " " << entry.algorithm->name() << " rank " << r << " step " << s;
      }
    }
  }
  EXPECT_GT(spoiled, 100);
}

TEST(Mutations, ForgottenAdditionIsCaught) {
  expectCaught([](Schedule&, Step& step) {
    if (step.kind != StepKind::recvReduce) return false;
    step.kind = StepKind::recv;
    step.sources.count = 0;
    return true;
  });
}

TEST(Mutations, ForgottenFinishIsCaught) {
  expectCaught([](Schedule&, Step& step) {
    if (step.kind != StepKind::finish) return false;
    step.kind = StepKind::copy;
    return true;
  });
}

TEST(Mutations, ForgottenCopyIsCaught) {
  expectCaught([](Schedule&, Step& step) {
    if (step.kind != StepKind::copy) return false;
    step.targets.count = 0;
    step.sources.count = 0;
    return true;
  });
}

TEST(Mutations, AnotherPeerIsCaught) {
  expectCaught([](Schedule& schedule, Step& step) {
    if (step.peer < 0) return false;
    step.peer = (step.peer + 1) % schedule.size;
    return true;
  });
}

TEST(Mutations, AnotherChunkInAMessageIsCaught) {
  expectCaught([](Schedule& schedule, Step& step) {
    if (step.kind != StepKind::send || schedule.chunk_count < 2) return false;
    Slot& slot = schedule.slots[step.targets.first];
    if (slot.space == Space::scratch) return false; // another scratch slot may hold the same value
    slot.index = (slot.index + 1) % schedule.chunk_count;
    return true;
  });
}

TEST(Mutations, AMessageWithoutItsLastChunkIsCaught) {
  expectCaught([](Schedule&, Step& step) {
    if (step.kind != StepKind::send) return false;
    --step.targets.count;
    return true;
  });
}

TEST(Mutations, AStepThatWaitsForNothingIsCaught) {
  expectCaught([](Schedule&, Step& step) {
    if (step.dependencies.count == 0) return false;
    step.dependencies.count = 0;
    return true;
  });
}

} // namespace
} // namespace goss::collectives
