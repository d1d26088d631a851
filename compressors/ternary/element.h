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

/// -1, 0 or 1 for a value in units of the scale. Values beyond it, clipped ones, are certain.
GOSS_HOST_DEVICE std::int32_t ternaryLevel(float scaled, std::uint32_t random) {
  // Held within 2 first: no integer is as large as an infinity.
  scaled = scaled < 2.0f ? scaled : 2.0f;
  scaled = scaled > -2.0f ? scaled : -2.0f;
  return clamp(roundStochastic(scaled, random), -1, 1);
}

/// What a payload's scale is multiplied by where what is lost is kept: 1 / (1 + omega), omega being the variance of
/// this very vector, unclipped, beside its square. `least`: of all vectors of its length (leastTernaryGain()).
GOSS_HOST_DEVICE float ternaryGain(double squares, double magnitudes, double peak, double least) {
  const double product = peak * magnitudes, gain = product > 0 ? squares / product : 1;
  return static_cast<float>(gain > least ? (gain < 1 ? gain : 1) : least);
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_TERNARY_ELEMENT_H_
