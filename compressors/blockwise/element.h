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

GOSS_HOST_DEVICE BlockScale minmaxBlockScale(float least, float most, float levels) {
  const float range = most - least;
  const bool finite = (bitCast<std::uint32_t>(range) & 0x7fffffffu) < kFloatInfinity;
  return {scaleFor(range, levels), least, 0, static_cast<std::int32_t>(levels), finite};
}

/// `root` is the block's norm, and `squares` its square.
GOSS_HOST_DEVICE BlockScale normBlockScale(float squares, float root, float levels) {
  const bool finite = (bitCast<std::uint32_t>(squares) & 0x7fffffffu) < kFloatInfinity;
  return {scaleFor(root, levels), 0, -static_cast<std::int32_t>(levels), static_cast<std::int32_t>(levels), finite};
}

/// `peak` is the block's largest peakKey(). kExact: the peak lies on the last level of the longer side.
template <bool kExact>
GOSS_HOST_DEVICE BlockScale peakBlockScale(std::uint32_t peak, float levels) {
  const auto side = static_cast<std::int32_t>(levels);
  const Scale scale = kExact ? scaleForPeak(peak, levels) : scaleFor(bitCast<float>(peak >> 1), levels);
  return {scale, 0, -side, kExact ? side - 1 : side, peak < kPeakNotFinite};
}

/// The step that is stored, for levels that were chosen with the full step. Only for schemes whose gain may be less
/// than 1.
template <BlockScheme kScheme>
GOSS_HOST_DEVICE BlockScale withGain(BlockScale how, float gain) {
  if constexpr (kScheme == BlockScheme::peakStochastic || kScheme == BlockScheme::norm) {
    how.scale.step = gain == 1.0f ? how.scale.step : roundTo16Bits(how.scale.step * gain);
  }
  return how;
}

/// What rounding loses. Steps are rounded up, so that a level of the largest floats may decode to an infinity; the loss
/// is then 0.
GOSS_HOST_DEVICE float lossOf(float value, float decoded) {
  const float lost = value - decoded;
  return (bitCast<std::uint32_t>(lost) & kFloatInfinity) == kFloatInfinity ? 0.0f : lost;
}

template <BlockScheme kScheme>
GOSS_HOST_DEVICE std::int32_t levelOf(float value, const BlockScale& how, std::uint32_t random) {
  const float scaled = kHasOffset<kScheme> ? (value - how.offset) * how.scale.inverse : value * how.scale.inverse;
  const std::int32_t level = kIsStochastic<kScheme> ? roundStochastic(scaled, random) : roundToInt(scaled);
  return clamp(level, how.low, how.high);
}

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_BLOCKWISE_ELEMENT_H_
