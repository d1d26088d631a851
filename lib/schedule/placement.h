/// Orders of rings and shares of vectors that fit unequal links.
#ifndef GOSS_LIB_SCHEDULE_PLACEMENT_H_
#define GOSS_LIB_SCHEDULE_PLACEMENT_H_

#include <vector>

#include "schedule/links.h"

namespace goss::schedule {

/// Order of the ranks around a ring, beginning with rank 0, whose slowest edge for messages of `message_bytes` is
/// fastest, and among those the sum of the edges least: a ring runs at the speed of its slowest edge, so the shortest
/// tour can be nearly twice slower. Exact for up to 10 ranks, else a local search with a fixed seed. Deterministic.
std::vector<int> ringOrder(const Links& links, double message_bytes);

/// Shares of an all-reduce by direct exchange, which sum to 1: node i moves (1 + (p - 2) w_i) of the vector each way,
/// so faster nodes own more, and a node far slower than the others owns nothing. Empty when the ranks' ports are equal,
/// for fewer than 3 ranks, and where ranks share nodes.
std::vector<double> directShares(const Links& links);

/// Shares of the pairs (i, j) of rank i, in the first `group_size` of twice as many ranks, and rank group_size + j, at
/// i * group_size + j; they sum to 1. Each is proportional to the bandwidth of the slower direction of its path. Empty
/// when all are equal.
std::vector<double> pairShares(const Links& links, int group_size);

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_PLACEMENT_H_
