#include "tests/devices/threads/device.h"

#include <atomic>
#include <cstdlib>

#include "tests/devices/threads/behaviour.h"
#include "tests/devices/threads/memory.h"

namespace goss::test {

namespace {

long number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atol(text);
}

std::atomic<std::uint64_t>& classified() {
  static std::atomic<std::uint64_t> count{0};
  return count;
}

} // namespace

Machine::Machine(const Behaviour& behaves) : behaviour(behaves) {
  for (int i = 0; i < kThreadDevices; ++i)
    healths[static_cast<std::size_t>(i)] =
        std::make_shared<Health>("threads device " + std::to_string(i), behaviour.fail_at);
}

std::shared_ptr<Machine>& machineOfThread() {
  static thread_local std::shared_ptr<Machine> machine;
  if (machine == nullptr)
    machine = std::make_shared<Machine>(Behaviour{static_cast<int>(number("THREADS_LATENCY_US")),
                                                  number("THREADS_ONE_QUEUE") != 0, number("THREADS_FAIL_AT")});
  return machine;
}

std::uint64_t classifiedByThreads() { return classified(); }

void useNewDevices(const Behaviour& behaviour) { machineOfThread() = std::make_shared<Machine>(behaviour); }

void failFirstDevice() { machineOfThread()->healths.front()->fail("as its test wants"); }

std::shared_ptr<Worker> ThreadDevice::worker() {
  const int latency_us = machine_->behaviour.latency_us;
  if (!machine_->behaviour.one_queue) return std::make_shared<Worker>(latency_us, health());
  const std::lock_guard lock(machine_->mutex);
  std::weak_ptr<Worker>& only = machine_->only[static_cast<std::size_t>(ordinal_)];
  std::shared_ptr<Worker> worker = only.lock();
  if (worker == nullptr) only = worker = std::make_shared<Worker>(latency_us, health());
  return worker;
}

Result<std::unique_ptr<DeviceBlock>> ThreadDevice::allocate(MemoryKind kind, std::size_t bytes) {
  if (Status status = health()->status(); !status.isOk()) return status;
  if (kind == MemoryKind::host)
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, "a device allocates no pageable memory");
  return allocateBlock(kind, ordinal_, bytes);
}

Result<MemoryHandle> ThreadDevice::exportMemory(const void* /*base*/) {
  return Status::error(GOSS_ERR_UNSUPPORTED, name() + " is of one process");
}

Result<std::unique_ptr<DeviceBlock>> ThreadDevice::importMemory(const MemoryHandle& /*handle*/, std::size_t /*bytes*/) {
  return Status::error(GOSS_ERR_UNSUPPORTED, name() + " is of one process");
}

Result<std::unique_ptr<DeviceQueue>> ThreadDevice::queue(void* stream) {
  if (Status status = health()->status(); !status.isOk()) return status;
  if (stream != nullptr)
    return std::unique_ptr<DeviceQueue>(
        std::make_unique<ThreadQueue>(nullptr, static_cast<Stream*>(stream), ordinal_, health()));
  auto own = std::make_unique<Stream>();
  own->worker = worker();
  Stream* made = own.get();
  return std::unique_ptr<DeviceQueue>(std::make_unique<ThreadQueue>(std::move(own), made, ordinal_, health()));
}

Result<std::unique_ptr<DeviceEvent>> ThreadDevice::event() {
  if (Status status = health()->status(); !status.isOk()) return status;
  return std::unique_ptr<DeviceEvent>(std::make_unique<ThreadEvent>(health()));
}

Result<MemoryInfo> ThreadsProvider::classify(const void* pointer) {
  ++classified();
  return classifyAddress(pointer);
}

Result<Device*> ThreadsProvider::open(int ordinal) {
  if (ordinal < 0 || ordinal >= deviceCount())
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, "threads: there is no device " + std::to_string(ordinal));
  return &devices_[static_cast<std::size_t>(ordinal)];
}

} // namespace goss::test
