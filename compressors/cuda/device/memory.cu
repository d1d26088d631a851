#include "compressors/cuda/device/memory.h"

#include <cuda_runtime.h>

namespace goss::compressors::cuda {

namespace {

Status done(cudaError_t code, const char* what) {
  return code == cudaSuccess ? Status::ok()
                             : Status::error(code == cudaErrorMemoryAllocation ? GOSS_ERR_RESOURCE : GOSS_ERR_INTERNAL,
                                             std::string(what) + ": " + cudaGetErrorString(code));
}

} // namespace

Result<std::string> deviceName() {
  cudaDeviceProp properties;
  int device = 0;
  cudaError_t code = cudaGetDevice(&device);
  code = code == cudaSuccess ? cudaGetDeviceProperties(&properties, device) : code;
  if (code != cudaSuccess) {
    return Status::error(GOSS_ERR_UNSUPPORTED, std::string("no CUDA device: ") + cudaGetErrorString(code));
  }
  return std::string(properties.name);
}

Result<DeviceBuffer> DeviceBuffer::make(std::size_t bytes) {
  void* data = nullptr;
  if (Status status = done(cudaMalloc(&data, bytes == 0 ? 1 : bytes), "cudaMalloc"); !status.isOk()) {
    return status;
  }
  return DeviceBuffer(static_cast<std::byte*>(data), bytes);
}
DeviceBuffer::~DeviceBuffer() { cudaFree(data_); }

Status DeviceBuffer::upload(std::size_t offset, const void* from, std::size_t bytes) const {
  return write(data_ + offset, from, bytes);
}
Status DeviceBuffer::download(void* to, std::size_t offset, std::size_t bytes) const {
  return read(to, data_ + offset, bytes);
}
Status DeviceBuffer::write(void* to_device, const void* from, std::size_t bytes) {
  return done(cudaMemcpy(to_device, from, bytes, cudaMemcpyHostToDevice), "copy to the device");
}
Status DeviceBuffer::read(void* to, const void* from_device, std::size_t bytes) {
  return done(cudaMemcpy(to, from_device, bytes, cudaMemcpyDeviceToHost), "copy from the device");
}

namespace {

/// A pair of CUDA events around work whose time is measured.
struct Events {
  cudaEvent_t begin = nullptr, end = nullptr;
  ~Events() {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }
};

} // namespace

Result<double> deviceSeconds(const std::function<Status()>& work) {
  Events events;
  cudaError_t code = cudaEventCreate(&events.begin);
  code = code == cudaSuccess ? cudaEventCreate(&events.end) : code;
  code = code == cudaSuccess ? cudaEventRecord(events.begin) : code;
  if (code != cudaSuccess) {
    return done(code, "beginning to measure");
  }
  if (Status status = work(); !status.isOk()) {
    return status;
  }
  float milliseconds = 0;
  code = cudaEventRecord(events.end);
  code = code == cudaSuccess ? cudaEventSynchronize(events.end) : code;
  code = code == cudaSuccess ? cudaEventElapsedTime(&milliseconds, events.begin, events.end) : code;
  if (code != cudaSuccess) {
    return done(code, "measuring kernels");
  }
  return static_cast<double>(milliseconds) * 1e-3;
}

Status deviceCopy(std::byte* to, const std::byte* from, std::size_t bytes) {
  return done(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice), "copy within the device");
}

} // namespace goss::compressors::cuda
