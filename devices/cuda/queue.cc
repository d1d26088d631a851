#include "devices/cuda/queue.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>

#include "devices/cuda/kernels.h"

namespace goss::devices::cuda {

namespace {

/// Time after which a kernel that waits at a gate ends by itself. Without a limit the kernel could spin for ever: its
/// process may be stopped, or may end where a server shares the GPU among processes and leaves the kernel running.
/// Calls keep their streams closed for so long only where GOSS_TIMEOUT_MS or GOSS_DEVICE_HOLD_MS allow a day.
constexpr std::chrono::hours kLongestWait{24};

} // namespace

CudaEvent::~CudaEvent() {
  const InContext inside(context_);
  context_.driver().eventDestroy(event_);
}

Result<bool> CudaEvent::isDone() {
  const InContext inside(context_);
  const CUresult error = context_.driver().eventQuery(event_);
  // A driver without modes of capture does not tell while another thread captures a stream.
  const bool not_yet = error == CUDA_ERROR_NOT_READY || error == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (error == CUDA_SUCCESS || not_yet) return error == CUDA_SUCCESS;
  return context_.statusOf(error, "cuEventQuery");
}

Result<std::unique_ptr<DeviceQueue>> CudaQueue::make(const Context& context, CUstream stream,
                                                     const GateKernels* gates) {
  const bool own = stream == nullptr;
  if (own) {
    const InContext inside(context);
    const CUresult error = context.driver().streamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (error != CUDA_SUCCESS) return context.statusOf(error, "cuStreamCreate");
  }
  return std::unique_ptr<DeviceQueue>(std::make_unique<CudaQueue>(context, stream, own, gates));
}

CudaQueue::~CudaQueue() {
  if (!own_) return;
  const InContext inside(context_);
  context_.driver().streamSynchronize(stream_);
  context_.driver().streamDestroy(stream_);
}

Status CudaQueue::check() {
  const InContext inside(context_);
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult error = context_.driver().streamIsCapturing(stream_, &capture);
  const bool captured = capture != CU_STREAM_CAPTURE_STATUS_NONE || error == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (captured)
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         fmt::format("{}: the stream is being captured into a CUDA graph, and a collective cannot be "
                                     "replayed; end the capture before it and begin another after it",
                                     context_.name()));
  return context_.statusOf(error, "cuStreamIsCapturing");
}

Status CudaQueue::copy(std::span<const CopyJob> jobs) {
  const InContext inside(context_);
  for (const CopyJob& job : jobs) {
    if (job.bytes == 0) continue;
    const CUresult error = context_.driver().memcpyAsync(reinterpret_cast<CUdeviceptr>(job.to),
                                                         reinterpret_cast<CUdeviceptr>(job.from), job.bytes, stream_);
    if (error != CUDA_SUCCESS) return context_.statusOf(error, "cuMemcpyAsync");
  }
  return {};
}

namespace {

using compressors::cuda::ArithmeticKernels;

template <typename Job>
Status compute(const Context& context, CUstream stream, Status (*ArithmeticKernels::*kernel)(const Job&, void*),
               const Job& job) {
  const auto& library = kernelLibrary();
  if (!library.isOk()) return library.status();
  const InContext inside(context);
  return context.ofKernel((library.value()->arithmetic.*kernel)(job, stream));
}

} // namespace

Status CudaQueue::reduce(const ReduceJob& job) { return compute(context_, stream_, &ArithmeticKernels::reduce, job); }

Status CudaQueue::average(const AverageJob& job) {
  return compute(context_, stream_, &ArithmeticKernels::average, job);
}

Status CudaQueue::openError(const ErrorJob& job) {
  return compute(context_, stream_, &ArithmeticKernels::openError, job);
}

Status CudaQueue::keepError(const ErrorJob& job) {
  return compute(context_, stream_, &ArithmeticKernels::keepError, job);
}

Status CudaQueue::addMomentum(const MomentumJob& job) {
  return compute(context_, stream_, &ArithmeticKernels::addMomentum, job);
}

Status CudaQueue::ofFlag(CUresult error, const char* call) const {
  if (error == CUDA_ERROR_NOT_SUPPORTED)
    return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("{}: {} is not supported", context_.name(), call));
  return context_.statusOf(error, call);
}

Status CudaQueue::raise(Flag flag, std::uint32_t value) {
  const InContext inside(context_);
  if (gates_ != nullptr) return context_.ofKernel(gates_->raise(flag, value, stream_));
  const auto write = context_.driver().streamWriteValue32;
  const auto at = reinterpret_cast<CUdeviceptr>(flag);
  return ofFlag(write == nullptr ? CUDA_ERROR_NOT_SUPPORTED : write(stream_, at, value, 0), "cuStreamWriteValue32");
}

Status CudaQueue::await(Flag flag, std::uint32_t value) {
  const InContext inside(context_);
  if (gates_ != nullptr) return context_.ofKernel(gates_->await(flag, value, kLongestWait, stream_));
  const auto wait = context_.driver().streamWaitValue32;
  const auto at = reinterpret_cast<CUdeviceptr>(flag);
  return ofFlag(wait == nullptr ? CUDA_ERROR_NOT_SUPPORTED : wait(stream_, at, value, CU_STREAM_WAIT_VALUE_GEQ),
                "cuStreamWaitValue32");
}

Status CudaQueue::record(DeviceEvent& event) {
  const InContext inside(context_);
  return context_.statusOf(context_.driver().eventRecord(static_cast<CudaEvent&>(event).handle(), stream_),
                           "cuEventRecord");
}

Status CudaQueue::await(DeviceEvent& event) {
  const InContext inside(context_);
  return context_.statusOf(context_.driver().streamWaitEvent(stream_, static_cast<CudaEvent&>(event).handle(), 0),
                           "cuStreamWaitEvent");
}

} // namespace goss::devices::cuda
