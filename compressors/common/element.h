/// Element functions that all codecs build on, for CPU and GPU. Nothing in them depends on contraction of a product and
/// a sum, on the order of evaluation or on flushing of subnormals, so that every machine gives the same bits:
///
/// - Steps (scales) keep 16 significant bits. A level of at most 8 bits times a step is then exact in float32, so
///   "level * step" never rounds, and a step survives another encode.
/// - Rounding goes through integers, not through library calls.
#ifndef GOSS_COMPRESSORS_COMMON_ELEMENT_H_
#define GOSS_COMPRESSORS_COMMON_ELEMENT_H_

#include <cstdint>

#include "kernels/elements.h"

namespace goss::compressors {

using kernels::bitCast;
using kernels::kFloatInfinity;
using kernels::kFloatNan;

/// Peaks below 2^-100 are taken as zero: their inverse would overflow, and products with them could be subnormal.
inline constexpr std::uint32_t kTinyBits = (127u - 100u) << 23;

/// `value` rounded to the nearest integer, ties to even. |value| < 2^22.
GOSS_HOST_DEVICE std::int32_t roundToInt(float value) {
  // The last place of the sum with this number is 1, so the addition rounds; the sum's low bits are the integer.
  constexpr float kMagic = 12582912.0f;
  return static_cast<std::int32_t>(bitCast<std::uint32_t>(value + kMagic) - bitCast<std::uint32_t>(kMagic));
}

/// floor(value + u) for a u that is (random + 0.5) / 65536: rounds up with the probability of the fraction.
/// |value| < 2^22.
GOSS_HOST_DEVICE std::int32_t roundStochastic(float value, std::uint32_t random) {
  const auto truncated = static_cast<std::int32_t>(value);
  const std::int32_t floor = truncated - (static_cast<float>(truncated) > value ? 1 : 0);
  const float fraction = value - static_cast<float>(floor);
  const float chance = (static_cast<float>(static_cast<std::int32_t>(random)) + 0.5f) * (1.0f / 65536.0f);
  return floor + (chance < fraction ? 1 : 0);
}

/// The least float with 16 significant bits that is at least `value`: finite, not negative. Never infinite.
GOSS_HOST_DEVICE float roundUpTo16Bits(float value) {
  constexpr std::uint32_t kLargest = 0x7f7fff00u;
  const std::uint32_t bits = (bitCast<std::uint32_t>(value) + 0xffu) & ~0xffu;
  return bitCast<float>(bits < kLargest ? bits : kLargest);
}

/// The nearest float with 16 significant bits to a finite `value`, not negative; ties away from zero. Never infinite.
GOSS_HOST_DEVICE float roundTo16Bits(float value) {
  constexpr std::uint32_t kLargest = 0x7f7fff00u;
  const std::uint32_t bits = (bitCast<std::uint32_t>(value) + 0x80u) & ~0xffu;
  return bitCast<float>(bits < kLargest ? bits : kLargest);
}

/// Magnitude in the upper 31 bits, sign in the lowest: the maximum of these keys over a block is its largest magnitude
/// with its sign. Compilers vectorise an integer maximum. Between +x and -x, -x wins.
GOSS_HOST_DEVICE std::uint32_t peakKey(float value) {
  const auto bits = bitCast<std::uint32_t>(value);
  return (bits << 1) | (bits >> 31);
}
inline constexpr std::uint32_t kPeakNotFinite = kFloatInfinity << 1; ///< Least key of an infinity or a NaN.

/// How a block is scaled: value = level * step (+ offset). inverse is 0 where step is.
struct Scale {
  float step;
  float inverse;
};

/// `magnitude` / `levels` as a step.
GOSS_HOST_DEVICE Scale scaleFor(float magnitude, float levels) {
  const float step = bitCast<std::uint32_t>(magnitude) < kTinyBits ? 0.0f : roundUpTo16Bits(magnitude / levels);
  return {step, step == 0.0f ? 0.0f : 1.0f / step};
}

/// The step that puts a block's peak exactly on level -levels, of levels -levels to levels - 1: one level more than
/// symmetric ranges use. The step is negative where the peak is positive.
GOSS_HOST_DEVICE Scale scaleForPeak(std::uint32_t peak, float levels) {
  const Scale scale = scaleFor(bitCast<float>(peak >> 1), levels);
  const bool positive = (peak & 1u) == 0;
  return positive ? Scale{-scale.step, -scale.inverse} : scale;
}

GOSS_HOST_DEVICE std::int32_t clamp(std::int32_t value, std::int32_t low, std::int32_t high) {
  value = value < low ? low : value;
  return value > high ? high : value;
}

/// A sign-and-magnitude float of 1 + kExponent + kMantissa bits without infinities and NaN: the formats of 4 and 6
/// bits.
template <int kExponent, int kMantissa>
struct TinyFloat {
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr std::uint32_t kMagnitude = (1u << (kExponent + kMantissa)) - 1;
  static constexpr int kShift = 23 - kMantissa;

  /// Nearest, ties to even; saturates. `value` is no NaN.
  GOSS_HOST_DEVICE static std::uint32_t encode(float value) {
    constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
    // Adding a number whose last place is the step of subnormals makes the adder round to that step.
    constexpr std::uint32_t kAligner = static_cast<std::uint32_t>(151 - kBias - kMantissa) << 23;
    const auto bits = bitCast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    const std::uint32_t half = (1u << (kShift - 1)) - 1 + ((magnitude >> kShift) & 1u);
    const std::uint32_t normal = (magnitude + half - kRebias) >> kShift;
    const std::uint32_t subnormal =
        bitCast<std::uint32_t>(bitCast<float>(magnitude) + bitCast<float>(kAligner)) - kAligner;
    const std::uint32_t tiny = magnitude < kRebias + (1u << 23) ? subnormal : normal;
    return (tiny < kMagnitude ? tiny : kMagnitude) | ((bits >> 31) << (kExponent + kMantissa));
  }

  GOSS_HOST_DEVICE static float decode(std::uint32_t code) {
    constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
    constexpr float kStep = bitCast<float>(static_cast<std::uint32_t>(128 - kBias - kMantissa) << 23);
    const std::uint32_t magnitude = code & kMagnitude;
    const auto subnormal = bitCast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * kStep);
    const std::uint32_t bits = magnitude < (1u << kMantissa) ? subnormal : (magnitude << kShift) + kRebias;
    return bitCast<float>(bits | ((code >> (kExponent + kMantissa) & 1u) << 31));
  }
};
using Float4E2M1 = TinyFloat<2, 1>; ///< OCP MX: 0, 0.5, 1, 1.5, 2, 3, 4, 6.
using Float4E3M0 = TinyFloat<3, 0>; ///< 0 and 2^-2 to 2^4.
using Float6E2M3 = TinyFloat<2, 3>; ///< OCP MX: steps of an eighth up to 2, then of a quarter and a half, up to 7.5.
using Float6E3M2 = TinyFloat<3, 2>; ///< OCP MX: two bits behind the first one, up to 28; subnormals below a quarter.

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_COMMON_ELEMENT_H_
