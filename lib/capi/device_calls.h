/// Finds where the buffers of collectives and messages lie, and enqueues calls on their callers' streams.
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
  bool empty = false;  ///< The call has no elements, but still takes its place in the stream.
  bool starts = false; ///< The stream must accept work now; false: a persistent call is only created.
};

/// Where a call's buffers lie.
struct BufferPlaces {
  int device = -1;                 ///< -1: all is host memory, and there is no stream.
  std::array<bool, 2> is_device{}; ///< Also of pinned memory in a stream.
  std::array<bool, 2> is_pinned{}; ///< In a stream alone.
};

/// Opens the device, too. Errors: GOSS_ERR_UNSUPPORTED, with what to do; the provider's.
Result<BufferPlaces> findBufferPlaces(const char* function, World& world, const CallBuffers& buffers,
                                      const StreamUse& use);
/// Whether both buffers are host memory. The world has devices.
bool areFoundOnHost(World& world, const CallBuffers& buffers);
/// Whether both buffers are host memory. Inline, because the shortest calls call it.
inline bool areOnHost(World& world, const CallBuffers& buffers) {
  return !world.devices().present() || areFoundOnHost(world, buffers);
}
/// The error of a call that takes no device memory, if `buffer` is device memory; else ok. `name` names the buffer.
Status refuseDevice(const char* function, const char* name, World& world, const void* buffer);

/// Enqueues a call that has started on its caller's stream; in an open group the end of the group enqueues its gates.
void enqueue(Operation& operation);
/// Enqueues an operation that has just started on its caller's stream, and sets *request. Null `request`: the
/// communicator frees the operation when it has ended. Returns its failure if it failed at its start.
Status launchOrdered(Communicator& communicator, Operation& operation, goss_request_t* request);

} // namespace goss::capi

#endif // GOSS_LIB_CAPI_DEVICE_CALLS_H_
