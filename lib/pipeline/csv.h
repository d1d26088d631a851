/// Pipeline schedules as the CSV text of torch.distributed.pipelining.
#ifndef GOSS_LIB_PIPELINE_CSV_H_
#define GOSS_LIB_PIPELINE_CSV_H_

#include <string>
#include <string_view>

#include "gossamer/status.h"
#include "pipeline/schedule.h"

namespace goss::pipeline {

/// Writes one row for each rank, one cell for each action: "2F0,1I3,1W3,0SEND_F1". Without `is_complete` only F, B, I
/// and W, which PyTorch's compute-only loader takes. Complete: also messages, REDUCE_GRAD, and what PyTorch does not
/// have: R (recompute), STEP, and "@v" behind an action on version v of the weights. Several chains are not part of the
/// format: refused with GOSS_ERR_INVALID_ARGUMENT.
Result<std::string> writeCsv(const Schedule& schedule, bool is_complete);

/// Reads either form; a compute-only text gets its messages, reductions and steps. Empty cells are skipped. The stages
/// form one chain in the order of their numbers, and each is on the rank whose row names it first. The result passes
/// check(). Errors: GOSS_ERR_INVALID_ARGUMENT that names row and cell, or what check() says.
Result<Schedule> readCsv(std::string_view text);

} // namespace goss::pipeline

#endif // GOSS_LIB_PIPELINE_CSV_H_
