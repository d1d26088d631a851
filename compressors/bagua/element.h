/// Element functions of MinMaxUInt8, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_BAGUA_ELEMENT_H_
#define GOSS_COMPRESSORS_BAGUA_ELEMENT_H_

#include "compressors/common/element.h"

namespace goss::compressors {

/// The nearest whole number, ties to even, of any float.
GOSS_HOST_DEVICE float nearestWhole(float value) {
  constexpr float kWhole = 8388608.0f; // from 2^23 on all floats are whole numbers
  const float sign = bitCast<float>((bitCast<std::uint32_t>(value) & 0x80000000u) | bitCast<std::uint32_t>(kWhole));
  const float rounded = (value + sign) - sign;
  return (bitCast<std::uint32_t>(value) & 0x7fffffffu) < bitCast<std::uint32_t>(kWhole) ? rounded : value;
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_BAGUA_ELEMENT_H_
