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

/// The parts of a tile's elements.
struct SplitTile {
  alignas(64) unsigned char exponents[kTileElems];
  alignas(64) unsigned char codes[kTileElems];
  alignas(64) unsigned char signs[kTileElems];
  alignas(64) std::uint16_t halves[kTileElems];
};

/// The exponent of code 0 for a block: seven codes reach from two above the mean exponent to four below it. Exponents
/// far below the largest one, such as those of zeros, count as twelve below.
inline unsigned char exponentTop(const unsigned char* __restrict exponents, std::size_t count) {
  unsigned char largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    largest = exponents[i] > largest ? exponents[i] : largest;
  }
  const auto least = static_cast<unsigned char>(largest < 12 ? 0 : largest - 12);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned char exponent = exponents[i] > least ? exponents[i] : least;
    sum += exponent;
  }
  const std::uint32_t top = (sum + static_cast<std::uint32_t>(count) / 2) / static_cast<std::uint32_t>(count) + 2;
  return static_cast<unsigned char>(top < largest ? top : largest);
}

/// Calls use(i) for all i whose code is an escape, ascending; codes beyond `count` are no escapes.
template <typename Use>
inline void eachEscape(const unsigned char* codes, std::size_t count, Use use) {
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  for (std::size_t i = 0; i < count; i += 8) {
    std::uint64_t word;
    __builtin_memcpy(&word, codes + i, sizeof word);
    // Codes have three bits: adding one carries into the fourth where all are set.
    for (std::uint64_t escapes = (word + kOnes) & (kOnes << 3); escapes != 0; escapes &= escapes - 1) {
      use(i + static_cast<std::size_t>(__builtin_ctzll(escapes)) / 8);
    }
  }
}

inline std::uint32_t splitTile(SplitTile& tile, const float* __restrict values, std::size_t count) {
  std::uint32_t any = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = bitCast<std::uint32_t>(values[i]);
    any |= bits;
    tile.exponents[i] = static_cast<unsigned char>(bits >> 23);
    tile.signs[i] = static_cast<unsigned char>((bits >> 16 & 0x7fu) | (bits >> 24 & 0x80u));
    tile.halves[i] = static_cast<std::uint16_t>(bits);
  }
  return any;
}

inline void codeExponents(SplitTile& tile, unsigned char* tops, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kExponentBlock) {
    const std::size_t some = kExponentBlock < count - i ? kExponentBlock : count - i;
    const unsigned char* __restrict exponents = tile.exponents + i;
    unsigned char* __restrict codes = tile.codes + i;
    const unsigned char top = exponentTop(exponents, some);
    *tops++ = top;
    for (std::size_t k = 0; k < some; ++k) {
      const auto below = static_cast<unsigned char>(top - exponents[k]);
      codes[k] = below < kExponentEscape ? below : static_cast<unsigned char>(kExponentEscape);
    }
  }
  const std::size_t padded = (count + 7) / 8 * 8;
  __builtin_memset(tile.codes + count, 0, padded - count);
}

inline std::size_t encodeExponents(unsigned char* to, const float* values, std::size_t count) {
  SplitTile tile;
  const std::uint32_t any = splitTile(tile, values, count);
  to[0] = static_cast<unsigned char>(any == 0 ? TileMode::zeros : TileMode::raw);
  if (any == 0) {
    return 1;
  }
  const bool narrow = (any & 0xffffu) == 0;
  const CodedTile at(count, narrow);
  const std::size_t padded = (count + 7) / 8 * 8, whole = count * sizeof(float);
  unsigned char tops[kTileElems / kExponentBlock];
  codeExponents(tile, tops, count);
  unsigned char escaped[kTileElems];
  std::size_t escapes = 0;
  eachEscape(tile.codes, padded, [&](std::size_t i) { escaped[escapes++] = tile.exponents[i]; });
  if (at.exponents + escapes >= whole) {
    __builtin_memcpy(to + 1, values, whole);
    return 1 + whole;
  }
  *to++ = static_cast<unsigned char>(narrow ? TileMode::narrow : TileMode::coded);
  __builtin_memcpy(to + at.tops, tops, at.escapes);
  to[at.escapes] = static_cast<unsigned char>(escapes);
  to[at.escapes + 1] = static_cast<unsigned char>(escapes >> 8);
  packPlane<2>(to + at.low, tile.codes, padded, 0);
  packPlane<1>(to + at.high, tile.codes, padded, 2);
  __builtin_memcpy(to + at.signs, tile.signs, count);
  if (!narrow) {
    __builtin_memcpy(to + at.halves, tile.halves, 2 * count);
  }
  __builtin_memcpy(to + at.exponents, escaped, escapes);
  return 1 + at.exponents + escapes;
}

inline void decodeExponents(float* __restrict values, const unsigned char* from, std::size_t count) {
  const auto mode = static_cast<TileMode>(*from++);
  if (mode == TileMode::raw || mode == TileMode::zeros) {
    mode == TileMode::raw ? __builtin_memcpy(values, from, count * sizeof(float))
                          : __builtin_memset(values, 0, count * sizeof(float));
    return;
  }
  const bool narrow = mode == TileMode::narrow;
  const CodedTile at(count, narrow);
  const std::size_t padded = (count + 7) / 8 * 8;
  SplitTile tile;
  unpackPlane<2>(tile.codes, from + at.low, padded);
  unpackPlane<1, true>(tile.codes, from + at.high, padded, 2);
  for (std::size_t i = 0; i < count; i += kExponentBlock) {
    const std::size_t some = kExponentBlock < count - i ? kExponentBlock : count - i;
    const unsigned char top = from[at.tops + i / kExponentBlock];
    for (std::size_t k = i; k < i + some; ++k) {
      tile.exponents[k] = static_cast<unsigned char>(top - tile.codes[k]);
    }
  }
  const unsigned char* escaped = from + at.exponents;
  eachEscape(tile.codes, padded, [&](std::size_t i) { tile.exponents[i] = *escaped++; });
  const unsigned char* __restrict signs = from + at.signs;
  if (narrow) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t high = signs[i];
      values[i] = bitCast<float>((high & 0x7fu) << 16 | (high & 0x80u) << 24 |
                                 static_cast<std::uint32_t>(tile.exponents[i]) << 23);
    }
    return;
  }
  __builtin_memcpy(tile.halves, from + at.halves, 2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t high = signs[i];
    values[i] = bitCast<float>((high & 0x7fu) << 16 | (high & 0x80u) << 24 |
                               static_cast<std::uint32_t>(tile.exponents[i]) << 23 | tile.halves[i]);
  }
}

inline std::size_t countEscapes(const unsigned char* low, const unsigned char* high, std::size_t count) {
  const std::size_t padded = (count + 7) / 8 * 8;
  alignas(64) unsigned char codes[kTileElems];
  unpackPlane<2>(codes, low, padded);
  unpackPlane<1, true>(codes, high, padded, 2);
  std::uint32_t escapes = 0;
  for (std::size_t i = 0; i < padded; ++i) {
    escapes += codes[i] == kExponentEscape ? 1u : 0u;
  }
  return escapes;
}

inline LosslessLoops makeLosslessLoops() {
  LosslessLoops loops;
  loops.encodeTile = encodeExponents;
  loops.decodeTile = decodeExponents;
  loops.countEscapes = countEscapes;
  loops.split = losslessSplit;
  loops.join = losslessJoin;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_LOSSLESS_LOOPS_INC_H_
