/// Converts configs, whose structs have grown with NCCL's versions, to the newest form.
#ifndef GOSS_BINDINGS_NCCL_CONFIG_H_
#define GOSS_BINDINGS_NCCL_CONFIG_H_

#include "bindings/nccl/nccl_api.h"
#include "gossamer/status.h"

namespace goss::nccl {

/// A config in which every field has NCCL's value for undefined.
ncclConfig_t emptyConfig();
/// `given` may be nullptr: all fields undefined. A field counts if `size` reaches over it and `version` knew it: the
/// tail padding of 2.14 and 2.17 to 2.25 holds no fields, though later ones lie there. Errors:
/// GOSS_ERR_INVALID_ARGUMENT for a struct that NCCL_CONFIG_INITIALIZER did not set, or values that NCCL refuses.
Result<ncclConfig_t> readConfig(const ncclConfig_t* given);

/// The options in a collective's own config.
struct CallConfig {
  std::string codec;
  std::string algorithm;
  std::int64_t timeout_ms = 0;
};
/// `given` may be nullptr. Errors: GOSS_ERR_INVALID_ARGUMENT; GOSS_ERR_UNSUPPORTED for an event at launch.
Result<CallConfig> readCallConfig(const ncclCollConfig_t* given);

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_CONFIG_H_
