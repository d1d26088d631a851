/// Loops of the codebook codecs, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_CODEBOOK_LOOPS_INC_H_
#define GOSS_COMPRESSORS_CODEBOOK_LOOPS_INC_H_

#include "compressors/codebook/element.h"
#include "compressors/codebook/format.h"
#include "compressors/common/loops.inc.h"

namespace goss::compressors {
namespace {

inline void encodeDynamicLoop(std::size_t block, const float* values, const EncodeRun& run) {
  unsigned char* scales = run.payload + run.total + run.first / block * sizeof(float);
  for (std::size_t i = 0; i < run.count; i += block, scales += sizeof(float)) {
    const std::size_t count = block < run.count - i ? block : run.count - i;
    const float* __restrict from = values + i;
    unsigned char* __restrict to = run.payload + run.first + i;
    const std::uint32_t peak = peakOf(from, count);
    const bool finite = peak < kPeakNotFinite;
    const float magnitude = (peak >> 1) < kTinyBits ? 0.0f : bitCast<float>(peak >> 1);
    storeFloat(scales, finite ? magnitude : bitCast<float>(kFloatNan));
    if (!finite || magnitude == 0.0f) {
      __builtin_memset(to, DynamicMap::kZeroCode, count);
      continue;
    }
    const float inverse = 1.0f / magnitude;
    for (std::size_t k = 0; k < count; ++k) {
      to[k] = static_cast<unsigned char>(dynamicCode(from[k] * inverse));
    }
  }
}

inline void decodeDynamicLoop(const DynamicMap& map, std::size_t block, float* out, const DecodeRun& run) {
  const unsigned char* scales = run.payload + run.total + run.first / block * sizeof(float);
  for (std::size_t i = 0; i < run.count; i += block, scales += sizeof(float)) {
    const std::size_t count = block < run.count - i ? block : run.count - i;
    const unsigned char* __restrict from = run.payload + run.first + i;
    float* __restrict to = out + i;
    const float scale = loadFloat(scales);
    const float* __restrict table = map.value;
    for (std::size_t k = 0; k < count; ++k) {
      to[k] = table[from[k]] * scale;
    }
  }
}

inline void encodeUniformLoop(unsigned char* __restrict levels, std::int32_t* __restrict rest,
                              const float* __restrict values, std::size_t count, float inverse) {
  for (std::size_t i = 0; i < count; ++i) {
    const UniformCode code = uniformCode(values[i], inverse);
    levels[i] = static_cast<unsigned char>(code.code);
    rest[i] = code.rest;
  }
}

inline void lookUpLoop(float* __restrict out, const unsigned char* __restrict codes, std::size_t count,
                       const float* __restrict table) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = table[codes[i]];
  }
}

inline CodebookLoops makeCodebookLoops() {
  CodebookLoops loops;
  loops.encodeDynamic = encodeDynamicLoop;
  loops.decodeDynamic = decodeDynamicLoop;
  loops.encodeUniform = encodeUniformLoop;
  loops.lookUp = lookUpLoop;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CODEBOOK_LOOPS_INC_H_
