/// Shares of vectors that fit links whose pairs differ.
#ifndef GOSS_LIB_SCHEDULE_SHARES_H_
#define GOSS_LIB_SCHEDULE_SHARES_H_

#include <vector>

#include "schedule/links.h"

namespace goss::schedule {

/// Shares of an all-reduce by direct exchange that is cut into many fragments, of which one is gathered while the next
/// is scattered; they sum to 1. Of one byte of vector the path from rank i to rank j carries w_i + w_j, and the port of
/// rank i moves 1 + (p - 2) w_i each way. The shares make the slowest of all these fastest, by a linear program that is
/// solved with the simplex method and Bland's rule (R. G. Bland, "New finite pivoting rules for the simplex method",
/// 1977). Pure: equal links give equal bits. Empty where ranks share nodes, for fewer than 3 ranks and more than 16,
/// and where the shares are equal.
std::vector<double> overlappedShares(const Links& links);

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_SHARES_H_
