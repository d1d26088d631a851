/// How each codec scales and codes the values of a block, for a warp: the element functions of the CPU's headers, with
/// statistics that lanes exchange. A class Scaling, the parameter of the kernels, has
///
/// - kRandom, kPlanes (how codes of fewer than 8 bits are packed), kBits (0: the format's)
/// - kKeepsLosses (losses are kept as they are; otherwise only finite ones)
/// - Statistic: absorb() takes a unit of values, finish() gives every lane its block's Scale
/// - code(), value() (as decoders compute it), lost()'s value (as encoders do), load() and store() of a Scale
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_BLOCK_SCALING_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_BLOCK_SCALING_H_

#include <type_traits>

#include "compressors/bagua/element.h"
#include "compressors/blockwise/element.h"
#include "compressors/codebook/element.h"
#include "compressors/cuda/device/jobs.h"
#include "compressors/cuda/kernels/warp.h"
#include "compressors/mx/element.h"
#include "compressors/natural/element.h"
#include "compressors/ternary/element.h"

namespace goss::compressors::cuda {

enum class Planes { none, ofBlocks, ofTiles };

/// The values of one lane: four from each run of kRunElems.
template <unsigned kRuns>
struct Unit {
  float value[4 * kRuns];
};

/// Loads four bytes from any address.
GOSS_DEVICE std::uint32_t loadWordBytes(const unsigned char* from) {
  if (reinterpret_cast<std::uintptr_t>(from) % 4 == 0) {
    return *reinterpret_cast<const std::uint32_t*>(from);
  }
  std::uint32_t word = 0;
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    word |= static_cast<std::uint32_t>(from[i]) << (8 * i);
  }
  return word;
}
GOSS_DEVICE void storeWordBytes(unsigned char* to, std::uint32_t word) {
  if (reinterpret_cast<std::uintptr_t>(to) % 4 == 0) {
    *reinterpret_cast<std::uint32_t*>(to) = word;
    return;
  }
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    to[i] = static_cast<unsigned char>(word >> (8 * i));
  }
}
GOSS_DEVICE float loadFloatBytes(const unsigned char* from) { return bitCast<float>(loadWordBytes(from)); }
GOSS_DEVICE void storeFloatBytes(unsigned char* to, float value) { storeWordBytes(to, bitCast<std::uint32_t>(value)); }

/// The position in its unit of a lane's value.
GOSS_DEVICE std::size_t positionOf(unsigned lane, unsigned which) {
  return which / 4 * kRunElems + lane * 4 + which % 4;
}

/// The largest peakKey() of a block.
struct PeakStatistic {
  PerLane<std::uint32_t> peak;

  GOSS_DEVICE void reset() {
    Warp::each([&](unsigned lane) { peak[lane] = 0; });
  }
  template <unsigned kRuns>
  GOSS_DEVICE void absorb(PerLane<Unit<kRuns>>& values, std::size_t, unsigned) {
    Warp::each([&](unsigned lane) {
      std::uint32_t largest = peak[lane];
      GOSS_UNROLL
      for (unsigned i = 0; i < 4 * kRuns; ++i) { // values beyond the end are zeros
        const std::uint32_t key = peakKey(values[lane].value[i]);
        largest = key > largest ? key : largest;
      }
      peak[lane] = largest;
    });
  }
  GOSS_DEVICE void finish(unsigned width) { Warp::maxWithin(peak, width); }
};

struct RangeStatistic {
  PerLane<std::int32_t> low, high; ///< Order keys; the low one complemented, so that both are maxima.

  GOSS_DEVICE void reset() {
    Warp::each([&](unsigned lane) { low[lane] = high[lane] = -0x7fffffff - 1; });
  }
  template <unsigned kRuns>
  GOSS_DEVICE void absorb(PerLane<Unit<kRuns>>& values, std::size_t count, unsigned) {
    Warp::each([&](unsigned lane) {
      GOSS_UNROLL
      for (unsigned i = 0; i < 4 * kRuns; ++i) {
        const std::int32_t key = kernels::orderKey(bitCast<std::int32_t>(values[lane].value[i]));
        const bool there = positionOf(lane, i) < count;
        low[lane] = there && ~key > low[lane] ? ~key : low[lane];
        high[lane] = there && key > high[lane] ? key : high[lane];
      }
    });
  }
  GOSS_DEVICE void finish(unsigned width) {
    Warp::maxWithin(low, width);
    Warp::maxWithin(high, width);
  }
};

/// Sum of squares in the order of sumInLanes() (common/loops.inc.h): sixteen sums of every sixteenth element, then
/// halves. Lane l holds sums 4 (l % 4) to 4 (l % 4) + 3; four lanes hold step t of sixteen elements of a run.
struct SquaresStatistic {
  struct Four {
    float sum[4];
  };
  PerLane<Four> sums;

  GOSS_DEVICE void reset() {
    Warp::each([&](unsigned lane) { sums[lane] = {{0, 0, 0, 0}}; });
  }
  template <unsigned kRuns>
  GOSS_DEVICE void absorb(PerLane<Unit<kRuns>>& values, std::size_t, unsigned width) {
    GOSS_UNROLL
    for (unsigned run = 0; run < kRuns; ++run) {
      PerLane<Four> squares;
      Warp::each([&](unsigned lane) {
        GOSS_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          const float value = values[lane].value[4 * run + i];
          squares[lane].sum[i] = value * value;
        }
      });
      Warp::each([&](unsigned lane) {
        for (unsigned step = 0; step < width / 4; ++step) {
          const Four there = squares.of(lane / width * width + 4 * step + lane % 4);
          GOSS_UNROLL
          for (unsigned i = 0; i < 4; ++i) {
            sums[lane].sum[i] += there.sum[i];
          }
        }
      });
    }
  }
  GOSS_DEVICE void finish(unsigned) {
    for (unsigned half = 2; half != 0; half /= 2) { // adds the sums that lie 8 and then 4 further on
      PerLane<Four> before = sums;
      Warp::each([&](unsigned lane) {
        const Four there = before.of(lane / 4 * 4 + (lane % 4 + half) % 4);
        GOSS_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
          sums[lane].sum[i] = lane % 4 < half ? before[lane].sum[i] + there.sum[i] : 0.0f;
        }
      });
    }
    PerLane<Four> before = sums;
    Warp::each([&](unsigned lane) {
      const Four first = before.of(lane / 4 * 4);
      sums[lane].sum[0] = (first.sum[0] + first.sum[2]) + (first.sum[1] + first.sum[3]);
    });
  }
};

struct NoStatistic {
  GOSS_DEVICE void reset() {}
  template <unsigned kRuns>
  GOSS_DEVICE void absorb(PerLane<Unit<kRuns>>&, std::size_t, unsigned) {}
  GOSS_DEVICE void finish(unsigned) {}
};

template <BlockScheme kScaling>
struct BlockInteger {
  using Scale = BlockScale;
  using Statistic =
      std::conditional_t<hasOffset(kScaling), RangeStatistic,
                         std::conditional_t<kScaling == BlockScheme::norm, SquaresStatistic, PeakStatistic>>;
  static constexpr bool kRandom = kIsStochastic<kScaling>;
  static constexpr Planes kPlanes = Planes::ofBlocks;
  static constexpr unsigned kBits = 0;
  static constexpr bool kKeepsLosses = true;

  GOSS_DEVICE static Scale wholeScale(const KernelFormat& format, Statistic& statistic, unsigned lane) {
    if constexpr (hasOffset(kScaling)) {
      return minmaxBlockScale(bitCast<float>(kernels::orderKey(~statistic.low[lane])),
                              bitCast<float>(kernels::orderKey(statistic.high[lane])), format.block.levels);
    } else if constexpr (kScaling == BlockScheme::norm) {
      const float squares = statistic.sums[lane].sum[0];
      return normBlockScale(squares, __builtin_sqrtf(squares), format.block.levels);
    } else {
      return peakBlockScale<kScaling == BlockScheme::peak>(statistic.peak[lane], format.block.levels);
    }
  }
  GOSS_DEVICE static Scale scale(const KernelFormat& format, Statistic& statistic, unsigned lane) {
    return withGain<kScaling>(wholeScale(format, statistic, lane), format.block.gain);
  }
  GOSS_DEVICE static std::uint32_t code(float value, const Scale& how, std::uint32_t random) {
    return how.finite ? static_cast<std::uint32_t>(levelOf<kScaling>(value, how, random)) : 0u;
  }
  GOSS_DEVICE static std::int32_t level(const KernelFormat& format, std::uint32_t code) {
    const std::uint32_t bits = format.block.bits, word = code & ((1u << bits) - 1);
    if constexpr (hasOffset(kScaling)) {
      return static_cast<std::int32_t>(word);
    } else {
      const std::uint32_t sign = 1u << (bits - 1);
      return static_cast<std::int32_t>(word ^ sign) - static_cast<std::int32_t>(sign);
    }
  }
  GOSS_DEVICE static float value(const KernelFormat& format, std::uint32_t code, const Scale& how) {
    const float product = static_cast<float>(level(format, code)) * how.scale.step;
    return hasOffset(kScaling) ? product + how.offset : product;
  }
  GOSS_DEVICE static float lost(const KernelFormat& format, float value, std::uint32_t code, const Scale& how) {
    const float decoded = static_cast<float>(level(format, code)) * how.scale.step + how.offset;
    return how.finite ? lossOf(value, decoded) : 0.0f;
  }
  GOSS_DEVICE static std::size_t bytes(const KernelFormat& format, std::size_t total) {
    return format.block.payloadBytes(total);
  }
  GOSS_DEVICE static unsigned char* at(const KernelFormat& format, const unsigned char* payload, std::size_t total,
                                       std::size_t block) {
    return const_cast<unsigned char*>(payload) + format.block.scales(total) + block * format.block.scaleBytes();
  }
  /// The scale that decoders find: a NaN for the step where the block is not finite.
  GOSS_DEVICE static Scale stored(const Scale& how) {
    Scale kept = how;
    kept.scale.step = how.finite ? how.scale.step : bitCast<float>(kFloatNan);
    kept.offset = how.finite ? how.offset : 0.0f;
    return kept;
  }
  GOSS_DEVICE static void store(const KernelFormat& format, unsigned char* payload, std::size_t total,
                                std::size_t block, const Scale& how) {
    const Scale kept = stored(how);
    unsigned char* to = at(format, payload, total, block);
    storeFloatBytes(to, kept.scale.step);
    if constexpr (hasOffset(kScaling)) {
      storeFloatBytes(to + 4, kept.offset);
    }
  }
  GOSS_DEVICE static Scale load(const KernelFormat& format, const unsigned char* payload, std::size_t total,
                                std::size_t block) {
    const unsigned char* from = at(format, payload, total, block);
    Scale how{};
    how.scale.step = loadFloatBytes(from);
    how.offset = hasOffset(kScaling) ? loadFloatBytes(from + 4) : 0.0f;
    return how;
  }
};

/// Base of the scalings whose loss is the value minus value().
struct PlainScaling {
  static constexpr bool kRandom = false;
  static constexpr Planes kPlanes = Planes::none;
  static constexpr unsigned kBits = 8;
  static constexpr bool kKeepsLosses = false;
  struct Scale {};
  using Statistic = NoStatistic;
  GOSS_DEVICE static Scale scale(const KernelFormat&, Statistic&, unsigned) { return {}; }
  template <typename Any>
  GOSS_DEVICE static Any stored(const Any& how) {
    return how;
  }
  template <typename Any>
  GOSS_DEVICE static void store(const KernelFormat&, unsigned char*, std::size_t, std::size_t, const Any&) {}
  GOSS_DEVICE static Scale load(const KernelFormat&, const unsigned char*, std::size_t, std::size_t) { return {}; }
};

struct DynamicMagnitudes {
  float value[DynamicMap::kMagnitudes] = {};

  constexpr DynamicMagnitudes() {
    for (int decade = 0; decade < DynamicMap::kDecades; ++decade) {
      for (int part = 0; part < 1 << decade; ++part) {
        value[(1 << decade) + part] = static_cast<float>(DynamicMap::valueOf(decade, part));
      }
    }
    value[DynamicMap::kMagnitudes - 1] = 1;
  }
};
/// dynamicValue() from a table: dynamicValue() divides doubles, which takes a GPU a hundred instructions and more.
GOSS_DEVICE float dynamicLookUp(std::uint32_t code) {
  static constexpr DynamicMagnitudes kMagnitudes{}; // Without the braces nvcc 13.0 leaves the table 0.
  const std::int32_t index = static_cast<std::int32_t>(code) - static_cast<std::int32_t>(DynamicMap::kZeroCode);
  const float value = kMagnitudes.value[index < 0 ? -index : index];
  return index < 0 ? -value : value;
}

struct Dynamic : PlainScaling {
  using Statistic = PeakStatistic;
  GOSS_DEVICE static std::size_t bytes(const KernelFormat& format, std::size_t total) {
    return total + (total + format.block.block - 1) / format.block.block * sizeof(float);
  }
  struct Scale {
    float scale, inverse; ///< inverse is 0 for blocks of zeros and blocks that are not finite.
  };
  GOSS_DEVICE static Scale scale(const KernelFormat&, Statistic& statistic, unsigned lane) {
    const std::uint32_t peak = statistic.peak[lane];
    const float magnitude = (peak >> 1) < kTinyBits ? 0.0f : bitCast<float>(peak >> 1);
    const bool finite = peak < kPeakNotFinite;
    return {finite ? magnitude : bitCast<float>(kFloatNan), finite && magnitude != 0.0f ? 1.0f / magnitude : 0.0f};
  }
  GOSS_DEVICE static std::uint32_t code(float value, const Scale& how, std::uint32_t) {
    return how.inverse == 0.0f ? DynamicMap::kZeroCode : dynamicCode(value * how.inverse);
  }
  GOSS_DEVICE static float value(const KernelFormat&, std::uint32_t code, const Scale& how) {
    return dynamicLookUp(code) * how.scale;
  }
  GOSS_DEVICE static void store(const KernelFormat& format, unsigned char* payload, std::size_t total,
                                std::size_t block, const Scale& how) {
    (void)format;
    storeFloatBytes(payload + total + block * sizeof(float), how.scale);
  }
  GOSS_DEVICE static Scale load(const KernelFormat&, const unsigned char* payload, std::size_t total,
                                std::size_t block) {
    return {loadFloatBytes(payload + total + block * sizeof(float)), 0};
  }
};

struct Normal : PlainScaling {
  using Statistic = PeakStatistic;
  using Scale = Dynamic::Scale;
  static constexpr Planes kPlanes = Planes::ofTiles;
  static constexpr unsigned kBits = 4;
  GOSS_DEVICE static std::size_t bytes(const KernelFormat& format, std::size_t total) {
    return normalCodeBytes(total) + (total + format.block.block - 1) / format.block.block * sizeof(float);
  }
  GOSS_DEVICE static Scale scale(const KernelFormat& format, Statistic& statistic, unsigned lane) {
    return Dynamic::scale(format, statistic, lane);
  }
  GOSS_DEVICE static std::uint32_t code(float value, const Scale& how, std::uint32_t) {
    return how.inverse == 0.0f ? NormalMap::kZeroCode : normalCode(value * how.inverse);
  }
  GOSS_DEVICE static float value(const KernelFormat&, std::uint32_t code, const Scale& how) {
    static constexpr NormalMap kMap{}; // Without the braces nvcc 13.0 leaves the table 0.
    return kMap.value[code & 15u] * how.scale;
  }
  GOSS_DEVICE static void store(const KernelFormat&, unsigned char* payload, std::size_t total, std::size_t block,
                                const Scale& how) {
    storeFloatBytes(payload + normalCodeBytes(total) + block * sizeof(float), how.scale);
  }
  GOSS_DEVICE static Scale load(const KernelFormat&, const unsigned char* payload, std::size_t total,
                                std::size_t block) {
    return {loadFloatBytes(payload + normalCodeBytes(total) + block * sizeof(float)), 0};
  }
};

template <typename Element>
struct Mx : PlainScaling {
  using Statistic = PeakStatistic;
  static constexpr unsigned kBits = mxBits(Element::kElement);
  static constexpr Planes kPlanes = kBits == 8 ? Planes::none : Planes::ofTiles;
  struct Scale {
    std::uint32_t exponent;
  };
  GOSS_DEVICE static std::size_t bytes(const KernelFormat&, std::size_t total) {
    return mxCodeBytes(Element::kElement, total) + (total + kMxBlock - 1) / kMxBlock;
  }
  GOSS_DEVICE static Scale scale(const KernelFormat&, Statistic& statistic, unsigned lane) {
    return {mxExponent<Element>(statistic.peak[lane])};
  }
  GOSS_DEVICE static std::uint32_t code(float value, const Scale& how, std::uint32_t) {
    return how.exponent == 255 ? 0u : Element::encode(value * mxInverse(how.exponent));
  }
  GOSS_DEVICE static float value(const KernelFormat&, std::uint32_t code, const Scale& how) {
    return Element::decode(code) * mxScale(how.exponent);
  }
  GOSS_DEVICE static void store(const KernelFormat&, unsigned char* payload, std::size_t total, std::size_t block,
                                const Scale& how) {
    payload[mxCodeBytes(Element::kElement, total) + block] = static_cast<unsigned char>(how.exponent);
  }
  GOSS_DEVICE static Scale load(const KernelFormat&, const unsigned char* payload, std::size_t total,
                                std::size_t block) {
    return {payload[mxCodeBytes(Element::kElement, total) + block]};
  }
};

/// A scale of the tile, whose peak encoders find first (EncodeKernel), and scales of blocks.
struct NvFp4 : PlainScaling {
  using Statistic = PeakStatistic;
  static constexpr Planes kPlanes = Planes::ofTiles;
  static constexpr unsigned kBits = 4;
  using Tile = PeakStatistic;
  struct Scale {
    std::uint32_t block;
    float scale, inverse;
  };
  GOSS_DEVICE static std::size_t bytes(const KernelFormat&, std::size_t total) { return nvPayloadBytes(total); }
  GOSS_DEVICE static Scale scaleIn(Tile& tile, Statistic& statistic, unsigned lane) {
    const compressors::Scale whole = nvTileScale(tile.peak[lane]);
    const std::uint32_t block = nvBlockScale(statistic.peak[lane], whole);
    return {block, nvScale(block, whole.step), nvInverse(block, whole)};
  }
  GOSS_DEVICE static std::uint32_t code(float value, const Scale& how, std::uint32_t) {
    return how.inverse == 0.0f ? 0u : Float4E2M1::encode(value * how.inverse);
  }
  GOSS_DEVICE static float value(const KernelFormat&, std::uint32_t code, const Scale& how) {
    return Float4E2M1::decode(code) * how.scale;
  }
  GOSS_DEVICE static void store(const KernelFormat&, unsigned char* payload, std::size_t total, std::size_t block,
                                const Scale& how) {
    payload[(total + 1) / 2 + block] = static_cast<unsigned char>(how.block);
  }
  GOSS_DEVICE static void storeTile(unsigned char* payload, std::size_t total, std::size_t tile, std::uint32_t peak) {
    storeFloatBytes(payload + nvTileScales(total) + tile * sizeof(float), nvTileScale(peak).step);
  }
  GOSS_DEVICE static Scale load(const KernelFormat&, const unsigned char* payload, std::size_t total,
                                std::size_t block) {
    const std::size_t tile = block * kNvBlock / kTileElems;
    const std::uint32_t scale = payload[(total + 1) / 2 + block];
    return {scale, nvScale(scale, loadFloatBytes(payload + nvTileScales(total) + tile * sizeof(float))), 0};
  }
};

template <bool kNearest>
struct Natural : PlainScaling {
  static constexpr bool kRandom = !kNearest;
  GOSS_DEVICE static std::size_t bytes(const KernelFormat&, std::size_t total) { return total; }
  GOSS_DEVICE static std::uint32_t code(float value, const Scale&, std::uint32_t random) {
    const std::uint32_t mantissa = bitCast<std::uint32_t>(value) & 0x7fffffu;
    return naturalCode(value, (kNearest ? 1u << 22 : (random << 7) + 64) < mantissa);
  }
  GOSS_DEVICE static float value(const KernelFormat&, std::uint32_t code, const Scale&) { return naturalValue(code); }
};

template <typename Small>
struct Cast : PlainScaling {
  static constexpr unsigned kBits = 8 * sizeof(typename Small::Bits);
  GOSS_DEVICE static std::size_t bytes(const KernelFormat&, std::size_t total) {
    return total * sizeof(typename Small::Bits);
  }
  GOSS_DEVICE static std::uint32_t code(float value, const Scale&, std::uint32_t) {
    const std::uint32_t small = kernels::encode<Small>(value);
    if constexpr (Small::kHasInfinity) {
      return small;
    } else { // saturation would hide an overflow
      return (bitCast<std::uint32_t>(value) & 0x7fffffffu) == kFloatInfinity ? small | Small::kNan : small;
    }
  }
  GOSS_DEVICE static float value(const KernelFormat&, std::uint32_t code, const Scale&) {
    return kernels::decode<Small>(code);
  }
};
struct Whole : PlainScaling {
  static constexpr unsigned kBits = 32;
  GOSS_DEVICE static std::size_t bytes(const KernelFormat&, std::size_t total) { return total * sizeof(float); }
  GOSS_DEVICE static std::uint32_t code(float value, const Scale&, std::uint32_t) {
    return bitCast<std::uint32_t>(value);
  }
  GOSS_DEVICE static float value(const KernelFormat&, std::uint32_t code, const Scale&) { return bitCast<float>(code); }
};

/// A scale of the whole segment, which an earlier kernel has left where the format says; decoders find it in the
/// payload.
struct Scaled : PlainScaling {
  static constexpr Planes kPlanes = Planes::ofTiles;
  struct Scale {
    float scale;
  };
  GOSS_DEVICE static Scale scale(const KernelFormat& format, Statistic&, unsigned) {
    return {format.given_scale != 0 ? format.given_scale : *format.scale};
  }
  GOSS_DEVICE static void store(const KernelFormat&, unsigned char*, std::size_t, std::size_t, const Scale&) {}
};

struct Sign : Scaled {
  static constexpr unsigned kBits = 1;
  GOSS_DEVICE static std::uint32_t code(float value, const Scale&, std::uint32_t) { return value < 0.0f ? 1u : 0u; }
  GOSS_DEVICE static float value(const KernelFormat&, std::uint32_t code, const Scale& how) {
    return bitCast<float>(bitCast<std::uint32_t>(how.scale) ^ (code << 31));
  }
  GOSS_DEVICE static Scale load(const KernelFormat&, const unsigned char* payload, std::size_t total, std::size_t) {
    return {loadFloatBytes(payload + (total + 7) / 8)};
  }
};

template <unsigned kWordBits>
struct Ternary : Scaled {
  static constexpr bool kRandom = true;
  static constexpr unsigned kBits = kWordBits;
  struct Scale {
    float scale; ///< The scale that values are divided by.
    float step;  ///< The step that decoders find: smaller with error feedback.
  };
  static constexpr Planes kPlanes = kWordBits == 8 ? Planes::none : Planes::ofTiles;
  GOSS_DEVICE static Scale scale(const KernelFormat& format, Statistic&, unsigned) {
    const bool given = format.given_scale != 0;
    return {given ? format.given_scale : format.scale[0], given ? format.given_scale : format.scale[1]};
  }
  GOSS_DEVICE static void store(const KernelFormat&, unsigned char*, std::size_t, std::size_t, const Scale&) {}
  GOSS_DEVICE static std::uint32_t code(float value, const Scale& how, std::uint32_t random) {
    if (!(how.scale > 0)) { // or NaN
      return 0;
    }
    return static_cast<std::uint32_t>(ternaryLevel(value * (1.0f / how.scale), random));
  }
  GOSS_DEVICE static float value(const KernelFormat&, std::uint32_t code, const Scale& how) {
    return static_cast<float>(ternarySigned<kWordBits>(code)) * how.step;
  }
  GOSS_DEVICE static Scale load(const KernelFormat& format, const unsigned char* payload, std::size_t total,
                                std::size_t) {
    const float scale =
        format.given_scale != 0 ? format.given_scale : loadFloatBytes(payload + (total * kWordBits + 7) / 8);
    return {scale, scale};
  }
};

/// MinMaxUInt8: an earlier kernel has left the numbers of the range; decoders compute them from the head.
struct MinMax : PlainScaling {
  struct Scale {
    MinMaxScale range;
    std::uint32_t finite;
  };
  GOSS_DEVICE static Scale scale(const KernelFormat& format, Statistic&, unsigned) {
    return *reinterpret_cast<const Scale*>(format.scale);
  }
  GOSS_DEVICE static std::uint32_t code(float value, const Scale& how, std::uint32_t) {
    return how.finite != 0 ? minMaxCode(value, how.range) : 0u;
  }
  GOSS_DEVICE static float value(const KernelFormat&, std::uint32_t code, const Scale& how) {
    return minMaxValue(code, how.range);
  }
  GOSS_DEVICE static Scale load(const KernelFormat&, const unsigned char* payload, std::size_t, std::size_t) {
    const unsigned char* head = payload - kMinMaxHeaderBytes;
    return {minMaxScale(loadFloatBytes(head), loadFloatBytes(head + 4)), 1};
  }
};

/// Uniform 8-bit, decoding only: a codebook lies behind the codes.
struct Codebook : PlainScaling {
  struct Scale {
    const unsigned char* table;
  };
  GOSS_DEVICE static float value(const KernelFormat&, std::uint32_t code, const Scale& how) {
    return loadFloatBytes(how.table + code * sizeof(float));
  }
  GOSS_DEVICE static Scale load(const KernelFormat&, const unsigned char* payload, std::size_t total, std::size_t) {
    return {payload + total};
  }
};

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_BLOCK_SCALING_H_
