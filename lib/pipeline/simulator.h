/// How long a pipeline schedule takes on given stages and links, and how much memory and traffic it needs.
#ifndef GOSS_LIB_PIPELINE_SIMULATOR_H_
#define GOSS_LIB_PIPELINE_SIMULATOR_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "gossamer/status.h"
#include "pipeline/schedule.h"

namespace goss::pipeline {

struct StageCost {
  double forward_s = 1;
  double input_s = 1;  ///< I
  double weight_s = 1; ///< W; B takes both
  double recompute_s = 1;
  double reduce_s = 0;
  double step_s = 0;
  double activation_bytes = 1; ///< Bytes of one micro-batch, kept for the backward pass.
  /// Bytes of the stage's input, and of its gradient: the size of a message and of a recomputed forward's memory.
  double boundary_bytes = 0;
};

struct LinkCost {
  double latency_s = 0;
  double bandwidth_bytes_per_s = 0; ///< 0: without limit
};

struct PipelineCosts {
  std::vector<StageCost> stages; ///< [stage], or one entry for all stages
  LinkCost link;                 ///< cost of every ordered pair of ranks; messages of a pair follow one another
};

struct Event {
  Action action;
  double start_s = 0;
  double end_s = 0;
};

struct Simulation {
  std::vector<std::vector<Event>> events; ///< [rank] computations, reductions and steps, in order
  double makespan_s = 0;                  ///< time from 0 to the end of the last action
  std::vector<double> span_s;             ///< [rank] from the start of its first computation to the end of its last
  std::vector<double> busy_s;             ///< [rank] time in computations
  double bubble_s = 0;                    ///< largest span_s - busy_s of a rank
  std::vector<double> peak_bytes;         ///< [rank]
  std::map<std::pair<int, int>, double> link_bytes; ///< (from, to)
};

/// A rank is a single worker; sends take none of its time and start at once; receives are posted early. `schedule` must
/// pass check(). Errors: GOSS_ERR_INVALID_ARGUMENT (costs that are negative, not finite, or not one for each stage).
Result<Simulation> simulate(const Schedule& schedule, const PipelineCosts& costs);

} // namespace goss::pipeline

#endif // GOSS_LIB_PIPELINE_SIMULATOR_H_
