/// The schedules from which a candidate is priced: those of all ranks, or of few that stand for them.
#ifndef GOSS_LIB_PLANNER_PLANNED_RANKS_H_
#define GOSS_LIB_PLANNER_PLANNED_RANKS_H_

#include <cstdint>
#include <vector>

#include "gossamer/algorithm.h"
#include "planner/question.h"
#include "schedule/layout.h"
#include "schedule/links.h"
#include "schedule/simulator.h"

namespace goss {

/// How the candidate's ranks follow from one another over these links, which repeat after `links_period` ranks.
[[nodiscard]] Symmetry symmetryOf(const Question& question, const Candidate& candidate, const schedule::Links& links,
                                  int links_period);

/// The schedules of schedule::ranksToSimulate(); empty where a lossy codec would lose more with every rank, or results
/// would differ between ranks.
[[nodiscard]] std::vector<Schedule> planAll(const Question& question, const Candidate& candidate,
                                            const schedule::Links& links, const Symmetry& symmetry = {});

/// How the schedules of planAll() with this symmetry are simulated.
[[nodiscard]] schedule::SimulationOptions optionsFor(const Question& question, const Candidate& candidate,
                                                     const Symmetry& symmetry = {});

/// Steps of all the schedules.
[[nodiscard]] std::uint64_t stepsOf(const std::vector<Schedule>& schedules);

/// The largest message, in bytes of an unfragmented run.
[[nodiscard]] std::uint64_t largestMessage(const std::vector<Schedule>& schedules, const schedule::Shape& shape);

/// Whether all messages of the schedule go to the same rank.
[[nodiscard]] bool hasOneReceiver(const Schedule& schedule);

/// The prices among the first `size` ranks.
[[nodiscard]] schedule::Links firstRanks(const schedule::Links& links, int size);
/// The prices among `size` ranks at equal distances, so that each node keeps about its share of them. `groups` > 0,
/// which divides both numbers of ranks: equally many ranks of each of `groups` groups of consecutive ranks.
[[nodiscard]] schedule::Links someRanks(const schedule::Links& links, int size, int groups);

} // namespace goss

#endif // GOSS_LIB_PLANNER_PLANNED_RANKS_H_
