/// Loops of lossless coding, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_LOSSLESS_LOOPS_INC_H_
#define GOSS_COMPRESSORS_LOSSLESS_LOOPS_INC_H_

#include "compressors/common/loops.inc.h"
#include "compressors/lossless/format.h"

namespace goss::compressors {
namespace {

inline void losslessSplit(unsigned char* __restrict planes, const float* __restrict values, std::size_t count) {
  for (std::size_t plane = 0; plane < kLosslessPlanes; ++plane) {
    unsigned char* __restrict to = planes + plane * kLosslessChunk;
    const auto shift = static_cast<std::uint32_t>(8 * plane);
    for (std::size_t i = 0; i < count; ++i) {
      const auto bits = bitCast<std::uint32_t>(values[i]);
      to[i] = static_cast<unsigned char>(((bits << 1) | (bits >> 31)) >> shift);
    }
  }
}

inline void losslessJoin(float* __restrict values, const unsigned char* __restrict planes, std::size_t count) {
  const unsigned char* __restrict byte0 = planes;
  const unsigned char* __restrict byte1 = planes + kLosslessChunk;
  const unsigned char* __restrict byte2 = planes + 2 * kLosslessChunk;
  const unsigned char* __restrict byte3 = planes + 3 * kLosslessChunk;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = byte0[i] | static_cast<std::uint32_t>(byte1[i]) << 8 |
                               static_cast<std::uint32_t>(byte2[i]) << 16 | static_cast<std::uint32_t>(byte3[i]) << 24;
    values[i] = bitCast<float>((bits >> 1) | (bits << 31));
  }
}

inline LosslessLoops makeLosslessLoops() {
  LosslessLoops loops;
  loops.split = losslessSplit;
  loops.join = losslessJoin;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_LOSSLESS_LOOPS_INC_H_
