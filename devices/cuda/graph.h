/// Streams that are captured into CUDA graphs, and what graphs do when they are launched and destroyed.
#ifndef GOSS_DEVICES_CUDA_GRAPH_H_
#define GOSS_DEVICES_CUDA_GRAPH_H_

#include <cstdint>
#include <optional>

#include "devices/cuda/context.h"
#include "devices/cuda/queue.h"

namespace goss::devices::cuda {

struct Capture {
  std::uint64_t id = 0; ///< Of no other capture in the process.
  CUgraph graph = nullptr;
};

/// What `queue`'s stream is being captured into; nullopt: it is not. Errors: GOSS_ERR_UNSUPPORTED where the
/// driver cannot tell, where the capture is broken, and for the legacy default stream while a blocking stream is
/// captured; the device's.
Result<std::optional<Capture>> captureOf(const Context& context, const DeviceQueue& queue);

/// Once the graph of `capture`, all that was instantiated from it and all launches of that are gone, `function` is
/// called with `argument`, by a thread that may not call the driver. Not called on failure.
Status whenDestroyed(const Context& context, const Capture& capture, CUhostFn function, void* argument);

/// No graph comes out of the capture of `queue`'s stream.
void breakCapture(const Context& context, const DeviceQueue& queue);

/// The captured stream waits, when the graph runs, for what recordInGraph(), or a stream outside of all graphs, last
/// recorded in `event` before the graph was launched.
Status awaitEarlierLaunches(const Context& context, const DeviceQueue& queue, const DeviceEvent& event);
/// The captured stream records `event` whenever the graph runs.
Status recordInGraph(const Context& context, const DeviceQueue& queue, const DeviceEvent& event);

} // namespace goss::devices::cuda

#endif // GOSS_DEVICES_CUDA_GRAPH_H_
