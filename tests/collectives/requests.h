// The requests that the tests put to an algorithm.
#ifndef GOSS_TESTS_COLLECTIVES_REQUESTS_H_
#define GOSS_TESTS_COLLECTIVES_REQUESTS_H_

#include <vector>

#include "gossamer/algorithm.h"

namespace goss::collectives {

/// Plain request for `size` ranks with the partition that the collective takes.
PlanRequest requestFor(Collective collective, int size);

/// Every variation that `algorithm` supports for `size` ranks: roots, uneven blocks, pipeline blocks, a shuffled order,
/// all group sizes.
std::vector<PlanRequest> variations(const Algorithm& algorithm, Collective collective, int size);

} // namespace goss::collectives

#endif // GOSS_TESTS_COLLECTIVES_REQUESTS_H_
