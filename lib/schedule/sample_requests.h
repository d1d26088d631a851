/// The requests by which an algorithm is proved.
#ifndef GOSS_LIB_SCHEDULE_SAMPLE_REQUESTS_H_
#define GOSS_LIB_SCHEDULE_SAMPLE_REQUESTS_H_

#include <vector>

#include "gossamer/algorithm.h"

namespace goss::schedule {

/// The plain request for `size` ranks with the partition of the collective: root 0, one block, natural order.
PlanRequest requestFor(Collective collective, int size);

/// Every variation that `algorithm` supports for `size` ranks: roots, uneven blocks, pipeline blocks, a shuffled order,
/// all group sizes.
std::vector<PlanRequest> sampleRequests(const Algorithm& algorithm, Collective collective, int size);

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_SAMPLE_REQUESTS_H_
