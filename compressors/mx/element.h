/// Element functions of the microscaling formats, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_MX_ELEMENT_H_
#define GOSS_COMPRESSORS_MX_ELEMENT_H_

#include "compressors/common/element.h"
#include "compressors/mx/format.h"

namespace goss::compressors {

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

/// E8M0, biased by 127: the exponent of the peak over kTop, rounded up where the element's range must cover the peak;
/// 255 is NaN. e2m1 does not round up, as in OCP MX 1.0: peaks between 6 and 8 become 6, while all other values keep a
/// bit more, and the total loss falls by a tenth. For e4m3 the loss of the peaks would be larger than that gain.
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

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_MX_ELEMENT_H_
