/// Training of simulated ranks: steps of given length, the library's synchronizers, and what happens when ranks die.
#ifndef GOSS_BENCH_SIM_TRAINING_H_
#define GOSS_BENCH_SIM_TRAINING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/sim/cluster.h"
#include "bench/sim/sites.h"
#include "gossamer/status.h"

namespace goss::bench::sim {

struct TrainingOptions {
  std::string sync = "ddp"; ///< Spec of the synchronizer.
  double parameters = 1e9;
  double step_s = 1; ///< Forward and backward pass and optimizer of one rank.
  std::uint64_t steps = 100;
  double step_jitter = 0;        ///< A step takes up to so much more, as a part of it, evenly spread.
  double straggling = 0;         ///< Part of the ranks that are slower.
  double slowdown = 1;           ///< How many times slower these are.
  double churn_per_s = 0;        ///< Deaths of a rank.
  std::uint64_t checkpoint = 10; ///< With churn, ranks keep their state every so many steps.
  double silence_s = 10;         ///< From a death until the other ranks know it.
  std::uint64_t seed = 1;
};

/// What a rank did from one time to another.
struct Interval {
  enum class Kind : std::uint8_t { computing, waiting, recovering };
  double from_s = 0;
  double to_s = 0;
  Kind kind = Kind::computing;
};

struct TrainingResult {
  double time_s = 0;         ///< Until the last rank has made its last step.
  double start_s = 0;        ///< Part of time_s before the first step.
  double utilisation = 0;    ///< Part of the living ranks' time in which they computed.
  double steps_computed = 0; ///< Steps of all ranks together.
  std::uint64_t recoveries = 0;
  double recovering_s = 0; ///< Part of time_s, from a death's being known to the next step.
  double agreement_messages = 0;
  int survivors = 0;
  Traffic traffic;
  std::vector<double> step_ends_s;              ///< When the slowest rank ended each step.
  std::vector<std::vector<Interval>> timelines; ///< Timelines of the first ranks.
};

/// Errors: of the synchronizer, such as a wrong spec; peerLost when too few ranks are left.
Result<TrainingResult> train(Sites sites, const TrainingOptions& options);

} // namespace goss::bench::sim

#endif // GOSS_BENCH_SIM_TRAINING_H_
