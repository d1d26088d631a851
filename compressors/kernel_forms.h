/// What compressors/cuda makes the codec of a stage from.
#ifndef GOSS_COMPRESSORS_KERNEL_FORMS_H_
#define GOSS_COMPRESSORS_KERNEL_FORMS_H_

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
struct CastForm {
  DType dtype;
};
struct MxForm {
  MxElement element;
};
struct NaturalForm {
  bool nearest;
};
struct DynamicForm {
  std::size_t block;
};
struct NormalForm {
  std::size_t block;
};
struct NvFp4Form {};
struct UniformForm {};
struct SignForm {
  bool root_mean_square; ///< The scale is the root mean square; otherwise the mean magnitude.
};
struct MinMaxUint8Form {};
struct DctForm {
  std::size_t chunk, keep;
};

using ValueKernels =
    std::variant<NoKernels, CastForm, BlockFormat, MxForm, NaturalForm, DynamicForm, NormalForm, NvFp4Form, UniformForm,
                 SignForm, TernarySettings, MinMaxUint8Form, DctForm, PowerSgdSettings>;

struct TopKForm {
  double ratio;
  bool sampled; ///< A sample finds the threshold.
  bool packs;   ///< Indices are PackedIndices.
};
struct ThresholdForm {
  float value;
  bool packs;
};
struct RandomKForm {
  double ratio;
  std::size_t block;
};
struct HadamardForm {
  std::size_t chunk;
};

using SparsifierKernels = std::variant<NoKernels, TopKForm, ThresholdForm, RandomKForm, HadamardForm>;

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_KERNEL_FORMS_H_
