/// Element functions of the Hadamard rotation, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_HADAMARD_ELEMENT_H_
#define GOSS_COMPRESSORS_HADAMARD_ELEMENT_H_

#include "compressors/common/element.h"
#include "compressors/hadamard/format.h"

namespace goss::compressors {

/// The sign bit by which element i of a piece is multiplied before it is rotated: without signs that look random, equal
/// elements would add up to one large one.
GOSS_HOST_DEVICE std::uint32_t hadamardSign(std::uint32_t i) {
  std::uint32_t bits = (i + 1) * 0x9e3779b1u;
  bits = (bits ^ (bits >> 15)) * 0x85ebca77u;
  return bits & 0x80000000u;
}
GOSS_HOST_DEVICE float hadamardSigned(float value, std::uint32_t i) {
  return bitCast<float>(bitCast<std::uint32_t>(value) ^ hadamardSign(i));
}

/// 1 / sqrt(count).
GOSS_HOST_DEVICE float hadamardScale(std::size_t count) {
  float scale = 1;
  for (; count > 3; count /= 4) {
    scale *= 0.5f;
  }
  return count == 2 ? scale * 0.70710678118654752f : scale;
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_HADAMARD_ELEMENT_H_
