/// Element functions of the codebooks, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_CODEBOOK_ELEMENT_H_
#define GOSS_COMPRESSORS_CODEBOOK_ELEMENT_H_

#include "compressors/codebook/format.h"
#include "compressors/common/element.h"

namespace goss::compressors {

GOSS_HOST_DEVICE std::uint32_t dynamicCode(const std::uint32_t* cell, const float* boundary, float value) {
  const auto bits = bitCast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const auto place = static_cast<std::int32_t>(magnitude >> DynamicMap::kCellShift) -
                     static_cast<std::int32_t>(DynamicMap::kFirstCell);
  const auto below =
      static_cast<std::int32_t>(cell[clamp(place, 0, static_cast<std::int32_t>(DynamicMap::kCells) - 1)]);
  // Arithmetic in place of conditions: compilers make no vector code of a condition behind a table.
  auto index =
      static_cast<std::uint32_t>(below) + static_cast<std::uint32_t>(bitCast<float>(magnitude) > boundary[below]);
  const std::uint32_t negative = bits >> 31;
  index -= negative & (index >> 7); // there is no -1
  return DynamicMap::kZeroCode + ((index ^ (0u - negative)) + negative);
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CODEBOOK_ELEMENT_H_
