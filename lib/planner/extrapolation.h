/// Prices among many ranks, as those among fewer suggest.
#ifndef GOSS_LIB_PLANNER_EXTRAPOLATION_H_
#define GOSS_LIB_PLANNER_EXTRAPOLATION_H_

#include <array>
#include <cstdint>
#include <vector>

#include "planner/question.h"

namespace goss {

/// The request of rank 0 among so many first ranks, in their own order and with root 0.
[[nodiscard]] PlanRequest requestAmong(const Question& question, const Candidate& candidate, int size);

/// Number of steps of rank 0 of `size` ranks; if they are many, extrapolated from two smaller numbers of ranks.
[[nodiscard]] std::uint64_t stepsOfOne(const Question& question, const Candidate& candidate, int size);

/// At most three smaller numbers of ranks, which the candidate supports: powers of two of groups, at most
/// `most_groups`, and a half and a quarter of them.
[[nodiscard]] std::vector<int> fewerRanks(const Question& question, const Candidate& candidate, int size,
                                          int most_groups);

/// At most three smaller numbers of ranks that the candidate supports, by halving, at which all ranks together have at
/// most `most_steps`. `keeps_groups`: as many groups, of fewer ranks each; else fewer groups of as many ranks.
[[nodiscard]] std::vector<int> halvedRanks(const Question& question, const Candidate& candidate, int size,
                                           std::uint64_t most_steps, bool keeps_groups);

/// The candidate among `some` of `size` ranks that are in as many groups.
[[nodiscard]] Candidate amongSome(const Candidate& candidate, int some, int size);

/// The price of `size` ranks from those of s, s/2 and s/4: continues the series of differences. These double where time
/// grows with the ranks (latencies of a ring), stay equal where it grows with their logarithm, and halve where it
/// saturates (bandwidth).
[[nodiscard]] double extrapolatedPrice(const std::array<double, 3>& prices_s, int s, int size);

} // namespace goss

#endif // GOSS_LIB_PLANNER_EXTRAPOLATION_H_
