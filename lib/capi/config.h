/// goss_config: the settings of a world as C programs see them.
#ifndef GOSS_LIB_CAPI_CONFIG_H_
#define GOSS_LIB_CAPI_CONFIG_H_

#include "gossamer/config.h"
#include "gossamer/gossamer.h"

namespace goss::capi {

/// The settings with which goss_comm_create makes a world.
struct Settings {
  goss_config place; ///< Only rank, ranks and unique_id are read.
  Config config;     ///< The environment, overridden by what the caller set.
};

/// `given` null: the environment alone. Errors: invalidArgument naming the field or variable and what it accepts.
Result<Settings> readSettings(const char* function, const goss_config* given);

} // namespace goss::capi

#endif // GOSS_LIB_CAPI_CONFIG_H_
