/// Into how many blocks or fragments a candidate may be cut, and when that is worthwhile.
#ifndef GOSS_LIB_PLANNER_CUTS_H_
#define GOSS_LIB_PLANNER_CUTS_H_

#include <algorithm>
#include <cstdint>

#include "call/tag.h"
#include "planner/question.h"

namespace goss {

inline constexpr std::uint64_t kMinBlockBytes = 4 << 10;
/// Smaller messages are not fragmented: on any real network, cutting them costs more in overhead than pipelining gains.
inline constexpr std::uint64_t kMinFragmentedBytes = 100 << 10;
/// Finer fragments must gain at least this factor, or the simpler plan is kept.
inline constexpr double kWorthwhile = 0.98;
/// A vector that is larger than this streams through memory. Cut into fragments of kWarmBytes, received bytes are
/// summed and sent on while they are in a cache, which the model does not know: over TCP and shared memory, 2 ranks, 64
/// MiB, that took 16 instead of 26 ms and 10 instead of 12.5 ms. So fragments of this size are accepted at a price that
/// is worse by kWarmLoss.
inline constexpr std::uint64_t kStreamedBytes = 8 << 20;
inline constexpr std::uint64_t kWarmBytes = 1 << 20;
inline constexpr double kWarmLoss = 1.15;

/// The number of blocks of a pipeline above which they become too small; 0: the vector is smaller than one.
[[nodiscard]] inline std::uint64_t mostBlocks(const Question& question) {
  return std::min<std::uint64_t>(kMaxFragments, question.bytes / kMinBlockBytes);
}

} // namespace goss

#endif // GOSS_LIB_PLANNER_CUTS_H_
