/// The parts of a communicator that its collectives use.
#ifndef GOSS_LIB_EXECUTION_RUN_ENVIRONMENT_H_
#define GOSS_LIB_EXECUTION_RUN_ENVIRONMENT_H_

#include "boards/board_channel.h"
#include "engine/operation_environment.h"
#include "execution/device_feedback.h"
#include "gossamer/lending.h"
#include "health/failure_propagator.h"
#include "health/mismatch_finder.h"
#include "platform/thread_safety.h"
#include "state/reference_store.h"

namespace goss {

/// The members refer to objects that must outlive this struct.
struct RunEnvironment : OperationEnvironment {
  BoardChannel* const boards;      ///< Null where the ranks share no boards.
  Lending* const lending;          ///< Null where the ranks share no GPU (World::lendingAmong()).
  ReferenceStore& references;      ///< What error feedback and codecs keep.
  DeviceFeedback& device_feedback; ///< Residuals of error feedback that lie in memory of GPUs.
  FailurePropagator& propagator;
  MismatchFinder& mismatches;

  /// Fails the communicator, because of what this rank has found.
  void fail(const Status& status) const GOSS_ON_LOOP { propagator.fail(status, FailurePropagator::Origin::here); }
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_RUN_ENVIRONMENT_H_
