/// Loops that the shared parts of codecs call, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_COMMON_COMMON_LOOPS_H_
#define GOSS_COMPRESSORS_COMMON_COMMON_LOOPS_H_

#include "compressors/common/runs.h"

namespace goss::compressors {

/// Sums over at most kSumElems values, in a fixed order.
inline constexpr std::size_t kSumElems = 1024;
/// Sums of kSumElems values are added as doubles in groups of this size, and then the groups' sums: a GPU adds the
/// groups side by side.
inline constexpr std::size_t kSumGroup = 512;

struct CommonLoops {
  /// to[i] = element first + i of the run with reference and residual applied; the run has at least one of the two.
  void (*prepare)(float* to, const EncodeRun& run, std::size_t first, std::size_t count) = nullptr;
  /// residual = values - decoded, and 0 where the difference is not finite.
  void (*lose)(float* residual, const float* values, const float* decoded, std::size_t count) = nullptr;
  /// Writes `decoded` to `out` by set, add or axpy.
  void (*deliver)(float* out, const float* decoded, std::size_t count, Delivery delivery) = nullptr;
  /// The largest peakKey() (common/element.h) of the values.
  std::uint32_t (*peak)(const float* values, std::size_t count) = nullptr;
  float (*sum)(const float* values, std::size_t count) = nullptr;
  float (*sumMagnitudes)(const float* values, std::size_t count) = nullptr;
  float (*sumSquares)(const float* values, std::size_t count) = nullptr;
  /// codes[i] becomes NaN (0x7f) where values[i] is infinite: float8 e4m3 saturates, and that would hide an overflow.
  void (*markInfinities)(unsigned char* codes, const float* values, std::size_t count) = nullptr;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_COMMON_COMMON_LOOPS_H_
