/// Into how many blocks or fragments a candidate may be cut, and when that is worthwhile.
#ifndef GOSS_LIB_PLANNER_CUTS_H_
#define GOSS_LIB_PLANNER_CUTS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>

#include "call/tag.h"
#include "kernels/kernels.h"
#include "planner/question.h"

namespace goss {

inline constexpr std::uint64_t kMinBlockBytes = 4 << 10;
/// Smaller messages are not fragmented: on any real network, cutting them costs more in overhead than pipelining gains.
inline constexpr std::uint64_t kMinFragmentedBytes = 100 << 10;
/// Finer fragments must gain at least this factor, or the simpler plan is kept.
inline constexpr double kWorthwhile = 0.98;
/// A vector of more than kernels::kStreamedBytes streams through memory. Cut into fragments of kWarmBytes, received
/// bytes are summed and sent on while they are in a cache, which the model does not know: over TCP and shared memory, 2
/// ranks, 64 MiB, that took 16 instead of 26 ms and 10 instead of 12.5 ms. So fragments of this size are accepted at a
/// price that is worse by kWarmLoss.
inline constexpr std::uint64_t kWarmBytes = 1 << 20;
inline constexpr double kWarmLoss = 1.15;

/// The number of blocks of a pipeline above which they become too small; 0: the vector is smaller than one.
[[nodiscard]] inline std::uint64_t maxBlocks(const Question& question) {
  return std::min<std::uint64_t>(kMaxFragments, question.bytes / kMinBlockBytes);
}

/// Whether the call is an all-reduce of a vector that streams through memory.
[[nodiscard]] inline bool streams(const Question& question) {
  return question.collective == Collective::allReduce && question.bytes > kernels::kStreamedBytes;
}

/// Cuts the candidate into 2, 4, .. up to `most` parts, until two numbers of parts in turn were worse. `trial_in` makes
/// the priced candidate in so many parts; nothing: no more are tried.
template <typename TrialIn>
void tryParts(Candidate& candidate, std::uint64_t most, TrialIn&& trial_in) {
  std::uint32_t worse = 0;
  for (std::uint32_t parts = 2; parts <= most && worse < 2; parts *= 2) {
    std::optional<Candidate> trial = trial_in(parts);
    if (!trial.has_value()) return;
    worse = trial->price_s < candidate.price_s ? 0 : worse + 1;
    if (trial->price_s < candidate.price_s * kWorthwhile) candidate = std::move(*trial);
  }
}

/// Takes the most fragments that cost little, up to `most`; `trial_in` as in tryParts().
template <typename TrialIn>
void tryWarmParts(Candidate& candidate, std::uint64_t most, TrialIn&& trial_in) {
  for (auto parts = static_cast<std::uint32_t>(std::bit_floor(most)); parts > candidate.fragments; parts /= 2) {
    std::optional<Candidate> trial = trial_in(parts);
    if (!trial.has_value()) return;
    if (trial->price_s > candidate.price_s * kWarmLoss) continue;
    candidate = std::move(*trial);
    return;
  }
}

} // namespace goss

#endif // GOSS_LIB_PLANNER_CUTS_H_
