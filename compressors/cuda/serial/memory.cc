#include "compressors/cuda/device/memory.h"

#include <chrono>
#include <cstring>
#include <new>

namespace goss::compressors::cuda {

Result<std::string> deviceName() { return std::string("this machine, kernels as loops"); }

Result<DeviceBuffer> DeviceBuffer::make(std::size_t bytes) {
  return DeviceBuffer(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{256})), bytes);
}
DeviceBuffer::~DeviceBuffer() { ::operator delete (data_, std::align_val_t{256}); }

Status DeviceBuffer::upload(std::size_t offset, const void* from, std::size_t bytes) const {
  return write(data_ + offset, from, bytes);
}
Status DeviceBuffer::download(void* to, std::size_t offset, std::size_t bytes) const {
  return read(to, data_ + offset, bytes);
}
Status DeviceBuffer::write(void* to_device, const void* from, std::size_t bytes) {
  if (bytes != 0) {
    std::memcpy(to_device, from, bytes);
  }
  return Status::ok();
}
Status DeviceBuffer::read(void* to, const void* from_device, std::size_t bytes) {
  return write(to, from_device, bytes);
}

Result<double> deviceSeconds(const std::function<Status()>& work) {
  const auto start = std::chrono::steady_clock::now();
  if (Status status = work(); !status.isOk()) {
    return status;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Status deviceCopy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  return Status::ok();
}

} // namespace goss::compressors::cuda
