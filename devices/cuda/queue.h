/// Streams and events.
#ifndef GOSS_DEVICES_CUDA_QUEUE_H_
#define GOSS_DEVICES_CUDA_QUEUE_H_

#include <memory>
#include <span>

#include "devices/cuda/context.h"
#include "gossamer/device.h"

namespace goss::devices::cuda {

class CudaEvent final : public DeviceEvent {
 public:
  CudaEvent(const Context& context, CUevent event) : context_(context), event_(event) {}
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() override;
  Result<bool> isDone() override;
  [[nodiscard]] CUevent handle() const { return event_; }

 private:
  const Context& context_;
  const CUevent event_;
};

class CudaQueue final : public DeviceQueue {
 public:
  /// `stream` null: a new one. Flags are raised and awaited by kernels where `gates` is not null, which outlives the
  /// queue; else by memory operations.
  static Result<std::unique_ptr<DeviceQueue>> make(const Context& context, CUstream stream, const GateKernels* gates);
  CudaQueue(const Context& context, CUstream stream, bool own, const GateKernels* gates)
      : context_(context), stream_(stream), own_(own), gates_(gates) {}
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;
  ~CudaQueue() override;

  [[nodiscard]] void* stream() const override { return stream_; }
  Status check() override;
  Status copy(std::span<const CopyJob> jobs) override;
  Status reduce(const ReduceJob& job) override;
  Status average(const AverageJob& job) override;
  Status openError(const ErrorJob& job) override;
  Status keepError(const ErrorJob& job) override;
  Status addMomentum(const MomentumJob& job) override;
  Status raise(Flag flag, std::uint32_t value) override;
  Status await(Flag flag, std::uint32_t value) override;
  Status record(DeviceEvent& event) override;
  Status await(DeviceEvent& event) override;

 private:
  [[nodiscard]] Status ofFlag(CUresult error, const char* call) const;

  const Context& context_;
  const CUstream stream_;
  const bool own_;
  const GateKernels* const gates_;
};

} // namespace goss::devices::cuda

#endif // GOSS_DEVICES_CUDA_QUEUE_H_
