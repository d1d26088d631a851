/// Loops of MinMaxUInt8, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_BAGUA_LOOPS_INC_H_
#define GOSS_COMPRESSORS_BAGUA_LOOPS_INC_H_

#include "compressors/bagua/element.h"
#include "compressors/bagua/format.h"
#include "compressors/common/loops.inc.h"

namespace goss::compressors {
namespace {

inline void minMaxRange(const float* values, std::size_t count, float& low, float& high) {
  std::int32_t least = 0x7fffffff, most = -0x7fffffff - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t key = kernels::orderKey(bitCast<std::int32_t>(values[i]));
    least = key < least ? key : least;
    most = key > most ? key : most;
  }
  low = bitCast<float>(kernels::orderKey(least));
  high = bitCast<float>(kernels::orderKey(most));
}

inline MinMaxScale minMaxScaleOf(float low, float high) { return minMaxScale(low, high); }

inline void minMaxEncode(unsigned char* __restrict to, const float* __restrict values, std::size_t count,
                         MinMaxScale scale) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = static_cast<unsigned char>(minMaxCode(values[i], scale));
  }
}

inline void minMaxDecode(float* out, const unsigned char* from, std::size_t count, MinMaxScale scale,
                         Delivery delivery) {
  const unsigned char* __restrict codes = from;
  deliver(out, count, delivery, [codes, scale](std::size_t i) { return minMaxValue(codes[i], scale); });
}

inline MinMaxLoops makeMinMaxLoops() {
  MinMaxLoops loops;
  loops.range = minMaxRange;
  loops.scale = minMaxScaleOf;
  loops.encode = minMaxEncode;
  loops.decode = minMaxDecode;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_BAGUA_LOOPS_INC_H_
