/// The table of synchronization methods. Each row is made in a small file of its own (methods/method_*.cc,
/// gossip/method_*.cc) that names its paper; methods.cc lists them.
#ifndef GOSS_LIB_SYNC_METHODS_H_
#define GOSS_LIB_SYNC_METHODS_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/spec.h"
#include "sync/composition.h"

namespace goss::sync {

using base::ParameterInfo;
using base::SpecReader;

struct Method {
  std::string_view name;
  std::string_view summary; ///< As docs/synchronizers.md shows it; no text of a method needs escaping in JSON.
  std::string_view paper;
  std::span<const ParameterInfo> parameters;
  Composition (*make)(SpecReader& reader);
  /// Results depend on when the ranks call, or on how long steps take, not only on what; wait=0 does this to any
  /// method.
  bool depends_on_time = false;
};

/// All methods, in the order of the documentation.
std::span<const Method* const> allMethods();

/// A composition and the canonical spec that it was made from.
struct Made {
  Composition composition;
  std::string spec;
};
/// Makes a composition. GOSS_ERR_INVALID_ARGUMENT names what is wrong and what exists.
Result<Made> makeComposition(std::string_view spec);

/// The table as JSON text, which goss_sync_methods() returns.
std::string describeMethods();

// Parameters that several methods share.
inline constexpr ParameterInfo kPeriodParameter = {"h", "50", "steps between exchanges"};
inline constexpr ParameterInfo kStepsParameter = {
    "steps", "fixed", "dynamic: of the h steps a slower rank computes as many as its speed allows"};
inline constexpr ParameterInfo kIslandsParameter = {"islands", "0",
                                                    "data-parallel groups of consecutive ranks; 0: every rank is one"};
inline constexpr ParameterInfo kCodecParameter = {"codec", "none", "compressor of what is exchanged; comes last"};

inline constexpr SpecReader::Range kPeriodRange = {1, 1e9};
inline constexpr SpecReader::Range kRateRange = {0, 1e3};
inline constexpr SpecReader::Range kUnitRange = {0, 1};
inline constexpr SpecReader::Range kEpsRange = {1e-30, 1e3}; ///< With 0, elements without a gradient would be 0 / 0.

/// The composition of a method that exchanges parameters: reads `h` and, where the method has it, `steps`; then the
/// parameters that `fill` reads, which makes the applier; then `islands` and `codec`.
Composition composeLocalSteps(SpecReader& reader, const std::function<void(Composition&)>& fill);
/// Reads `lr` and `momentum` of a Nesterov outer optimizer.
std::unique_ptr<OuterSgd> readOuterSgd(SpecReader& reader);

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_METHODS_H_
