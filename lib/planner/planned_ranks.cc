#include "planner/planned_ranks.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "schedule/compress.h"

namespace goss {

namespace {

using schedule::Links;
using schedule::Shape;

/// Up to this many ranks on shared nodes are all simulated, because at their nodes' ports they meet different ranks.
constexpr int kFewRanks = 32;

} // namespace

std::uint64_t stepsOf(const std::vector<Schedule>& schedules) {
  std::uint64_t steps = 0;
  for (const Schedule& schedule : schedules)
    steps += schedule.steps.size();
  return steps;
}

std::uint64_t largestMessage(const std::vector<Schedule>& schedules, const Shape& shape) {
  std::uint64_t largest = 0;
  const schedule::ChunkSizes sizes(schedules[0], shape, 0, 1);
  for (const Schedule& schedule : schedules) {
    for (const Step& step : schedule.steps) {
      if (step.kind != StepKind::send) continue;
      std::uint64_t elems = 0;
      for (const Slot slot : schedule.slotsOf(step.targets))
        elems += sizes.of(schedule, slot);
      largest = std::max(largest, elems * shape.element_bytes);
    }
  }
  return largest;
}

bool hasOneReceiver(const Schedule& schedule) {
  int receiver = -1;
  for (const Step& step : schedule.steps) {
    if (step.kind != StepKind::send) continue;
    if (receiver >= 0 && step.peer != receiver) return false;
    receiver = step.peer;
  }
  return true;
}

Symmetry symmetryOf(const Question& question, const Candidate& candidate, const Links& links, int links_period) {
  if (links_period > 1 && links.size() <= kFewRanks) return {};
  // Whether results diverge depends on all ranks, and blocks of an order or of weights differ.
  if (question.compressed || !candidate.order.empty() || !candidate.weights.empty()) return {};
  Symmetry symmetry = candidate.algorithm->symmetry(requestFor(question, candidate, links.size(), 0));
  if (symmetry.period == 0) return {};
  const int period = std::lcm(symmetry.period, links_period);
  const bool divides = !symmetry.exclusive_or || std::has_single_bit(static_cast<unsigned>(period / symmetry.period));
  if (links_period > 1) symmetry.local = 1; // Ranks of a node share its port.
  if ((period >= links.size() && symmetry.local == 1) || !divides) return {};
  symmetry.period = period;
  return symmetry;
}

std::vector<Schedule> planAll(const Question& question, const Candidate& candidate, const Links& links,
                              const Symmetry& symmetry) {
  std::vector<Schedule> schedules;
  bool draws = false;
  for (const int rank : schedule::ranksToSimulate(symmetry, links.size())) {
    schedule::Compressed made = scheduleFor(question, candidate, links, rank);
    if (made.requantizes && !question.may_requantize) return {};
    draws = draws || (made.requantizes && question.stochastic);
    schedules.push_back(std::move(made.schedule));
  }
  const bool same = !question.compressed || question.collective != Collective::allReduce;
  return same || !schedule::resultsDiverge(schedules, draws) ? std::move(schedules) : std::vector<Schedule>();
}

schedule::SimulationOptions optionsFor(const Question& question, const Candidate& candidate, const Symmetry& symmetry) {
  schedule::SimulationOptions options;
  options.fragments = candidate.fragments;
  options.window = candidate.window;
  options.codec = question.codec;
  options.symmetry = symmetry;
  return options;
}

Links firstRanks(const Links& links, int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return links.subset(ranks);
}

Links someRanks(const Links& links, int size, int groups) {
  const int of_all = groups > 0 ? links.size() / groups : links.size();
  const int of_some = groups > 0 ? size / groups : size;
  std::vector<int> ranks;
  for (int first = 0; first < links.size(); first += of_all)
    for (int i = 0; i < of_some; ++i)
      ranks.push_back(first + static_cast<int>(static_cast<std::int64_t>(i) * of_all / of_some));
  return links.subset(ranks);
}

} // namespace goss
