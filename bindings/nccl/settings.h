/// Settings of libnccl.so.2, which unmodified programs give by the environment. GOSS_TLS and the library's other
/// variables apply too.
#ifndef GOSS_BINDINGS_NCCL_SETTINGS_H_
#define GOSS_BINDINGS_NCCL_SETTINGS_H_

#include <cstdint>
#include <string>

namespace goss::nccl {

struct Settings {
  std::string codec;        ///< GOSS_NCCL_CODEC: of all-reduces of floating types by sum or mean; "": none.
  std::string algorithm;    ///< GOSS_NCCL_ALGORITHM: of collectives; "": the planner's choice.
  bool report = false;      ///< GOSS_NCCL_REPORT=1: each communicator says at its end what it ran.
  int version = 22809;      ///< GOSS_NCCL_VERSION: what ncclGetVersion returns.
  bool log = false;         ///< NCCL_DEBUG=WARN or more: errors go to standard error.
  bool has_timeout = false; ///< GOSS_TIMEOUT_MS is set.
};

/// The settings, read from the environment at the first call.
const Settings& settings();

/// How long an operation may take, in milliseconds.
std::int64_t timeoutMs();

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_SETTINGS_H_
