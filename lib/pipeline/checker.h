/// Proves a pipeline schedule correct, or names the first rule that it breaks and the action that breaks it.
#ifndef GOSS_LIB_PIPELINE_CHECKER_H_
#define GOSS_LIB_PIPELINE_CHECKER_H_

#include <vector>

#include "gossamer/status.h"
#include "pipeline/schedule.h"

namespace goss::pipeline {

struct CheckLimits {
  int activations = 0; ///< Most that a rank may hold at once, counted in micro-batches of one stage; 0: any number.
  int versions = 0;    ///< Most versions of a stage's weights that may be alive at once; 0: any number.
};

struct CheckReport {
  /// [rank] most activations held at once, in micro-batches of one stage. An activation is held from the forward (or
  /// its recomputation) to the backward, or to the gradient of the weights where that is separate.
  std::vector<int> peak_activations;
  std::vector<int> live_versions; ///< [rank] most versions of the weights of one of its stages alive at once
  std::size_t messages = 0;
};

/// The rules: every action names a stage of its rank; every stage is in one chain; every micro-batch passes all stages
/// of one chain, each forward once and backward once, as B or as I and W; forward before recompute before backward, I
/// before W; every boundary between ranks has one send after the action that computes the data and one receive before
/// the action that needs it, in the same order on both sides; no rank waits for ever; a backward pass uses the weights
/// of its forward pass, which exist at that time; a step comes when the gradients of exactly its micro-batches are
/// complete, and every gradient reaches one; limits are kept. Errors: GOSS_ERR_INVALID_ARGUMENT.
Result<CheckReport> check(const Schedule& schedule, const CheckLimits& limits = {});

} // namespace goss::pipeline

#endif // GOSS_LIB_PIPELINE_CHECKER_H_
