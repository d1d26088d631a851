/// Element functions of PowerSGD, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_POWERSGD_ELEMENT_H_
#define GOSS_COMPRESSORS_POWERSGD_ELEMENT_H_

#include "compressors/common/element.h"

namespace goss::compressors {

/// A number in (-1, 1) of 24 random bits: exact in float32.
GOSS_HOST_DEVICE float factorDraw(std::uint32_t random) {
  return (static_cast<float>(random >> 8) + 0.5f) * (1.0f / 8388608.0f) - 1.0f;
}

/// The factor that makes a column's length 1, from the squares of its length before and after the other columns were
/// subtracted. A column that depends on those before becomes zero.
GOSS_HOST_DEVICE double factorInverse(double before, double after) {
  return after > before * 1e-10 ? 1 / __builtin_sqrt(after) : 0;
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_POWERSGD_ELEMENT_H_
