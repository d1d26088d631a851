/// Element functions of the codebooks, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_CODEBOOK_ELEMENT_H_
#define GOSS_COMPRESSORS_CODEBOOK_ELEMENT_H_

#include "compressors/codebook/format.h"
#include "compressors/common/element.h"

namespace goss::compressors {

/// Parts and slope of decade kDecade, where a magnitude lies in it or beyond.
template <int kDecade>
GOSS_HOST_DEVICE void dynamicDecade(float magnitude, float& parts, float& slope) {
  constexpr float kBottom = DynamicMap::bottomOf(kDecade), kSlope = DynamicMap::slopeOf(kDecade);
  const bool beyond = magnitude > kBottom;
  parts = beyond ? static_cast<float>(1 << kDecade) : parts;
  slope = beyond ? kSlope : slope;
}

/// Code of the map's value nearest to a value of a block whose peak is 1 (format.h), up to the rounding of one product
/// where two are equally near. Arithmetic alone, no table: neither vector units nor GPUs are good at looking up.
GOSS_HOST_DEVICE std::uint32_t dynamicCode(float value) {
  constexpr float kBottom = DynamicMap::bottomOf(0), kSlope = DynamicMap::slopeOf(0), kBelowOne = DynamicMap::kBelowOne;
  const auto bits = bitCast<std::uint32_t>(value);
  const float magnitude = bitCast<float>(bits & 0x7fffffffu);
  float parts = 1.0f, slope = kSlope;
  dynamicDecade<1>(magnitude, parts, slope);
  dynamicDecade<2>(magnitude, parts, slope);
  dynamicDecade<3>(magnitude, parts, slope);
  dynamicDecade<4>(magnitude, parts, slope);
  dynamicDecade<5>(magnitude, parts, slope);
  dynamicDecade<6>(magnitude, parts, slope);
  float place = magnitude * slope - parts * (1.0f / 9.0f);
  place = place > 0.0f ? place : 0.0f;
  place = place < parts - 1.0f ? place : parts - 1.0f;
  std::int32_t index = static_cast<std::int32_t>(parts) + static_cast<std::int32_t>(place);
  index = magnitude > kBottom ? index : 0;
  index = magnitude > kBelowOne ? 128 : index;
  const auto negative = static_cast<std::int32_t>(bits >> 31);
  index -= negative & (index >> 7); // there is no -1
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(DynamicMap::kZeroCode) +
                                    ((index ^ -negative) + negative));
}

/// The map's value of a code, computed as its table is.
GOSS_HOST_DEVICE float dynamicValue(std::uint32_t code) {
  const std::int32_t index = static_cast<std::int32_t>(code) - static_cast<std::int32_t>(DynamicMap::kZeroCode);
  const std::int32_t magnitude = index < 0 ? -index : index;
  double decade = 1, parts = 64;
  for (std::int32_t top = 64; top > 1 && magnitude < top; top /= 2) {
    decade /= 10;
    parts /= 2;
  }
  const double part = magnitude - parts;
  const auto inside = static_cast<float>(decade * (0.1 + 0.9 * (part + 0.5) / parts));
  const float value = magnitude == 0 ? 0.0f : magnitude == 128 ? 1.0f : inside;
  return index < 0 ? -value : value;
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CODEBOOK_ELEMENT_H_
