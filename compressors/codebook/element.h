/// Element functions of the codebooks, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_CODEBOOK_ELEMENT_H_
#define GOSS_COMPRESSORS_CODEBOOK_ELEMENT_H_

#include "compressors/codebook/format.h"
#include "compressors/common/element.h"

namespace goss::compressors {

/// Code of the map's value nearest to a value of a block whose peak is 1 (format.h), up to the rounding of one product
/// where two are equally near. Arithmetic alone, no table: neither vector units nor GPUs are good at looking up.
GOSS_HOST_DEVICE std::uint32_t dynamicCode(float value) {
  const auto bits = bitCast<std::uint32_t>(value);
  const float magnitude = bitCast<float>(bits & 0x7fffffffu);
  float parts = 1.0f, slope = DynamicMap::slopeOf(0);
#pragma GCC unroll 6
  for (int decade = 1; decade < DynamicMap::kDecades; ++decade) {
    const bool beyond = magnitude > DynamicMap::bottomOf(decade);
    parts = beyond ? static_cast<float>(1 << decade) : parts;
    slope = beyond ? DynamicMap::slopeOf(decade) : slope;
  }
  float place = magnitude * slope - parts * (1.0f / 9.0f);
  place = place > 0.0f ? place : 0.0f;
  place = place < parts - 1.0f ? place : parts - 1.0f;
  std::int32_t index = static_cast<std::int32_t>(parts) + static_cast<std::int32_t>(place);
  index = magnitude > DynamicMap::bottomOf(0) ? index : 0;
  index = magnitude > DynamicMap::kBelowOne ? 128 : index;
  const auto negative = static_cast<std::int32_t>(bits >> 31);
  index -= negative & (index >> 7); // there is no -1
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(DynamicMap::kZeroCode) +
                                    ((index ^ -negative) + negative));
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CODEBOOK_ELEMENT_H_
