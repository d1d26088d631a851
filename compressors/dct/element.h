/// The basis of the cosine transform, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_DCT_ELEMENT_H_
#define GOSS_COMPRESSORS_DCT_ELEMENT_H_

#include "compressors/dct/format.h"
#include "kernels/elements.h"

namespace goss::compressors {

/// The weight of element `element` in coefficient `coefficient`: sqrt(2 / n) cos(pi (element + 1/2) coefficient / n),
/// and sqrt(1 / n) for coefficient 0. The angle is folded into the first quarter, where the table has it.
GOSS_HOST_DEVICE float dctBasis(const DctTable& table, std::size_t element, std::size_t coefficient) {
  const std::size_t quarter = table.chunk;
  std::size_t place = (2 * element + 1) * coefficient % (4 * quarter);
  place = place > 2 * quarter ? 4 * quarter - place : place;
  const bool negative = place > quarter;
  const float cosine = table.cosine[negative ? 2 * quarter - place : place];
  const float value = negative ? -cosine : cosine;
  return coefficient == 0 ? table.level : value;
}

/// A coefficient as payloads hold it: every NaN, which overflows cause, becomes the same one.
GOSS_HOST_DEVICE float dctStored(float coefficient) {
  const std::uint32_t magnitude = kernels::bitCast<std::uint32_t>(coefficient) & 0x7fffffffu;
  return magnitude > kernels::kFloatInfinity ? kernels::bitCast<float>(kernels::kFloatNan) : coefficient;
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_DCT_ELEMENT_H_
