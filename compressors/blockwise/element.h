/// Element functions of the blockwise integers, for CPU and GPU.
#ifndef GOSS_COMPRESSORS_BLOCKWISE_ELEMENT_H_
#define GOSS_COMPRESSORS_BLOCKWISE_ELEMENT_H_

#include "compressors/blockwise/format.h"
#include "compressors/common/element.h"

namespace goss::compressors {

/// How one block is quantised: level = round((value - offset) * inverse).
struct BlockScale {
  Scale scale;
  float offset;
  std::int32_t low, high; ///< Levels.
  bool finite;
};

template <BlockScheme kScheme>
inline constexpr bool kIsStochastic = kScheme != BlockScheme::peak&& kScheme != BlockScheme::minmax;
template <BlockScheme kScheme>
inline constexpr bool kHasOffset = hasOffset(kScheme);

template <BlockScheme kScheme>
GOSS_HOST_DEVICE std::int32_t levelOf(float value, const BlockScale& how, std::uint32_t random) {
  const float scaled = kHasOffset<kScheme> ? (value - how.offset) * how.scale.inverse : value * how.scale.inverse;
  const std::int32_t level = kIsStochastic<kScheme> ? roundStochastic(scaled, random) : roundToInt(scaled);
  return clamp(level, how.low, how.high);
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_BLOCKWISE_ELEMENT_H_
