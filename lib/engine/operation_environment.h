/// The parts of a communicator that all of its operations use.
#ifndef GOSS_LIB_ENGINE_OPERATION_ENVIRONMENT_H_
#define GOSS_LIB_ENGINE_OPERATION_ENVIRONMENT_H_

#include <cstdint>

#include "engine/engine.h"
#include "engine/operation_table.h"
#include "mesh/group.h"
#include "mesh/mesh.h"

namespace goss {

class Devices;

/// The members refer to objects that must outlive this struct.
struct OperationEnvironment {
  const Group& group;
  const std::uint32_t context; ///< Number of the communicator.
  const std::int64_t default_timeout_ms;
  Engine& engine;
  Mesh& mesh;
  OperationTable& operations;
  Devices& devices; ///< The world's.
};

} // namespace goss

#endif // GOSS_LIB_ENGINE_OPERATION_ENVIRONMENT_H_
