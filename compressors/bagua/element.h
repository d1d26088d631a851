/// Element functions of MinMaxUInt8, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_BAGUA_ELEMENT_H_
#define GOSS_COMPRESSORS_BAGUA_ELEMENT_H_

#include "compressors/bagua/format.h"
#include "compressors/common/element.h"

namespace goss::compressors {

/// `value` rounded to the nearest whole number, ties to even; any float.
GOSS_HOST_DEVICE float nearestWhole(float value) {
  constexpr float kWhole = 8388608.0f; // from 2^23 on all floats are whole numbers
  const float sign = bitCast<float>((bitCast<std::uint32_t>(value) & 0x80000000u) | bitCast<std::uint32_t>(kWhole));
  const float rounded = (value + sign) - sign;
  return (bitCast<std::uint32_t>(value) & 0x7fffffffu) < bitCast<std::uint32_t>(kWhole) ? rounded : value;
}

GOSS_HOST_DEVICE MinMaxScale minMaxScale(float low, float high) {
  MinMaxScale scale;
  scale.scale = 255.0f / (high - low + 1e-7f);
  scale.upper = nearestWhole(high * scale.scale);
  scale.lower = scale.upper - 255.0f;
  return scale;
}

GOSS_HOST_DEVICE std::uint32_t minMaxCode(float value, const MinMaxScale& scale) {
  float level = nearestWhole(value * scale.scale);
  level = (level < scale.upper ? level : scale.upper) - scale.lower;
  level = level > 0.0f ? level : 0.0f;
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(level < 255.0f ? level : 255.0f));
}

GOSS_HOST_DEVICE float minMaxValue(std::uint32_t code, const MinMaxScale& scale) {
  return (static_cast<float>(static_cast<std::int32_t>(code)) + scale.lower) / scale.scale;
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_BAGUA_ELEMENT_H_
