/// What a spec string means, as data. Only forms.cc reads specs; the catalogue makes a CPU codec of a form, and
/// cuda/codecs/device_catalogue.h a device codec.
#ifndef GOSS_COMPRESSORS_FORMS_H_
#define GOSS_COMPRESSORS_FORMS_H_

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compressors/blockwise/format.h"
#include "compressors/mx/format.h"
#include "compressors/powersgd/powersgd.h"
#include "compressors/ternary/ternary.h"
#include "gossamer/codec.h"
#include "gossamer/types.h"

namespace goss::compressors {

// Stages that code all values they are given. Blockwise integers and QSGD are a BlockFormat.
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
struct UniformForm {};
struct SignForm {
  bool root_mean_square; ///< The scale is the root mean square; otherwise the mean magnitude.
};
struct AgreedTernaryForm {
  float clip;
};
struct MinMaxUint8Form {};
struct DctForm {
  std::size_t chunk, keep;
};
struct LosslessForm {};

using ValueForm =
    std::variant<CastForm, BlockFormat, MxForm, NaturalForm, DynamicForm, UniformForm, SignForm, TernarySettings,
                 AgreedTernaryForm, MinMaxUint8Form, DctForm, LosslessForm, PowerSgdSettings>;

// Stages that pick values and hand them to the next one.
struct TopKForm {
  double ratio;
  bool sampled; ///< A sample finds the threshold.
};
struct ThresholdForm {
  float value;
};
struct RandomKForm {
  double ratio;
  std::size_t block;
};

using PickForm = std::variant<TopKForm, ThresholdForm, RandomKForm>;

/// All stages of a spec.
struct CodecForm {
  std::vector<PickForm> picks; ///< The first one sees the whole vector.
  ValueForm value;
  ErrorFeedback feedback;
  std::string feedback_text; ///< Canonical text, with its '+'; empty: no feedback.
};

/// Reads a spec. GOSS_ERR_INVALID_ARGUMENT names the stage or parameter that is wrong, and lists the stages that exist.
Result<CodecForm> readForm(std::string_view spec);

/// Several functions as one, for std::visit.
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_FORMS_H_
