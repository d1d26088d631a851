#include "devices/cuda/graph.h"

#include <fmt/format.h>

namespace goss::devices::cuda {

namespace {

CUstream streamOf(const DeviceQueue& queue) { return static_cast<CUstream>(queue.stream()); }
CUevent handleOf(const DeviceEvent& event) { return static_cast<const CudaEvent&>(event).handle(); }

bool hasGraphs(const Driver& driver) {
  return driver.streamGetCaptureInfo != nullptr && driver.userObjectCreate != nullptr &&
         driver.graphRetainUserObject != nullptr && driver.eventRecordWithFlags != nullptr;
}

} // namespace

Result<std::optional<Capture>> captureOf(const Context& context, const DeviceQueue& queue) {
  const Driver& driver = context.driver();
  if (!hasGraphs(driver))
    return Status::error(
        GOSS_ERR_UNSUPPORTED,
        fmt::format("{}: the stream is being captured into a CUDA graph, and the driver does not tell into which; "
                    "install one of CUDA 11.3 or later",
                    context.name()));
  const InContext inside(context);
  Capture capture;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult error =
      driver.streamGetCaptureInfo(streamOf(queue), &status, &capture.id, &capture.graph, nullptr, nullptr);
  if (error == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         fmt::format("{}: a blocking stream is being captured into a CUDA graph, which a call in the "
                                     "legacy default stream would break; end the capture before, or call in another "
                                     "stream",
                                     context.name()));
  if (error != CUDA_SUCCESS) return context.statusOf(error, "cuStreamGetCaptureInfo");
  if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         fmt::format("{}: the stream is being captured into a CUDA graph, and the capture was broken "
                                     "by an earlier call; end it",
                                     context.name()));
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) return std::optional<Capture>();
  return std::optional(capture);
}

Status whenDestroyed(const Context& context, const Capture& capture, CUhostFn function, void* argument) {
  const InContext inside(context);
  const Driver& driver = context.driver();
  CUuserObject object = nullptr;
  CUresult error = driver.userObjectCreate(&object, argument, function, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  if (error != CUDA_SUCCESS) return context.statusOf(error, "cuUserObjectCreate");
  error = driver.graphRetainUserObject(capture.graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  return context.statusOf(error, "cuGraphRetainUserObject");
}

void breakCapture(const Context& context, const DeviceQueue& queue) {
  const InContext inside(context);
  (void)context.driver().streamSynchronize(streamOf(queue)); // A captured stream refuses it, and its capture is lost.
}

Status awaitEarlierLaunches(const Context& context, const DeviceQueue& queue, const DeviceEvent& event) {
  const InContext inside(context);
  return context.statusOf(context.driver().streamWaitEvent(streamOf(queue), handleOf(event), CU_EVENT_WAIT_EXTERNAL),
                          "cuStreamWaitEvent");
}

Status recordInGraph(const Context& context, const DeviceQueue& queue, const DeviceEvent& event) {
  const InContext inside(context);
  return context.statusOf(
      context.driver().eventRecordWithFlags(handleOf(event), streamOf(queue), CU_EVENT_RECORD_EXTERNAL),
      "cuEventRecordWithFlags");
}

} // namespace goss::devices::cuda
