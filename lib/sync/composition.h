/// What a synchronization method is made of: when x with whom x what x how applied. A method (methods.h) only fills
/// this in; the synchronizer runs it.
#ifndef GOSS_LIB_SYNC_COMPOSITION_H_
#define GOSS_LIB_SYNC_COMPOSITION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "sync/applier.h"

namespace goss::sync {

/// When parameters are exchanged. All numbers are training steps.
struct Timing {
  std::uint64_t period = 1; ///< H: each fragment is exchanged once in so many steps.
  std::uint64_t overlap =
      0; ///< tau: an exchange is applied so many steps after it was started; at most period / fragments.
  /// Apply the exchange of the round before, then start this round's: a whole round to arrive in.
  bool late = false;
  /// The Quadratic Synchronization Rule: the next period is max(period, floor((growth / lr)^2)); 0: fixed periods.
  double growth = 0;
  std::uint64_t warmup = 0;       ///< Periods that begin in these first steps do not grow.
  std::uint64_t first_period = 0; ///< They have so many steps; 0: `period`.
  std::uint64_t total = 0;        ///< No period reaches beyond this step; 0: unknown.
  /// Slower ranks leave steps of a period out (lib/sync/local_steps.h); with fixed periods that are not `late`.
  bool is_dynamic = false;
};

/// Whose parameters are exchanged. With islands, ranks of one island (consecutive, equally many) average gradients in
/// every step, and ranks at the same place of all islands exchange parameters.
struct Topology {
  std::uint64_t islands = 0; ///< 0: every rank is an island.
};

/// How the model is cut, and how its pieces travel.
struct Layout {
  std::uint64_t bucket_bytes = 1 << 20; ///< Of gradients.
  std::uint64_t fragments = 1;          ///< Of parameters.
  bool strided = true;                  ///< Layer l is in fragment l mod fragments; else in contiguous runs.
  std::string codec;                    ///< Of what is exchanged by the method; "none": float32.
};

/// What the optimizer sees as the gradient.
enum class GradientRule : std::uint8_t {
  local, ///< Each rank its own (or its island's).
  mean,  ///< The mean over all ranks.
  signs, ///< DeMo: the signs of what momentum and compression leave of the mean.
};

struct Composition {
  GradientRule gradients = GradientRule::local;
  Timing timing; ///< Unused where gradients are exchanged.
  Topology topology;
  Layout layout;
  double mixing = 0; ///< alpha: parameters become alpha * local + (1 - alpha) * reference.
  /// What error feedback keeps of a rank's differences stays in that rank's parameters: they become reference - lost.
  bool keeps_lost = false;
  /// So does what its steps have changed since the exchange started, which without mixing would be forgotten.
  bool keeps_newer = false;
  double decay = 0;                 ///< Of the momentum, with GradientRule::signs.
  std::unique_ptr<Applier> applier; ///< Null where gradients are exchanged instead of parameters.
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_COMPOSITION_H_
