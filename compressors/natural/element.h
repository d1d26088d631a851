/// Element functions of natural compression, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_NATURAL_ELEMENT_H_
#define GOSS_COMPRESSORS_NATURAL_ELEMENT_H_

#include "compressors/common/element.h"

namespace goss::compressors {

/// Code e of 1 to 126 is a magnitude of 2^(e - 109); 0 is zero. Bit 7 is the sign; the code of -0 means NaN.
inline constexpr std::uint32_t kNaturalBias = 18; ///< Difference of a code and the exponent field of a float32.
inline constexpr std::uint32_t kNaturalNan = 0x80;

/// `up` says whether the magnitude is rounded to the next power of two.
GOSS_HOST_DEVICE std::uint32_t naturalCode(float value, bool up) {
  const auto bits = bitCast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t exponent = (magnitude >> 23) + (up ? 1u : 0u);
  const std::uint32_t capped = exponent > kNaturalBias + 126 ? 126u : exponent - kNaturalBias;
  const std::uint32_t code = exponent <= kNaturalBias ? 0u : capped | (bits >> 31 << 7);
  return magnitude >= kFloatInfinity ? kNaturalNan : code;
}

GOSS_HOST_DEVICE float naturalValue(std::uint32_t code) {
  const std::uint32_t exponent = code & 0x7fu;
  const std::uint32_t bits = exponent == 0 ? 0u : ((exponent + kNaturalBias) << 23) | (code >> 7 << 31);
  return bitCast<float>(code == kNaturalNan ? kFloatNan : bits);
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_NATURAL_ELEMENT_H_
