/// What each collective promises: where its data starts, which rank it delivers which chunk to, and whose contributions
/// that chunk contains.
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

/// Whether chunk `chunk` of this rank's output must be written. Other chunks must not be touched.
bool delivers(const Role& role, std::uint32_t chunk);

/// The ranks whose contributions a delivered chunk holds, each once. neighbor_all_reduce: the rank itself, and besides
/// it neighbours with weights that the schedule names.
RankRange contributors(const Role& role, std::uint32_t chunk);

/// Whether contributions are combined by the caller's operation, so that each output passes one finish.
bool reduces(Collective collective);

/// Whether the collective moves one block per rank (Partition::byRank) rather than one vector.
bool movesBlocks(Collective collective);

/// Whether a rank has a block of its own for each rank that it sends to.
bool exchangesBlocks(Collective collective);

/// Whether one rank is its source or destination.
constexpr bool hasRoot(Collective collective) {
  return collective == Collective::reduce || collective == Collective::broadcast || collective == Collective::gather ||
         collective == Collective::scatter;
}

/// Whether a schedule must work when input c and output c are the same memory. Not so all_to_all: an exchange in one
/// buffer needs a copy, which the executor makes of the input first; and neighbours' blocks, which have no such form.
bool allowsInPlace(Collective collective);

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_CONTRACT_H_
