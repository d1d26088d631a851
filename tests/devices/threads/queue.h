/// Queues and events of the provider `threads`.
#ifndef GOSS_TESTS_DEVICES_THREADS_QUEUE_H_
#define GOSS_TESTS_DEVICES_THREADS_QUEUE_H_

#include <atomic>
#include <functional>
#include <memory>

#include "gossamer/device.h"
#include "tests/cuda/host_kernels/host_kernels.h"
#include "tests/devices/threads/worker.h"

namespace goss::test {

/// What a caller's stream is: a worker of its own, or the device's only one.
struct Stream {
  std::shared_ptr<Worker> worker;
  std::atomic<bool> captured{false};
};

/// Bytes that jobs of all devices of the process have copied, by direction.
struct CopiedBytes {
  std::atomic<std::uint64_t> to_host{0};
  std::atomic<std::uint64_t> to_device{0};
  std::atomic<std::uint64_t> within{0}; ///< Device to device.
};
CopiedBytes& copiedBytes();

class ThreadEvent final : public DeviceEvent {
 public:
  explicit ThreadEvent(std::shared_ptr<Health> health) : health_(std::move(health)) {}
  Result<bool> isDone() override;
  /// A new state, which is not done.
  std::shared_ptr<std::atomic<bool>> renew() { return state_ = std::make_shared<std::atomic<bool>>(false); }
  [[nodiscard]] std::shared_ptr<std::atomic<bool>> state() const { return state_; }

 private:
  const std::shared_ptr<Health> health_;
  std::shared_ptr<std::atomic<bool>> state_ = std::make_shared<std::atomic<bool>>(true);
};

class ThreadQueue final : public DeviceQueue {
 public:
  /// Makes a queue of its own stream, or of the caller's, on device `ordinal`.
  ThreadQueue(std::unique_ptr<Stream> own, Stream* stream, int ordinal, std::shared_ptr<Health> health);
  ~ThreadQueue() override;

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

  /// Enqueues `job`; what it returns fails the device.
  Status push(std::function<Status()> job);
  /// Enqueues a kernel, which works in device memory.
  Status launch(HostKernel kernel);

 private:
  std::unique_ptr<Stream> own_;
  Stream* const stream_;
  const int ordinal_;
  const std::shared_ptr<Health> health_;
};

} // namespace goss::test

#endif // GOSS_TESTS_DEVICES_THREADS_QUEUE_H_
