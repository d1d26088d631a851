/// Element functions of the codebooks, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_CODEBOOK_ELEMENT_H_
#define GOSS_COMPRESSORS_CODEBOOK_ELEMENT_H_

#include "compressors/codebook/format.h"
#include "compressors/common/element.h"

namespace goss::compressors {

/// Parts and slope of decade kDecade, where a magnitude lies in that decade or beyond.
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
  index -= negative & (index >> 7); // the code -1 does not exist
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

/// Code of NormalMap's value nearest to a value of a block whose peak is 1; of two equally near ones the lower.
GOSS_HOST_DEVICE std::uint32_t normalCode(float value) {
  constexpr NormalMap kMap{};
  std::uint32_t code = 0;
#pragma GCC unroll 15
  for (int i = 0; i < 15; ++i) {
    code += value > kMap.middle[i] ? 1u : 0u;
  }
  return code;
}

/// `inverse` is that of uniformScale(). The result is clamped to 16000 steps, so that 2^-16ths of a step fit 32 bits.
GOSS_HOST_DEVICE UniformCode uniformCode(float value, float inverse) {
  float scaled = value * inverse;
  scaled = scaled > 16000.0f ? 16000.0f : scaled;
  scaled = scaled < -16000.0f ? -16000.0f : scaled;
  const std::int32_t level = clamp(roundToInt(scaled), -128, 127);
  return {static_cast<std::uint32_t>(level + 128),
          static_cast<std::int32_t>((scaled - static_cast<float>(level)) * 65536.0f)};
}

/// A scale with 256 steps over six standard deviations.
GOSS_HOST_DEVICE Scale uniformScale(float deviation) { return scaleFor(deviation * 6, 256); }

/// The codebook's value of a bucket: the mean of its `members`, whose rests add up to `sum`.
GOSS_HOST_DEVICE float uniformMean(std::size_t bucket, std::int64_t sum, std::uint64_t members, float step) {
  if (members == 0) {
    return 0;
  }
  const double level = static_cast<double>(bucket) - 128;
  return static_cast<float>((level + static_cast<double>(sum) / 65536 / static_cast<double>(members)) *
                            static_cast<double>(step));
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CODEBOOK_ELEMENT_H_
