/// Element functions of TernGrad, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_TERNARY_ELEMENT_H_
#define GOSS_COMPRESSORS_TERNARY_ELEMENT_H_

#include "compressors/common/element.h"

namespace goss::compressors {

/// A word as a signed number.
template <unsigned kBits>
GOSS_HOST_DEVICE std::int32_t ternarySigned(unsigned word) {
  constexpr unsigned kSign = 1u << (kBits - 1);
  return static_cast<std::int32_t>((word & ((1u << kBits) - 1)) ^ kSign) - static_cast<std::int32_t>(kSign);
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_TERNARY_ELEMENT_H_
