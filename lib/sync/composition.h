/// The parts of a synchronization method: when, with which ranks, what, and how it is applied. A method (methods.h)
/// only fills these in; the synchronizer runs them.
#ifndef GOSS_LIB_SYNC_COMPOSITION_H_
#define GOSS_LIB_SYNC_COMPOSITION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sync/applier.h"
#include "sync/rule.h"

namespace goss::sync {

/// When parameters are exchanged. All numbers are training steps.
struct Timing {
  std::uint64_t period = 1; ///< H: each fragment is exchanged once in so many steps.
  /// tau: an exchange is applied so many steps after it was started; at most period / fragments.
  std::uint64_t overlap = 0;
  /// Each round applies the exchange of the round before, and then starts its own: an exchange has a whole round to
  /// arrive.
  bool late = false;
  /// The Quadratic Synchronization Rule: the next period is max(period, floor((growth / lr)^2)); 0: fixed periods.
  double growth = 0;
  std::uint64_t warmup = 0;       ///< Periods that begin in these first steps do not grow.
  std::uint64_t first_period = 0; ///< Length of those periods; 0: `period`.
  std::uint64_t total = 0;        ///< No period reaches beyond this step; 0: the end is unknown.
  /// Slower ranks skip steps of a period (lib/sync/local_steps.h); only with fixed periods that are not `late`.
  bool is_dynamic = false;
};

/// Whose parameters are exchanged. With islands, ranks of one island (consecutive, equally many) average gradients in
/// every step, and ranks at the same position of all islands exchange parameters.
struct Topology {
  std::uint64_t islands = 0; ///< 0: every rank is an island.
};

/// The all-reduce of two levels, within nodes and between them, whose codecs encode sums but once a level.
inline constexpr const char* kTwoLevelAllReduce = "hier-direct-direct";

/// How the model is cut, and how its parts are sent.
struct Layout {
  std::uint64_t bucket_bytes = 1 << 20; ///< Bytes of a bucket of gradients.
  std::uint64_t fragments = 1;          ///< Number of parts of the parameters.
  bool strided = true;                  ///< Layer l is in fragment l mod fragments; else in contiguous runs.
  std::string codec;                    ///< Codec of the method's exchanges; "none": float32.
  std::string algorithm;                ///< Algorithm of a bucket's all-reduce; "": the planner's choice.
};

/// Which gradient the optimizer sees.
enum class GradientRule : std::uint8_t {
  local, ///< Each rank's own (or its island's).
  mean,  ///< The mean over all ranks.
  signs, ///< DeMo: the signs of what momentum and compression leave of the mean.
};

/// What `auto` may do (lib/sync/autotune).
struct Tuning {
  double budget = 0;       ///< The largest error of an exchange, relative to its exact result.
  std::uint64_t steps = 0; ///< Steps of a trial.
  std::uint64_t check = 0; ///< Steps between two measurements of the error.
  std::uint64_t seed = 0;  ///< Seed for the order of trials.
  bool may_gossip = false; ///< Parameters may be mixed among neighbours instead of gradients among all.
};

struct Composition {
  GradientRule gradients = GradientRule::local;
  Timing timing; ///< Unused where gradients are exchanged.
  Topology topology;
  Layout layout;
  double mixing = 0; ///< alpha: parameters become alpha * local + (1 - alpha) * reference.
  /// Losses of error feedback of a rank's differences stay in that rank's parameters, which become reference - lost.
  bool keeps_lost = false;
  /// Steps since the exchange started stay in the parameters too; without mixing they would be forgotten.
  bool keeps_newer = false;
  double decay = 0;                 ///< Decay of the momentum, with GradientRule::signs.
  std::unique_ptr<Applier> applier; ///< Null where gradients are exchanged, not parameters.
  std::optional<Tuning> tuning;     ///< For `auto`, which runs other compositions by turns; then nothing else is used.
  /// A method that works on the whole model; then all that is used beside it is Layout::codec.
  std::unique_ptr<Rule> rule;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_COMPOSITION_H_
