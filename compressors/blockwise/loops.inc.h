/// Loops of the blockwise integer codecs, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_BLOCKWISE_LOOPS_INC_H_
#define GOSS_COMPRESSORS_BLOCKWISE_LOOPS_INC_H_

#include "compressors/blockwise/element.h"
#include "compressors/blockwise/format.h"
#include "compressors/common/loops.inc.h"

namespace goss::compressors {
namespace {

inline BlockScale minmaxScale(const float* values, std::size_t count, float levels) {
  // Floats are compared as integers of the same order, which compilers make vector code of.
  std::int32_t low = 0x7fffffff, high = -0x7fffffff - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t key = kernels::orderKey(bitCast<std::int32_t>(values[i]));
    low = key < low ? key : low;
    high = key > high ? key : high;
  }
  const float least = bitCast<float>(kernels::orderKey(low)), most = bitCast<float>(kernels::orderKey(high));
  return minmaxBlockScale(least, most, levels);
}

template <BlockScheme kScheme>
inline BlockScale blockScale(const BlockFormat& format, const float* values, std::size_t count) {
  if constexpr (hasOffset(kScheme)) {
    return minmaxScale(values, count, format.levels);
  } else if constexpr (kScheme == BlockScheme::norm) {
    const float squares = sumOfSquares(values, count);
    return normBlockScale(squares, __builtin_sqrtf(squares), format.levels);
  } else {
    return peakBlockScale<kScheme == BlockScheme::peak>(peakOf(values, count), format.levels);
  }
}

/// codes[i] = level of values[i]; residual[i], where there is a residual, becomes what the level loses.
template <BlockScheme kScheme> // NOLINTNEXTLINE(readability-function-size): pointers that do not overlap are parameters
inline void quantize(unsigned char* __restrict codes, float* __restrict residual, const float* __restrict values,
                     std::size_t count, const BlockScale& scale, const std::uint16_t* __restrict random) {
  const BlockScale how = scale;
  for (std::size_t i = 0; i < count; ++i) {
    codes[i] = static_cast<unsigned char>(levelOf<kScheme>(values[i], how, kIsStochastic<kScheme> ? random[i] : 0u));
  }
  if (residual != nullptr) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t level = levelOf<kScheme>(values[i], how, kIsStochastic<kScheme> ? random[i] : 0u);
      const float decoded = static_cast<float>(level) * how.scale.step + how.offset;
      residual[i] = lossOf(values[i], decoded);
    }
  }
}

template <unsigned kBits>
inline void packCodes(const BlockFormat& format, const EncodeRun& run, std::size_t at, const unsigned char* codes,
                      std::size_t count) {
  if constexpr (kBits == 6) {
    packPlane<4>(run.payload + at / 2, codes, count, 0);
    packPlane<2>(run.payload + format.upperPlane(run.total) + at / 4, codes, count, 4);
  } else {
    packPlane<kBits>(run.payload + at * kBits / 8, codes, count, 0);
  }
}

/// Encodes a block with an infinity or a NaN: zero codes, a NaN for the step, a residual of zeros.
inline void poison(unsigned char* codes, float* residual, std::size_t count, unsigned char* scale_at) {
  __builtin_memset(codes, 0, count);
  if (residual != nullptr) {
    __builtin_memset(residual, 0, count * sizeof(float));
  }
  storeFloat(scale_at, bitCast<float>(kFloatNan));
}

template <unsigned kBits, BlockScheme kScheme>
void encodeBlocks(const BlockFormat& format, const EncodeRun& run) {
  float prepared[kTileElems];
  unsigned char tile[kTileElems];
  std::uint16_t random[kIsStochastic<kScheme> ? kTileElems : 1];
  const float gain = run.feedback ? format.gain : 1.0f;
  const bool direct = run.reference == nullptr && run.residual == nullptr;
  unsigned char* scales = run.payload + format.scales(run.total) + run.first / format.block * format.scaleBytes();
  for (std::size_t i = 0; i < run.count; i += format.block, scales += format.scaleBytes()) {
    const std::size_t count = format.block < run.count - i ? format.block : run.count - i;
    const float* values = run.values + i;
    float* residual = run.residual == nullptr ? nullptr : run.residual + i;
    if (!direct) {
      prepare(prepared, run, i, count);
      values = prepared;
    }
    const BlockScale how = withGain<kScheme>(blockScale<kScheme>(format, values, count), gain);
    unsigned char* codes = kBits == 8 ? run.payload + run.first + i : tile;
    if constexpr (hasOffset(kScheme)) {
      storeFloat(scales + 4, how.finite ? how.offset : 0.0f);
    }
    if (how.finite) {
      if constexpr (kIsStochastic<kScheme>) {
        fillRandom(random, run.key, run.random_first + i, count);
      }
      quantize<kScheme>(codes, residual, values, count, how, random);
      storeFloat(scales, how.scale.step);
    } else {
      poison(codes, residual, count, scales);
    }
    if constexpr (kBits != 8) {
      const std::size_t padded = format.padded(count);
      for (std::size_t k = count; k < padded; ++k) {
        tile[k] = 0;
      }
      packCodes<kBits>(format, run, run.first + i, tile, padded);
    }
  }
}

/// The codes of one block as bytes, sign-extended where they are signed.
template <unsigned kBits, bool kOffset>
inline void unpackCodes(const BlockFormat& format, const DecodeRun& run, std::size_t at, unsigned char* codes,
                        std::size_t padded) {
  if constexpr (kBits == 6) {
    unpackPlane<4>(codes, run.payload + at / 2, padded);
    unpackPlane<2, true>(codes, run.payload + format.upperPlane(run.total) + at / 4, padded, 4);
  } else {
    unpackPlane<kBits>(codes, run.payload + at * kBits / 8, padded);
  }
  if constexpr (!kOffset) {
    constexpr unsigned kSign = 1u << (kBits - 1);
    for (std::size_t i = 0; i < padded; ++i) {
      codes[i] = static_cast<unsigned char>((codes[i] ^ kSign) - kSign);
    }
  }
}

template <unsigned kBits, bool kOffset>
void decodeBlocks(const BlockFormat& format, const DecodeRun& run) {
  unsigned char tile[kTileElems];
  const unsigned char* scales = run.payload + format.scales(run.total) + run.first / format.block * (kOffset ? 8 : 4);
  for (std::size_t i = 0; i < run.count; i += format.block, scales += kOffset ? 8 : 4) {
    const std::size_t count = format.block < run.count - i ? format.block : run.count - i;
    const unsigned char* __restrict codes = run.payload + run.first + i;
    if constexpr (kBits != 8) {
      unpackCodes<kBits, kOffset>(format, run, run.first + i, tile, format.padded(count));
      codes = tile;
    }
    const float step = loadFloat(scales);
    if constexpr (kOffset) {
      const float offset = loadFloat(scales + 4);
      deliver(run.out + i, count, run.delivery, [codes, step, offset](std::size_t k) {
        return static_cast<float>(static_cast<std::int32_t>(codes[k])) * step + offset;
      });
    } else {
      deliver(run.out + i, count, run.delivery, [codes, step](std::size_t k) {
        return static_cast<float>(static_cast<std::int32_t>(static_cast<std::int8_t>(codes[k]))) * step;
      });
    }
  }
}

template <unsigned kBits>
void fillBlockWidth(BlockLoops& loops) {
  constexpr std::size_t kWidth = blockWidthIndex(kBits);
  loops.encode[kWidth][0] = encodeBlocks<kBits, BlockScheme::peak>;
  loops.encode[kWidth][1] = encodeBlocks<kBits, BlockScheme::peakStochastic>;
  loops.encode[kWidth][2] = encodeBlocks<kBits, BlockScheme::minmax>;
  loops.encode[kWidth][3] = encodeBlocks<kBits, BlockScheme::minmaxStochastic>;
  loops.encode[kWidth][4] = encodeBlocks<kBits, BlockScheme::norm>;
  loops.decode[kWidth][0] = decodeBlocks<kBits, false>;
  loops.decode[kWidth][1] = decodeBlocks<kBits, true>;
}

inline BlockLoops makeBlockLoops() {
  BlockLoops loops;
  fillBlockWidth<8>(loops);
  fillBlockWidth<6>(loops);
  fillBlockWidth<4>(loops);
  fillBlockWidth<2>(loops);
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_BLOCKWISE_LOOPS_INC_H_
