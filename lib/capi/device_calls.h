/// What the C functions of collectives and messages ask of buffers and streams.
#ifndef GOSS_LIB_CAPI_DEVICE_CALLS_H_
#define GOSS_LIB_CAPI_DEVICE_CALLS_H_

#include <array>

#include "capi/handles.h"
#include "world/world.h"

namespace goss::capi {

/// A call's two buffers; NULL: it has none.
using CallBuffers = std::array<const void*, 2>;

/// The stream of a call's options.
struct StreamUse {
  void* stream = nullptr;
  bool empty = false;  ///< The call has no elements: it has its place in the stream all the same.
  bool starts = false; ///< It is not only made, as persistent ones are: the stream must take jobs now.
};

/// Where a call's buffers lie.
struct Places {
  int device = -1;                 ///< -1: all is host memory, and there is no stream.
  std::array<bool, 2> is_device{}; ///< Also of pinned memory in a stream.
  std::array<bool, 2> is_pinned{}; ///< In a stream alone.
};

/// Opens the device, too. Errors: GOSS_ERR_UNSUPPORTED, with what to do; the provider's.
Result<Places> findPlaces(const char* function, World& world, const CallBuffers& buffers, const StreamUse& use);
/// Whether both buffers are host memory. The world has devices.
bool areFoundOnHost(World& world, const CallBuffers& buffers);
/// Whether both buffers are host memory. Here, because the shortest calls ask it.
inline bool areOnHost(World& world, const CallBuffers& buffers) {
  return !world.devices().present() || areFoundOnHost(world, buffers);
}
/// The error of calls that take no device memory, where `buffer`, which `name` names, is that.
Status refuseDevice(const char* function, const char* name, World& world, const void* buffer);

/// Enqueues a call that has started on its caller's stream; in an open group the end of the group enqueues its gates.
void enqueue(Operation& operation);
/// Enqueues an operation that has just started on its caller's stream, and hands its request out, or lets it end by
/// itself. Returns its failure, if it has failed as it started.
Status launchOrdered(Communicator& communicator, Operation& operation, goss_request_t* request);

} // namespace goss::capi

#endif // GOSS_LIB_CAPI_DEVICE_CALLS_H_
