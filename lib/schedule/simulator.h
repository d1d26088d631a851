/// Prices a schedule: runs the schedules of all ranks in virtual time over Links.
///
/// The model. A message leaves when its send may run, the earlier messages of its channel have left, and either its
/// receive may run or the receiver can keep it (it has at most LinkPrice::eager_bytes). Messages of one rank leave one
/// after the other, in program order where several wait; each occupies the rank's port for bytes / port bandwidth +
/// overhead. The flow of a pair of ranks, and the receiver's port, serve messages in the order in which they come.
/// Steps that combine or copy bytes share the rank's one processor. If the schedules have a Symmetry, the ranks of one
/// block stand for all: what such a rank sends to another block, it receives at the same time from the opposite block.
/// The same holds within the groups of a block. Not modelled: incast, oversubscribed switches, caches, more ranks than
/// cores.
#ifndef GOSS_LIB_SCHEDULE_SIMULATOR_H_
#define GOSS_LIB_SCHEDULE_SIMULATOR_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gossamer/algorithm.h"
#include "gossamer/schedule.h"
#include "schedule/layout.h"
#include "schedule/links.h"

namespace goss::schedule {

/// Compression ratio and speeds of a codec.
struct CodecPrice {
  double payload_ratio = 1;        ///< Bytes of a payload for each byte of the values.
  double encode_bytes_per_s = 2e9; ///< Bytes of values.
  double decode_bytes_per_s = 4e9; ///< Bytes of values that one payload becomes.
  /// Bytes of values to which a payload is added; a sparse payload touches few of them.
  double add_bytes_per_s = 4e9;
};

struct SimulationOptions {
  std::uint32_t fragments = 1; ///< The buffer is cut into so many parts; each runs the whole schedule.
  std::uint32_t window = 1;    ///< Fragments in flight on a rank; > 0.
  /// At most so many fragments are simulated (>= 2). Time and traffic of the others are extrapolated from the later
  /// half of these.
  std::uint32_t detailed_fragments = 16;
  CodecPrice codec = {}; ///< Used by compressed schedules.
  /// If it has a period, simulate() gets only the schedules of ranksToSimulate(). Links then repeat after the period,
  /// or after a part of it, and are equal within groups of `local` ranks.
  Symmetry symmetry = {};
};

/// The ranks, of `size`, whose schedules stand for those of all.
[[nodiscard]] std::vector<int> ranksToSimulate(const Symmetry& symmetry, int size);

struct RankTraffic {
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages_sent = 0;
  double finish_s = 0; ///< Time when the last step ends.
};

struct Simulation {
  double finish_s = 0;
  /// The time that the busiest port, flow or processor needs: a lower bound for any number of fragments.
  double least_s = 0;
  int critical_rank = 0;          ///< The rank that finishes last; the lowest of several.
  std::vector<RankTraffic> ranks; ///< Of the ranks whose schedules simulate() got.
};

/// `schedules` are those of ranksToSimulate(), of one collective, with size == links.size(). Pure and deterministic:
/// the same bits on every machine with IEEE doubles, so that ranks plan alike without communicating. O(m log m) for m
/// steps. Errors: internal, if a send has no receive, or steps wait for each other in a circle; the text names where.
Result<Simulation> simulate(std::span<const Schedule> schedules, const Shape& shape, const Links& links,
                            const SimulationOptions& options = {});

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_SIMULATOR_H_
