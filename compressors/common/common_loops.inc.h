/// The table of common_loops.h for the instruction set of the including file.
#ifndef GOSS_COMPRESSORS_COMMON_COMMON_LOOPS_INC_H_
#define GOSS_COMPRESSORS_COMMON_COMMON_LOOPS_INC_H_

#include "compressors/common/common_loops.h"
#include "compressors/common/loops.inc.h"

namespace goss::compressors {
namespace {

inline void loseLoop(float* residual, const float* __restrict values, const float* __restrict decoded,
                     std::size_t count) {
  GOSS_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) {
    const float lost = values[i] - decoded[i];
    const bool finite = (bitCast<std::uint32_t>(lost) & kFloatInfinity) != kFloatInfinity;
    residual[i] = finite ? lost : 0.0f;
  }
}

inline void deliverLoop(float* out, const float* __restrict decoded, std::size_t count, Delivery delivery) {
  deliver(out, count, delivery, [decoded](std::size_t i) { return decoded[i]; });
}

inline void markInfinitiesLoop(unsigned char* __restrict codes, const float* __restrict values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const bool infinite = (bitCast<std::uint32_t>(values[i]) & 0x7fffffffu) == kFloatInfinity;
    codes[i] = static_cast<unsigned char>(codes[i] | (infinite ? 0x7fu : 0u));
  }
}

inline float sumLoop(const float* values, std::size_t count) {
  return sumInLanes(values, count, [](Lanes&) {});
}

inline float sumMagnitudesLoop(const float* values, std::size_t count) {
  using Words = std::uint32_t __attribute__((vector_size(64)));
  return sumInLanes(values, count, [](Lanes& some) {
    Words bits;
    __builtin_memcpy(&bits, &some, sizeof bits);
    bits &= 0x7fffffffu;
    __builtin_memcpy(&some, &bits, sizeof bits);
  });
}

inline CommonLoops makeCommonLoops() {
  CommonLoops loops;
  loops.prepare = prepare;
  loops.lose = loseLoop;
  loops.deliver = deliverLoop;
  loops.peak = peakOf;
  loops.sum = sumLoop;
  loops.sumMagnitudes = sumMagnitudesLoop;
  loops.sumSquares = sumOfSquares;
  loops.markInfinities = markInfinitiesLoop;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_COMMON_COMMON_LOOPS_INC_H_
