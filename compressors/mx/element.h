/// Element functions of the microscaling formats, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_MX_ELEMENT_H_
#define GOSS_COMPRESSORS_MX_ELEMENT_H_

#include "compressors/common/element.h"
#include "compressors/mx/format.h"

namespace goss::compressors {

// kTop is the power of two that the scale is chosen for; kCovers: the scale is rounded up, so that peaks do not
// saturate.

struct MxE4M3 {
  static constexpr MxElement kElement = MxElement::e4m3;
  static constexpr float kTop = 448;
  static constexpr bool kCovers = true;
  GOSS_HOST_DEVICE static std::uint32_t encode(float value) { return kernels::encode<kernels::Float8E4M3>(value); }
  GOSS_HOST_DEVICE static float decode(std::uint32_t code) { return kernels::decode<kernels::Float8E4M3>(code); }
};
struct MxE2M1 : Float4E2M1 {
  static constexpr MxElement kElement = MxElement::e2m1;
  static constexpr float kTop = 4;
  static constexpr bool kCovers = false;
};
struct MxE3M0 : Float4E3M0 {
  static constexpr MxElement kElement = MxElement::e3m0;
  static constexpr float kTop = 16;
  static constexpr bool kCovers = true;
};
struct MxE2M3 : Float6E2M3 {
  static constexpr MxElement kElement = MxElement::e2m3;
  static constexpr float kTop = 4;
  static constexpr bool kCovers = false;
};
struct MxE3M2 : Float6E3M2 {
  static constexpr MxElement kElement = MxElement::e3m2;
  static constexpr float kTop = 16;
  static constexpr bool kCovers = false;
};
/// Sixty-fourths, from -127 to 127.
struct MxInt8 {
  static constexpr MxElement kElement = MxElement::int8;
  static constexpr float kTop = 1;
  static constexpr bool kCovers = false;
  GOSS_HOST_DEVICE static std::uint32_t encode(float value) {
    return static_cast<std::uint32_t>(clamp(roundToInt(value * 64.0f), -127, 127)) & 0xffu;
  }
  GOSS_HOST_DEVICE static float decode(std::uint32_t code) {
    return static_cast<float>(static_cast<std::int32_t>(code ^ 0x80u) - 128) * (1.0f / 64);
  }
};

/// E8M0, biased by 127: the exponent of the peak over kTop, rounded up where the element's range must cover the peak;
/// 255 is NaN. e2m1 does not round up, as in OCP MX 1.0: peaks between 6 and 8 become 6, while all other values keep a
/// bit more, and the total loss falls by a tenth. For e4m3 the loss of the peaks would be larger than that gain. Peaks
/// of e2m3, e3m2 and int8 lose no more by it than other values by rounding.
template <typename Element>
GOSS_HOST_DEVICE std::uint32_t mxExponent(std::uint32_t peak) {
  const auto bits = bitCast<std::uint32_t>(bitCast<float>(peak >> 1) / Element::kTop);
  std::uint32_t exponent = (bits >> 23) + (Element::kCovers && (bits & 0x7fffffu) != 0 ? 1u : 0u);
  exponent = exponent < 1 ? 1 : exponent;
  return peak >= kPeakNotFinite ? 255u : (peak >> 1) < kTinyBits ? 0u : exponent;
}
/// 2^(exponent - 127); zero for 0, NaN for 255.
GOSS_HOST_DEVICE float mxScale(std::uint32_t exponent) {
  return bitCast<float>(exponent == 255 ? kFloatNan : exponent << 23);
}
GOSS_HOST_DEVICE float mxInverse(std::uint32_t exponent) {
  return bitCast<float>(exponent == 255 || exponent == 0 ? 0u : (254 - exponent) << 23);
}

/// The step of a tile from its peakKey(): it brings the largest block's scale to e4m3's largest number. A NaN where the
/// tile is not finite.
GOSS_HOST_DEVICE Scale nvTileScale(std::uint32_t peak) {
  const Scale scale = scaleFor(bitCast<float>(peak >> 1), 448 * 6);
  return peak < kPeakNotFinite ? scale : Scale{bitCast<float>(kFloatNan), 0};
}
/// A block's scale, as a number of e4m3 that brings its peak to 6, in steps of the tile.
GOSS_HOST_DEVICE std::uint32_t nvBlockScale(std::uint32_t peak, const Scale& tile) {
  const float scale = bitCast<float>(peak >> 1) * tile.inverse * (1.0f / 6);
  return tile.inverse == 0.0f ? 0u : kernels::encode<kernels::Float8E4M3>(scale);
}
/// What codes of a block are multiplied by: exact, because a step has 16 bits and e4m3 has four.
GOSS_HOST_DEVICE float nvScale(std::uint32_t block, float step) {
  return kernels::decode<kernels::Float8E4M3>(block) * step;
}
GOSS_HOST_DEVICE float nvInverse(std::uint32_t block, const Scale& tile) {
  const bool zero = block == 0 || tile.inverse == 0.0f;
  return zero ? 0.0f : 1.0f / nvScale(block, tile.step);
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_MX_ELEMENT_H_
