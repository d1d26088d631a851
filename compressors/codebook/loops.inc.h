/// Loops of the codebook codecs, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_CODEBOOK_LOOPS_INC_H_
#define GOSS_COMPRESSORS_CODEBOOK_LOOPS_INC_H_

#include "compressors/codebook/element.h"
#include "compressors/codebook/format.h"
#include "compressors/common/loops.inc.h"

namespace goss::compressors {
namespace {

/// Writes a block's peak to `to`, a NaN where it is not finite, and returns its inverse, or 0 where codes are those of
/// zero.
inline float storePeak(unsigned char* to, const float* values, std::size_t count) {
  const std::uint32_t peak = peakOf(values, count);
  const bool finite = peak < kPeakNotFinite;
  const float magnitude = (peak >> 1) < kTinyBits ? 0.0f : bitCast<float>(peak >> 1);
  storeFloat(to, finite ? magnitude : bitCast<float>(kFloatNan));
  return finite && magnitude != 0.0f ? 1.0f / magnitude : 0.0f;
}

inline void encodeDynamicLoop(std::size_t block, const float* values, const EncodeRun& run) {
  unsigned char* scales = run.payload + run.total + run.first / block * sizeof(float);
  for (std::size_t i = 0; i < run.count; i += block, scales += sizeof(float)) {
    const std::size_t count = block < run.count - i ? block : run.count - i;
    const float* __restrict from = values + i;
    unsigned char* __restrict to = run.payload + run.first + i;
    const float inverse = storePeak(scales, from, count);
    if (inverse == 0.0f) {
      __builtin_memset(to, DynamicMap::kZeroCode, count);
      continue;
    }
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

inline void encodeNormalLoop(std::size_t block, const float* values, const EncodeRun& run) {
  unsigned char tile[kTileElems];
  unsigned char* peaks = run.payload + normalCodeBytes(run.total) + run.first / block * sizeof(float);
  for (std::size_t i = 0; i < run.count; i += block, peaks += sizeof(float)) {
    const std::size_t count = block < run.count - i ? block : run.count - i;
    const float* __restrict from = values + i;
    unsigned char* __restrict to = tile + i;
    const float inverse = storePeak(peaks, from, count);
    if (inverse == 0.0f) {
      __builtin_memset(to, NormalMap::kZeroCode, count);
      continue;
    }
    for (std::size_t k = 0; k < count; ++k) {
      to[k] = static_cast<unsigned char>(normalCode(from[k] * inverse));
    }
  }
  const std::size_t padded = (run.count + 1) / 2 * 2;
  __builtin_memset(tile + run.count, 0, padded - run.count);
  packPlane<4>(run.payload + run.first / 2, tile, padded, 0);
}

inline void decodeNormalLoop(std::size_t block, float* out, const DecodeRun& run) {
  constexpr NormalMap kMap;
  float table[16];
  __builtin_memcpy(table, kMap.value, sizeof table);
  unsigned char tile[kTileElems];
  unpackPlane<4>(tile, run.payload + run.first / 2, (run.count + 1) / 2 * 2);
  const unsigned char* peaks = run.payload + normalCodeBytes(run.total) + run.first / block * sizeof(float);
  for (std::size_t i = 0; i < run.count; i += block, peaks += sizeof(float)) {
    const std::size_t count = block < run.count - i ? block : run.count - i;
    const unsigned char* __restrict from = tile + i;
    float* __restrict to = out + i;
    const float peak = loadFloat(peaks);
    for (std::size_t k = 0; k < count; ++k) {
      to[k] = table[from[k]] * peak;
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
  loops.encodeNormal = encodeNormalLoop;
  loops.decodeNormal = decodeNormalLoop;
  loops.encodeUniform = encodeUniformLoop;
  loops.lookUp = lookUpLoop;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CODEBOOK_LOOPS_INC_H_
