/// Runs one rank's part of a pipeline schedule over a communicator.
#ifndef GOSS_LIB_PIPELINE_RUNNER_H_
#define GOSS_LIB_PIPELINE_RUNNER_H_

#include <cstddef>
#include <functional>

#include "gossamer/gossamer.h"
#include "gossamer/status.h"
#include "pipeline/boundary_codec.h"
#include "pipeline/schedule.h"

namespace goss::pipeline {

struct RunnerWork {
  std::size_t boundary_bytes = 0;
  /// As goss_pipeline_work.run; true on success.
  std::function<bool(const Action& action, const void* input, void* output)> run;
  BoundaryCodec* codec = nullptr; ///< Codec of messages between ranks; may be null.
  /// With a codec: the sample at position `index` of a micro-batch.
  std::function<std::uint64_t(int micro_batch, std::size_t index)> sample = {};
};

/// As goss_pipeline_run; `schedule` must pass check().
Status run(const Schedule& schedule, goss_comm_t comm, const RunnerWork& work);

} // namespace goss::pipeline

#endif // GOSS_LIB_PIPELINE_RUNNER_H_
