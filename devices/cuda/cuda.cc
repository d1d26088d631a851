#include "devices/cuda/cuda.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace goss::devices::cuda {

Result<std::unique_ptr<DeviceProvider>> CudaProvider::make(bool only_if_used) {
  auto driver = Driver::load(only_if_used);
  if (!driver.isOk()) return driver.status();
  int count = 0;
  const CUresult error = driver.value()->deviceGetCount(&count);
  if (error != CUDA_SUCCESS || count == 0)
    return Status::error(GOSS_ERR_UNSUPPORTED, "the CUDA driver has no device; see CUDA_VISIBLE_DEVICES");
  return std::unique_ptr<DeviceProvider>(std::make_unique<CudaProvider>(*driver.value(), count));
}

CudaProvider::CudaProvider(const Driver& driver, int count)
    : driver_(driver), devices_(static_cast<std::size_t>(count)) {}

Result<MemoryInfo> CudaProvider::classify(const void* pointer) {
  unsigned type = 0;
  int managed = 0;
  int ordinal = -1;
  std::uint64_t allocation = 0;
  const std::byte* base = nullptr;
  std::size_t bytes = 0;
  std::array attributes{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_BUFFER_ID,
                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  std::array<void*, attributes.size()> values{&type, &managed, &ordinal, &allocation, &base, &bytes};
  const CUresult error = driver_.pointerGetAttributes(static_cast<unsigned>(attributes.size()), attributes.data(),
                                                      values.data(), reinterpret_cast<CUdeviceptr>(pointer));
  // A process in which CUDA was never used has host memory alone.
  if (error == CUDA_ERROR_INVALID_CONTEXT || error == CUDA_ERROR_INVALID_VALUE) return MemoryInfo{};
  if (error != CUDA_SUCCESS)
    return Status::error(GOSS_ERR_DEVICE, fmt::format("cuda: cuPointerGetAttributes: {}", driver_.textOf(error)));
  if (managed != 0 || (type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_HOST)) return MemoryInfo{};
  const MemoryKind kind = type == CU_MEMORYTYPE_DEVICE ? MemoryKind::device : MemoryKind::pinned;
  return MemoryInfo{kind, ordinal, allocation, base, bytes};
}

Result<Device*> CudaProvider::open(int ordinal) {
  if (ordinal < 0 || ordinal >= deviceCount())
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("there is no cuda device {}: this process sees {}", ordinal, deviceCount()));
  const std::lock_guard lock(mutex_);
  auto& device = devices_[static_cast<std::size_t>(ordinal)];
  if (device == nullptr) {
    auto made = CudaDevice::open(driver_, ordinal);
    if (!made.isOk()) return made.status();
    device = made.take();
  }
  return static_cast<Device*>(device.get());
}

Result<Device*> CudaProvider::current() { return open(currentOrdinal()); }

bool CudaProvider::hasCurrent() const {
  const CUcontext context = currentContext();
  CUdevice device = 0;
  unsigned flags = 0;
  int is_active = 0;
  if (context == nullptr || driver_.ctxGetDevice(&device) != CUDA_SUCCESS ||
      driver_.primaryCtxGetState(device, &flags, &is_active) != CUDA_SUCCESS || is_active == 0)
    return false;
  CUcontext primary = nullptr;
  if (driver_.primaryCtxRetain(&primary, device) != CUDA_SUCCESS) return false;
  driver_.primaryCtxRelease(device);
  return primary == context;
}

CUcontext CudaProvider::currentContext() const {
  CUcontext context = nullptr;
  return driver_.ctxGetCurrent(&context) == CUDA_SUCCESS ? context : nullptr;
}

int CudaProvider::currentOrdinal() const {
  CUdevice device = 0;
  return currentContext() != nullptr && driver_.ctxGetDevice(&device) == CUDA_SUCCESS ? device : 0;
}

} // namespace goss::devices::cuda
