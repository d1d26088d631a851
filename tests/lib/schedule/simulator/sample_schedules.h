/// Small schedules in the textbook form, written independently of collectives/, for tests of what prices and picks
/// schedules.
#ifndef GOSS_TESTS_LIB_SCHEDULE_SIMULATOR_SAMPLE_SCHEDULES_H_
#define GOSS_TESTS_LIB_SCHEDULE_SIMULATOR_SAMPLE_SCHEDULES_H_

#include <string>
#include <vector>

#include "gossamer/schedule.h"

namespace goss::samples {

/// Skip lists of the circulant family.
std::vector<int> halvingSkips(int size);
std::vector<int> unitSkips(int size);

/// All-reduce by reduce-scatter and all-gather over a skip list; one message of a round is received into scratch, then
/// added.
Schedule circulantAllReduce(int size, int rank, const std::vector<int>& skips, const std::string& name);
/// All-reduce around a ring; `order` empty: 0, 1, ...
Schedule ringAllReduce(int size, int rank, std::vector<int> order = {});
/// All-reduce of whole vectors by recursive doubling, any size.
Schedule doublingAllReduce(int size, int rank);
/// Broadcast down a binomial tree from rank 0.
Schedule binomialBroadcast(int size, int rank);
/// Broadcast down a chain from rank 0, `blocks` pieces one after the other.
Schedule chainBroadcast(int size, int rank, std::uint32_t blocks);

template <typename Plan>
std::vector<Schedule> allRanks(int size, Plan&& plan) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < size; ++rank)
    schedules.push_back(plan(rank));
  return schedules;
}

} // namespace goss::samples

#endif // GOSS_TESTS_LIB_SCHEDULE_SIMULATOR_SAMPLE_SCHEDULES_H_
