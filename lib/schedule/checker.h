/// Proves that an algorithm is right: executes the schedules of all ranks symbolically and compares their sizes. Pure;
/// no threads.
#ifndef GOSS_LIB_SCHEDULE_CHECKER_H_
#define GOSS_LIB_SCHEDULE_CHECKER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gossamer/algorithm.h"
#include "gossamer/schedule.h"
#include "gossamer/status.h"
#include "schedule/compress.h"
#include "schedule/layout.h"
#include "schedule/symbolic.h"

namespace goss::schedule {

/// Checks the schedules of all ranks of one collective; ranks[r] is rank r's. Structure first (structure.h,
/// channels.h), then four seeded random interleavings: channel capacity unlimited (separate buffers and in place), 1,
/// and 0 (rendezvous). Errors (internal): the text names rank, step and chunk.
Result<RunFacts> checkSchedules(std::span<const Schedule> ranks, std::uint64_t seed = 1);

/// Checks that every message has the same elements, slot by slot, at both ends, and that all messages together have
/// `expected_elems` elements. shapes[r] is what rank r's call moves. Errors (internal): the text names rank, step and
/// sizes.
Status checkSizes(std::span<const Schedule> ranks, std::span<const Shape> shapes, std::uint64_t expected_elems);

/// Plans `request` for all ranks (request.rank is ignored) and checks schedules, sizes for the counts 0, 1, p-1, p, p+1
/// and a prime, equal and unequal, and the wire formula, and that all ranks end with the same bits if the traits say
/// so. Precondition: algorithm.supports(request), size <= kMaxCheckedRanks.
Result<RunFacts> checkAlgorithm(const Algorithm& algorithm, const PlanRequest& request);

struct CompressedFacts {
  RunFacts run;             ///< With a lossy codec, identical_bits and lossy_depth refer to that codec.
  bool requantizes = false; ///< On any rank; so is the next.
  bool diverges = false;
};

/// How often schedules are executed.
enum class Interleavings : std::uint8_t {
  all, ///< As checkSchedules() does.
  one  ///< For many ranks: rendezvous where their number is even, in place where it is odd.
};

/// As checkAlgorithm(), for the schedules that compressed() makes. node_size > 1: only messages between runs of so many
/// ranks are encoded.
Result<CompressedFacts> checkCompressed(const Algorithm& algorithm, const PlanRequest& request, int node_size = 0,
                                        Sums sums = Sums::decoded, Interleavings interleavings = Interleavings::all);

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_CHECKER_H_
