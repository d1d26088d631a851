/// Device memory and the device's clock, for tests and benchmarks; in host code, this machine's own.
#ifndef GOSS_COMPRESSORS_CUDA_DEVICE_MEMORY_H_
#define GOSS_COMPRESSORS_CUDA_DEVICE_MEMORY_H_

#include <cstddef>
#include <functional>
#include <string>

#include "compressors/cuda/device/jobs.h"
#include "gossamer/status.h"

namespace goss::compressors::cuda {

/// The name of the current device. GOSS_ERR_UNSUPPORTED says why there is none.
Result<std::string> deviceName();

/// Aligned to 256 bytes. Movable; copies wait for the device.
class DeviceBuffer {
 public:
  static Result<DeviceBuffer> make(std::size_t bytes);
  DeviceBuffer(DeviceBuffer&& other) noexcept : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  Status upload(std::size_t offset, const void* from, std::size_t bytes) const;
  Status download(void* to, std::size_t offset, std::size_t bytes) const;
  /// Copies to any device memory.
  static Status write(void* to_device, const void* from, std::size_t bytes);
  static Status read(void* to, const void* from_device, std::size_t bytes);

 private:
  DeviceBuffer(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* data_;
  std::size_t bytes_;
};

/// Seconds that the device takes for what `work` enqueues on the default stream; waits for it.
Result<double> deviceSeconds(const std::function<Status()>& work);
/// Copies within the device, for measuring memory bandwidth.
Status deviceCopy(std::byte* to, const std::byte* from, std::size_t bytes);

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_DEVICE_MEMORY_H_
