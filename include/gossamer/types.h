/// Element types and reductions as the C++ side names them: the C ABI's own enumerations.
#ifndef GOSSAMER_TYPES_H_
#define GOSSAMER_TYPES_H_

#include <cstddef>
#include <cstdint>

#include "gossamer/gossamer.h"

namespace goss {

using DType = goss_dtype;
using ReduceOp = goss_op;

/// Every collective that has a schedule. Values are part of the wire format: never renumbered.
enum class Collective : std::uint8_t {
  allReduce = 0,
  reduce = 1,
  broadcast = 2,
  allGather = 3,
  reduceScatter = 4,
  allToAll = 5,
  gather = 6,
  scatter = 7,
  scan = 8,
  exscan = 9,
  barrier = 10,
  neighborAllReduce = 11,
  neighborAllGather = 12,
  neighborAllToAll = 13,
};
/// Collectives among all ranks of a communicator; those behind are among the neighbours of a round of gossip.
inline constexpr int kCollectiveCount = 11;
inline constexpr int kAllCollectives = 14;

constexpr bool isAmongNeighbors(Collective collective) { return static_cast<int>(collective) >= kCollectiveCount; }

} // namespace goss

#endif // GOSSAMER_TYPES_H_
