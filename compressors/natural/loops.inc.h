/// Loops of natural compression, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_NATURAL_LOOPS_INC_H_
#define GOSS_COMPRESSORS_NATURAL_LOOPS_INC_H_

#include "compressors/common/loops.inc.h"
#include "compressors/natural/element.h"
#include "compressors/natural/format.h"

namespace goss::compressors {
namespace {

template <bool kNearest>
void encodeNatural(const float* values, const EncodeRun& run) {
  unsigned char* __restrict to = run.payload + run.first;
  const float* __restrict from = values;
  const std::size_t count = run.count;
  std::uint16_t random[kNearest ? 1 : kTileElems];
  if constexpr (!kNearest) {
    fillRandom(random, run.key, run.random_first, count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t mantissa = bitCast<std::uint32_t>(from[i]) & 0x7fffffu;
    // The probability of rounding up is the mantissa's fraction; a 16-bit random number stands for the middle of its
    // interval.
    const std::uint32_t bar = kNearest ? 1u << 22 : (static_cast<std::uint32_t>(random[i]) << 7) + 64;
    to[i] = static_cast<unsigned char>(naturalCode(from[i], bar < mantissa));
  }
}

inline void decodeNatural(float* out, const DecodeRun& run) {
  const unsigned char* __restrict from = run.payload + run.first;
  float* __restrict to = out;
  const std::size_t count = run.count;
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = naturalValue(from[i]);
  }
}

inline NaturalLoops makeNaturalLoops() {
  NaturalLoops loops;
  loops.encode[0] = encodeNatural<false>;
  loops.encode[1] = encodeNatural<true>;
  loops.decode = decodeNatural;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_NATURAL_LOOPS_INC_H_
