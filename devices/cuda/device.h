/// One GPU, by its primary context, which CUDA's runtime and all frameworks use.
#ifndef GOSS_DEVICES_CUDA_DEVICE_H_
#define GOSS_DEVICES_CUDA_DEVICE_H_

#include <memory>
#include <mutex>
#include <string>

#include "devices/cuda/context.h"
#include "gossamer/device.h"

namespace goss::devices::cuda {

/// Thread-safe. The context is retained until the process ends, because buffers of the program live in it.
class CudaDevice final : public Device {
 public:
  static Result<std::unique_ptr<CudaDevice>> open(const Driver& driver, int ordinal);
  CudaDevice(const Driver& driver, int ordinal, CUcontext handle, std::string name)
      : context_(driver, handle, std::move(name)), ordinal_(ordinal), identity_(identityOf(driver, ordinal)) {}
  /// As Device::identity(), of a device that need not be open.
  static std::string identityOf(const Driver& driver, int ordinal);

  [[nodiscard]] std::string name() const override { return context_.name(); }
  [[nodiscard]] const Context& context() const { return context_; }
  [[nodiscard]] int ordinal() const override { return ordinal_; }
  [[nodiscard]] std::string identity() const override { return identity_; }
  Result<std::unique_ptr<DeviceBlock>> allocate(MemoryKind kind, std::size_t bytes) override;
  Result<MemoryHandle> exportMemory(const void* base) override;
  Result<std::unique_ptr<DeviceBlock>> importMemory(const MemoryHandle& handle, std::size_t bytes) override;
  Result<std::unique_ptr<DeviceQueue>> queue(void* stream) override;
  std::unique_ptr<DeviceQueue> wrap(void* stream) override;
  void synchronizeCopies() override;
  Result<std::unique_ptr<DeviceEvent>> event() override;
  Result<std::shared_ptr<const QueuedCodec>> codec(std::string_view spec) override;
  Status prepareArithmetic() override;

 private:
  void makeCopiesSynchronous();
  Status checkStream(CUstream stream) const;
  /// Finds out how streams raise and await flags: by memory operations, as since CUDA 12, or by kernels. To be called
  /// once.
  Status probeFlags();
  /// Where there are no memory operations. GOSS_ERR_UNSUPPORTED: there are no kernels, or none may wait.
  Status loadGates();

  const Context context_;
  std::once_flag copies_synchronize_;
  const int ordinal_;
  const std::string identity_;
  std::unique_ptr<DeviceBlock> probed_; ///< Kept, because to unpin memory waits for all streams of the device.
  const GateKernels* gates_ = nullptr;  ///< Null: streams have memory operations, or `flags_` says what is missing.
  Status flags_;
};

} // namespace goss::devices::cuda

#endif // GOSS_DEVICES_CUDA_DEVICE_H_
