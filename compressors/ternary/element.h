/// Element functions of TernGrad, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_TERNARY_ELEMENT_H_
#define GOSS_COMPRESSORS_TERNARY_ELEMENT_H_

#include "compressors/common/element.h"

namespace goss::compressors {

/// A word, sign-extended.
template <unsigned kBits>
GOSS_HOST_DEVICE std::int32_t ternarySigned(unsigned word) {
  constexpr unsigned kSign = 1u << (kBits - 1);
  return static_cast<std::int32_t>((word & ((1u << kBits) - 1)) ^ kSign) - static_cast<std::int32_t>(kSign);
}

/// -1, 0 or 1 for a value in units of the scale. A magnitude above 1 gives its sign with certainty.
GOSS_HOST_DEVICE std::int32_t ternaryLevel(float scaled, std::uint32_t random) {
  // Clamps to 2 first: no integer is as large as an infinity.
  scaled = scaled < 2.0f ? scaled : 2.0f;
  scaled = scaled > -2.0f ? scaled : -2.0f;
  return clamp(roundStochastic(scaled, random), -1, 1);
}

/// The gain of a payload's scale with error feedback: 1 / (1 + omega), where omega is the variance of coding this
/// vector, unclipped, relative to its square. `least`: the smallest gain of all vectors of this length
/// (minTernaryGain()).
GOSS_HOST_DEVICE float ternaryGain(double squares, double magnitudes, double peak, double least) {
  const double product = peak * magnitudes, gain = product > 0 ? squares / product : 1;
  return static_cast<float>(gain > least ? (gain < 1 ? gain : 1) : least);
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_TERNARY_ELEMENT_H_
