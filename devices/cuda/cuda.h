/// The provider of NVIDIA's GPUs. Devices stage and order; they reduce and encode only with kernels, which nvcc
/// compiles.
#ifndef GOSS_DEVICES_CUDA_CUDA_H_
#define GOSS_DEVICES_CUDA_CUDA_H_

#include <memory>
#include <mutex>
#include <vector>

#include "devices/cuda/device.h"
#include "devices/cuda/driver/driver.h"
#include "gossamer/device.h"

namespace goss::devices::cuda {

/// Thread-safe.
class CudaProvider final : public DeviceProvider {
 public:
  /// As DevicePlug::make.
  static Result<std::unique_ptr<DeviceProvider>> make(bool only_if_used);

  CudaProvider(const Driver& driver, int count);

  [[nodiscard]] std::string_view name() const override { return "cuda"; }
  [[nodiscard]] int deviceCount() const override { return static_cast<int>(devices_.size()); }
  Result<MemoryInfo> classify(const void* pointer) override;
  Result<Device*> open(int ordinal) override;
  [[nodiscard]] bool hasCurrent() const override;
  Result<Device*> current() override;
  std::string currentIdentity() override { return CudaDevice::identityOf(driver_, currentOrdinal()); }

 private:
  /// Null: the calling thread has none.
  [[nodiscard]] CUcontext currentContext() const;
  [[nodiscard]] int currentOrdinal() const;

  const Driver& driver_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CudaDevice>> devices_; ///< By ordinal; null until it is opened.
};

} // namespace goss::devices::cuda

#endif // GOSS_DEVICES_CUDA_CUDA_H_
