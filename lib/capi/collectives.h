/// What the C functions of all collectives share: from arguments to a running call.
#ifndef GOSS_LIB_CAPI_COLLECTIVES_H_
#define GOSS_LIB_CAPI_COLLECTIVES_H_

#include <cstddef>
#include <cstdint>

#include "call/call.h"
#include "capi/handles.h"

namespace goss::capi {

/// Arguments that every collective has.
struct Common {
  const char* function;
  goss_comm_t comm;
  const goss_options* options;
  goss_request_t* request;
};

struct Buffers {
  const void* send;
  void* recv;
  bool uses_send = true; ///< Whether this rank's send buffer is used.
  bool uses_recv = true;
};

Call describe(Collective collective, const Buffers& buffers, std::size_t count, goss_dtype dtype);
/// Ok for a buffer that has `count` elements at an address for them.
Status checkBuffer(const Common& common, const char* name, const void* buffer, std::uint64_t count, goss_dtype dtype);
/// Adds the options to a call with a shape, validates it, and runs or starts it. `key`: as CollectiveRunner::run().
Status launch(const Common& common, Call& call, const CallKey* key = nullptr);

} // namespace goss::capi

#endif // GOSS_LIB_CAPI_COLLECTIVES_H_
