/// The provider `threads`: two devices of host memory, on which a thread a queue works.
#ifndef GOSS_TESTS_DEVICES_THREADS_DEVICE_H_
#define GOSS_TESTS_DEVICES_THREADS_DEVICE_H_

#include <array>
#include <mutex>

#include "gossamer/device.h"
#include "tests/devices/threads/codec.h"
#include "tests/devices/threads/queue.h"

namespace goss::test {

inline constexpr int kThreadDevices = 2;

/// The devices of one thread's providers.
struct Machine {
  explicit Machine(const Behaviour& behaves);

  const Behaviour behaviour;
  std::array<std::shared_ptr<Health>, kThreadDevices> healths; ///< By device.
  std::mutex mutex;
  std::array<std::weak_ptr<Worker>, kThreadDevices> only; ///< By device: the worker of all streams (one_queue).
};
std::shared_ptr<Machine>& machineOfThread();

class ThreadDevice final : public Device {
 public:
  ThreadDevice(int ordinal, std::shared_ptr<Machine> machine) : ordinal_(ordinal), machine_(std::move(machine)) {}

  [[nodiscard]] std::string name() const override { return "threads device " + std::to_string(ordinal_); }
  [[nodiscard]] int ordinal() const override { return ordinal_; }
  [[nodiscard]] std::string identity() const override { return "threads " + std::to_string(ordinal_); }
  Result<std::unique_ptr<DeviceBlock>> allocate(MemoryKind kind, std::size_t bytes) override;
  Result<MemoryHandle> exportMemory(const void* base) override;
  Result<std::unique_ptr<DeviceBlock>> importMemory(const MemoryHandle& handle, std::size_t bytes) override;
  Result<std::unique_ptr<DeviceQueue>> queue(void* stream) override;
  std::unique_ptr<DeviceQueue> wrap(void* stream) override {
    return std::make_unique<ThreadQueue>(nullptr, static_cast<Stream*>(stream), ordinal_, health());
  }
  void synchronizeCopies() override {}
  Result<std::unique_ptr<DeviceEvent>> event() override;
  Result<std::shared_ptr<const QueuedCodec>> codec(std::string_view spec) override { return makeThreadCodec(spec); }
  Status prepareArithmetic() override { return health()->status(); }

 private:
  [[nodiscard]] std::shared_ptr<Worker> worker();
  [[nodiscard]] const std::shared_ptr<Health>& health() const {
    return machine_->healths[static_cast<std::size_t>(ordinal_)];
  }

  const int ordinal_;
  const std::shared_ptr<Machine> machine_;
};

class ThreadsProvider final : public DeviceProvider {
 public:
  explicit ThreadsProvider(const std::shared_ptr<Machine>& machine) : devices_{{{0, machine}, {1, machine}}} {}

  [[nodiscard]] std::string_view name() const override { return "threads"; }
  [[nodiscard]] int deviceCount() const override { return kThreadDevices; }
  Result<MemoryInfo> classify(const void* pointer) override;
  Result<Device*> open(int ordinal) override;
  [[nodiscard]] bool hasCurrent() const override { return true; }
  Result<Device*> current() override { return open(0); }
  std::string currentIdentity() override { return devices_[0].identity(); }

 private:
  std::array<ThreadDevice, kThreadDevices> devices_;
};

} // namespace goss::test

#endif // GOSS_TESTS_DEVICES_THREADS_DEVICE_H_
