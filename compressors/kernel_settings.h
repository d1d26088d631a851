/// What compressors/cuda makes the codec of a stage from.
#ifndef GOSS_COMPRESSORS_KERNEL_SETTINGS_H_
#define GOSS_COMPRESSORS_KERNEL_SETTINGS_H_

#include <cstddef>
#include <string_view>
#include <variant>

#include "compressors/blockwise/format.h"
#include "compressors/mx/format.h"
#include "compressors/powersgd/settings.h"
#include "compressors/ternary/format.h"
#include "gossamer/types.h"

namespace goss::compressors {

/// The stage works on the host alone.
struct NoKernels {
  std::string_view reason = "none are written";
};

// Value codecs. Blockwise integers and QSGD are a BlockFormat.
struct CastSettings {
  DType dtype;
};
struct MxSettings {
  MxElement element;
};
struct NaturalSettings {
  bool nearest;
};
struct DynamicSettings {
  std::size_t block;
};
struct NormalSettings {
  std::size_t block;
};
struct NvFp4Settings {};
struct UniformSettings {};
struct SignSettings {
  bool root_mean_square; ///< The scale is the root mean square; otherwise the mean magnitude.
};
struct MinMaxUint8Settings {};
struct DctSettings {
  std::size_t chunk, keep;
};

using ValueKernels = std::variant<NoKernels, CastSettings, BlockFormat, MxSettings, NaturalSettings, DynamicSettings,
                                  NormalSettings, NvFp4Settings, UniformSettings, SignSettings, TernarySettings,
                                  MinMaxUint8Settings, DctSettings, PowerSgdSettings>;

struct TopKSettings {
  double ratio;
  bool sampled; ///< A sample finds the threshold.
  bool packs;   ///< Indices are PackedIndices.
};
struct ThresholdSettings {
  float value;
  bool packs;
};
struct RandomKSettings {
  double ratio;
  std::size_t block;
};
struct HadamardSettings {
  std::size_t chunk;
};

using SparsifierKernels = std::variant<NoKernels, TopKSettings, ThresholdSettings, RandomKSettings, HadamardSettings>;

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_KERNEL_SETTINGS_H_
