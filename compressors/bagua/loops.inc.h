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

inline MinMaxScale minMaxScale(float low, float high) {
  MinMaxScale scale;
  scale.scale = 255.0f / (high - low + 1e-7f);
  scale.upper = nearestWhole(high * scale.scale);
  scale.lower = scale.upper - 255.0f;
  return scale;
}

inline void minMaxEncode(unsigned char* __restrict to, const float* __restrict values, std::size_t count,
                         MinMaxScale scale) {
  for (std::size_t i = 0; i < count; ++i) {
    float level = nearestWhole(values[i] * scale.scale);
    level = (level < scale.upper ? level : scale.upper) - scale.lower;
    level = level > 0.0f ? level : 0.0f;
    to[i] = static_cast<unsigned char>(static_cast<std::int32_t>(level < 255.0f ? level : 255.0f));
  }
}

inline void minMaxDecode(float* out, const unsigned char* from, std::size_t count, MinMaxScale scale,
                         Delivery delivery) {
  const unsigned char* __restrict codes = from;
  deliver(out, count, delivery, [codes, scale](std::size_t i) {
    return (static_cast<float>(static_cast<std::int32_t>(codes[i])) + scale.lower) / scale.scale;
  });
}

inline MinMaxLoops makeMinMaxLoops() {
  MinMaxLoops loops;
  loops.range = minMaxRange;
  loops.scale = minMaxScale;
  loops.encode = minMaxEncode;
  loops.decode = minMaxDecode;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_BAGUA_LOOPS_INC_H_
