/// What each collective promises: which chunks a rank's input holds at the beginning, which chunks of its output the
/// collective writes, and whose contributions they contain.
#ifndef GOSS_LIB_SCHEDULE_CONTRACT_H_
#define GOSS_LIB_SCHEDULE_CONTRACT_H_

#include <cstdint>
#include <string_view>

#include "gossamer/neighborhood.h"
#include "gossamer/types.h"

namespace goss::schedule {

/// One rank's part in a collective.
struct Role {
  Collective collective = Collective::barrier;
  int size = 1;
  int rank = 0;
  int root = 0;
  const Neighborhood* neighborhood = nullptr; ///< Neighbour collectives.
};

/// The ranks first..last-1.
struct RankRange {
  int first = 0;
  int last = 0;
};

/// Lower-case English name with underscores, such as "all_reduce".
std::string_view nameOf(Collective collective);

/// Whether chunk `chunk` is in this rank's input when the collective begins.
bool startsInInput(const Role& role, std::uint32_t chunk);

/// Whether the collective writes chunk `chunk` of this rank's output. It must not touch other chunks.
bool delivers(const Role& role, std::uint32_t chunk);

/// The ranks whose contributions a delivered chunk contains, each once. For neighbor_all_reduce this is the rank
/// itself; the schedule names the neighbours whose weighted contributions the chunk contains too.
RankRange contributors(const Role& role, std::uint32_t chunk);

/// Whether the collective combines contributions by the caller's operation, and so finishes each output once (an
/// average divides it).
bool reduces(Collective collective);

/// Whether the collective moves one block per rank (Partition::byRank) rather than one vector.
bool movesBlocks(Collective collective);

/// Whether a rank sends a block of its own to each receiver.
bool exchangesBlocks(Collective collective);

/// Whether one rank, the root, is the source or the destination of all data.
constexpr bool hasRoot(Collective collective) {
  return collective == Collective::reduce || collective == Collective::broadcast || collective == Collective::gather ||
         collective == Collective::scatter;
}

/// Whether a schedule must work if chunk c of the input and chunk c of the output are the same memory. That of an
/// all_to_all need not, because the executor first copies the input of an exchange within one buffer. Those of
/// neighbor_all_gather and neighbor_all_to_all need not, because the C ABI has no in-place form of them.
bool allowsInPlace(Collective collective);

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_CONTRACT_H_
