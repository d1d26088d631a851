/// Runs the schedules of all ranks on symbols instead of numbers: a value is the set of contributions in it.
#ifndef GOSS_LIB_SCHEDULE_SYMBOLIC_H_
#define GOSS_LIB_SCHEDULE_SYMBOLIC_H_

#include <cstdint>
#include <span>

#include "gossamer/schedule.h"
#include "gossamer/status.h"
#include "schedule/channels.h"
#include "schedule/symbols.h"

namespace goss::schedule {

inline constexpr int kUnlimited = -1;

/// One way to run a collective.
struct RunMode {
  /// Messages that a channel holds; 0: a send completes together with its receive (rendezvous).
  int capacity = kUnlimited;
  bool in_place = false;  ///< Input c and output c are one cell.
  std::uint64_t seed = 1; ///< Picks the interleaving.
};

/// Facts that a run has shown.
struct RunFacts {
  bool identical_bits = true; ///< Every copy of a delivered chunk was computed by the same (commutative) expression.
  /// As identical_bits with a lossy codec, if an owner replaces its sum by the encoded form that it sent.
  bool identical_when_lossy = true;
  /// Encodings on the longest path, if every sent sum is encoded and encoded bytes are forwarded unchanged.
  int lossy_depth = 0;
  std::uint64_t messages = 0; ///< Sum over all ranks.
  int longest_path = 0;       ///< Messages that follow one another: the latency term.
};

/// Single-threaded and deterministic in `mode.seed`. The ranks must have passed checkStructure() and pairMessages().
/// Errors (internal), naming rank, step and chunk: an undefined read, a contribution counted twice, chunks mixed up,
/// messages of a different number of slots, a wrong finish, a deadlock, an output that is missing or incomplete.
Result<RunFacts> runSymbolically(std::span<const Schedule> ranks, const ChannelTable& table, const RunMode& mode);

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_SYMBOLIC_H_
