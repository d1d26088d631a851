// Random damage to correct schedules, down to ranges and numbers that point anywhere: the checker answers, and what it
// still accepts computes the right numbers.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "collectives/catalogue.h"
#include "schedule/checker.h"
#include "schedule/compress.h"
#include "schedule/contract.h"
#include "schedule/sample_requests.h"
#include "tests/collectives/concrete_run.h"

namespace goss::collectives {
namespace {

/// Damages a schedule at a random place. May do nothing.
class Vandal {
 public:
  explicit Vandal(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void damage(Schedule& schedule) {
    switch (below(8)) {
      case 0:
        return damageFrame(schedule);
      case 1:
        return damagePools(schedule);
      case 2:
      case 3:
        return rearrange(schedule);
      default:
        if (!schedule.steps.empty()) damageStep(schedule, schedule.steps[below(schedule.steps.size())]);
    }
  }

 private:
  /// Near, at the edge of `bound`, or anywhere.
  std::uint32_t number(std::size_t bound) {
    const std::array<std::uint32_t, 7> edges{0, 1, 1U << 31, ~0U, ~0U - 1, static_cast<std::uint32_t>(bound), 1U << 16};
    const std::size_t choice = below(4);
    if (choice == 0) return edges[below(edges.size())];
    if (choice == 1) return static_cast<std::uint32_t>(random_());
    return static_cast<std::uint32_t>(below(bound + 2));
  }
  int rankOf(const Schedule& schedule) {
    const std::size_t near = below(static_cast<std::size_t>(std::max(1, schedule.size)) + 2);
    return below(5) == 0 ? static_cast<int>(random_()) : static_cast<int>(near) - 1;
  }
  void damageRange(PoolRange& range, std::size_t pool) {
    if (below(2) == 0)
      range.first = number(pool);
    else
      range.count = below(2) == 0 ? number(pool) : number(3);
  }

  void damageFrame(Schedule& schedule) {
    switch (below(7)) {
      case 0:
        schedule.collective = static_cast<Collective>(below(14));
        break;
      case 1:
        schedule.size = rankOf(schedule);
        break;
      case 2:
        schedule.rank = rankOf(schedule);
        break;
      case 3:
        schedule.root = rankOf(schedule);
        break;
      case 4:
        schedule.partition = static_cast<Partition>(below(3));
        break;
      default:
        schedule.chunk_count = number(schedule.chunk_count);
    }
  }

  void damagePools(Schedule& schedule) {
    switch (below(7)) {
      case 0:
        return schedule.slots.resize(below(schedule.slots.size() + 2));
      case 1:
        return schedule.dependencies.resize(below(schedule.dependencies.size() + 2), number(schedule.steps.size()));
      case 2:
        return schedule.scratch_like.resize(below(schedule.scratch_like.size() + 2), number(schedule.chunk_count));
      case 3:
        return schedule.payload_like.resize(below(schedule.payload_like.size() + 2),
                                            {static_cast<Space>(below(6)), number(schedule.chunk_count)});
      case 4:
        return schedule.payload_finished.resize(below(schedule.payload_finished.size() + 2), below(2) == 0);
      case 5:
        if (!schedule.scratch_like.empty())
          schedule.scratch_like[below(schedule.scratch_like.size())] = number(schedule.chunk_count);
        return;
      default:
        if (!schedule.payload_like.empty())
          schedule.payload_like[below(schedule.payload_like.size())].index = number(schedule.chunk_count);
    }
  }

  /// Steps and slots that are missing, twice there, or in each other's place.
  void rearrange(Schedule& schedule) {
    auto& steps = schedule.steps;
    auto& slots = schedule.slots;
    auto& before = schedule.dependencies;
    const auto at = static_cast<std::ptrdiff_t>(below(steps.size()));
    if (steps.empty() || slots.empty()) return;
    switch (below(6)) {
      case 0:
        steps.erase(steps.begin() + at);
        return;
      case 1:
        steps.insert(steps.begin() + at, Step(steps[below(steps.size())]));
        return;
      case 2:
        return std::swap(steps[below(steps.size())], steps[below(steps.size())]);
      case 3:
        return std::swap(slots[below(slots.size())], slots[below(slots.size())]);
      case 4:
        if (!before.empty()) before[below(before.size())] = number(steps.size());
        return;
      default:
        slots[below(slots.size())] = {static_cast<Space>(below(6)), number(schedule.chunk_count)};
    }
  }

  void damageStep(Schedule& schedule, Step& step) {
    switch (below(7)) {
      case 0:
        step.kind = static_cast<StepKind>(below(10));
        break;
      case 1:
        step.finishes = !step.finishes;
        break;
      case 2:
        step.peer = rankOf(schedule);
        break;
      case 3:
        step.ordinal = number(2);
        break;
      case 4:
        return damageRange(step.targets, schedule.slots.size());
      case 5:
        return damageRange(step.sources, schedule.slots.size());
      default:
        return damageRange(step.dependencies, schedule.dependencies.size());
    }
  }

  std::mt19937_64 random_;
};

std::vector<Schedule> planSome(const CatalogueEntry& entry, Vandal& random) {
  const int ranks = 2 + static_cast<int>(random.below(5));
  const auto requests = schedule::sampleRequests(*entry.algorithm, entry.collective, ranks);
  if (requests.empty()) return {};
  PlanRequest request = requests[random.below(requests.size())];
  const bool encodes = schedule::canCompress(entry.collective) && random.below(3) == 0;
  std::vector<Schedule> schedules;
  for (request.rank = 0; request.rank < ranks; ++request.rank) {
    schedules.push_back(entry.algorithm->plan(request));
    if (encodes) schedules.back() = schedule::compressed(schedules.back(), {}, schedule::Sums::decoded).schedule;
  }
  return schedules;
}

/// Sizes are checked before anything else could go wrong with them.
void checkSomeSizes(const std::vector<Schedule>& schedules) {
  std::vector<schedule::Shape> shapes;
  for (const Schedule& schedule : schedules) {
    schedule::Shape shape;
    shape.count = 1009;
    shape.input_blocks.assign(schedule.chunk_count < 100 ? schedule.chunk_count : 0, {0, 3});
    shape.output_blocks = shape.input_blocks;
    shapes.push_back(shape);
  }
  (void)schedule::checkSizes(schedules, shapes, 12);
}

std::string runInEveryMode(const std::vector<Schedule>& schedules, std::uint64_t seed) {
  for (const bool in_place : {false, true}) {
    if (in_place && !schedule::allowsInPlace(schedules[0].collective)) continue;
    for (const bool rendezvous : {false, true}) {
      const std::string wrong = runConcretely(schedules, {in_place, rendezvous, seed});
      if (!wrong.empty()) return wrong + (in_place ? ", in place" : "") + (rendezvous ? ", rendezvous" : "");
    }
  }
  return "";
}

class RandomMutations : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomMutations, AreRejectedOrHarmless) {
  Vandal random(GetParam());
  const Catalogue catalogue = builtinAlgorithms();
  int accepted = 0;
  int rejected = 0;
  for (int round = 0; round < GOSS_MUTATIONS; ++round) {
    const CatalogueEntry& entry = catalogue.entries()[random.below(catalogue.entries().size())];
    if (isAmongNeighbors(entry.collective)) continue; // nobody has neighbours here, so there is nothing to damage
    std::vector<Schedule> schedules = planSome(entry, random);
    if (schedules.empty()) continue;
    SCOPED_TRACE(std::string(schedule::nameOf(entry.collective)) + " " + std::string(entry.algorithm->name()) +
                 ", round " + std::to_string(round));
    ASSERT_EQ(runInEveryMode(schedules, GetParam()), "") << "before any damage";
    for (std::size_t i = 0; i < 20; ++i) {
      std::vector<Schedule> damaged = schedules;
      for (std::size_t n = 0; n <= random.below(3); ++n)
        random.damage(damaged[random.below(damaged.size())]);
      checkSomeSizes(damaged);
      const bool passes = schedule::checkSchedules(damaged).isOk();
      ++(passes ? accepted : rejected);
      if (passes) {
        ASSERT_EQ(runInEveryMode(damaged, GetParam() + i), "") << "mutation " << i;
      }
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(rejected, 5 * accepted);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMutations, testing::Range<std::uint64_t>(1, 5));

} // namespace
} // namespace goss::collectives
