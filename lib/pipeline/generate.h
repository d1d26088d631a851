/// Generators of the published pipeline schedules.
#ifndef GOSS_LIB_PIPELINE_GENERATE_H_
#define GOSS_LIB_PIPELINE_GENERATE_H_

#include <string>
#include <vector>

#include "gossamer/status.h"
#include "pipeline/schedule.h"

namespace goss::pipeline {

/// What to generate. With p ranks and m micro-batches:
///
/// | name | source | stages a rank | flush |
/// |---|---|---|---|
/// | gpipe | Huang et al., NeurIPS 2019 | 1 | yes |
/// | 1f1b | PipeDream-Flush: Narayanan et al., ICML 2021 | 1 | yes |
/// | interleaved | Narayanan et al., SC 2021; m must be a multiple of p | `chunks` | yes |
/// | zb-h1, zb-h2 | Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024 | 1 | yes |
/// | zb-v | the same authors, Pipeline Parallelism with Controllable Memory, NeurIPS 2024 | 2, in a V | yes |
/// | pipedream | Narayanan et al., SOSP 2019: weights are stashed, every micro-batch updates them | 1 | no |
/// | 2bw | PipeDream-2BW: Narayanan et al., ICML 2021; m must be at least p | 1 | no |
struct Request {
  std::string name;
  int ranks = 1;
  int micro_batches = 1; ///< m: micro-batches of one batch.
  int batches = 1;       ///< Batches, one after the other; without a flush they overlap.
  int chunks = 2;        ///< Stages a rank of `interleaved`; the other schedules have fixed numbers.
  bool recompute = false;
};

/// The complete schedule: computations, messages, reductions and steps. Errors: GOSS_ERR_INVALID_ARGUMENT (an unknown
/// name, with the list of names; sizes that the schedule cannot have). The result passes check().
Result<Schedule> generate(const Request& request);

/// Names that generate() knows.
const std::vector<std::string>& scheduleNames();

/// Inserts the sends and receives of a schedule that has none: a send follows at once the action that computes its
/// data, and the receive is inserted into the peer's list at the same moment of a run of all lists, so that the order
/// cannot block. Errors: GOSS_ERR_INVALID_ARGUMENT when the computations wait for each other.
Status addMessages(Schedule& schedule);

/// Appends a reduction and a step of every stage to a schedule that has none.
void addFinalSteps(Schedule& schedule);

/// [rank] the order of zb-v, by stage and kind, without messages and steps.
std::vector<std::vector<Action>> zeroBubbleVOrder(int ranks, int micro_batches);

} // namespace goss::pipeline

#endif // GOSS_LIB_PIPELINE_GENERATE_H_
