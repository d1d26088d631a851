/// What running collectives need of the communicator that they belong to.
#ifndef GOSS_LIB_EXECUTION_RUN_ENVIRONMENT_H_
#define GOSS_LIB_EXECUTION_RUN_ENVIRONMENT_H_

#include <cstdint>

#include "boards/board_channel.h"
#include "engine/engine.h"
#include "engine/operation_table.h"
#include "health/communicator_failure.h"
#include "health/mismatch_finder.h"
#include "mesh/group.h"
#include "mesh/mesh.h"
#include "platform/thread_safety.h"
#include "state/reference_store.h"

namespace goss {

/// What it refers to must outlive it.
struct RunEnvironment {
  const Group& group;
  const std::uint32_t context; ///< Number of the communicator.
  const std::int64_t default_timeout_ms;
  Engine& engine;
  Mesh& mesh;
  OperationTable& operations;
  BoardChannel* const boards; ///< Null where the ranks share no boards.
  ReferenceStore& references; ///< What error feedback and codecs keep.
  CommunicatorFailure& failure;
  MismatchFinder& mismatches;

  /// Fails the communicator, because of what this rank has found.
  void fail(const Status& status) const GOSS_ON_LOOP { failure.fail(status, CommunicatorFailure::Origin::here); }
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_RUN_ENVIRONMENT_H_
