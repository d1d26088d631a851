#include "tests/devices/threads/queue.h"

#include <cstring>
#include <vector>

#include "tests/devices/threads/behaviour.h"
#include "tests/devices/threads/memory.h"

namespace goss::test {

namespace {

Status unreachable(const char* job) {
  return Status::error(GOSS_ERR_DEVICE,
                       std::string(job) + " of memory that is neither pinned nor on a device, or is freed");
}

/// A job of device `ordinal`.
Status copyOne(const CopyJob& job, int ordinal) {
  void* to = reach(job.to, job.bytes);
  const void* from = reach(job.from, job.bytes);
  if (to == nullptr || from == nullptr) return unreachable("a copy");
  std::memcpy(to, from, job.bytes);
  const MemoryInfo target = classifyAddress(job.to);
  const MemoryInfo source = classifyAddress(job.from);
  const bool to_device = target.kind == MemoryKind::device;
  const bool from_device = source.kind == MemoryKind::device;
  if ((to_device && target.device != ordinal) || (from_device && source.device != ordinal))
    return Status::error(GOSS_ERR_DEVICE, "a copy by the queue of another device than the memory's");
  CopiedBytes& copied = copiedBytes();
  (to_device && from_device ? copied.within : to_device ? copied.to_device : copied.to_host) += job.bytes;
  return Status::ok();
}

} // namespace

CopiedBytes& copiedBytes() {
  static CopiedBytes copied;
  return copied;
}

Copied copiedByThreads() {
  const CopiedBytes& copied = copiedBytes();
  return {copied.to_host, copied.to_device, copied.within};
}

Result<bool> ThreadEvent::isDone() {
  if (Status status = health_->status(); !status.isOk()) return status;
  return state_->load(std::memory_order_acquire);
}

ThreadQueue::ThreadQueue(std::unique_ptr<Stream> own, Stream* stream, int ordinal, std::shared_ptr<Health> health)
    : own_(std::move(own)), stream_(stream), ordinal_(ordinal), health_(std::move(health)) {}

ThreadQueue::~ThreadQueue() {
  if (own_ != nullptr) own_->worker->drain();
}

Status ThreadQueue::check() {
  if (stream_->captured) return Status::error(GOSS_ERR_UNSUPPORTED, "threads: the stream is being captured");
  return health_->status();
}

void setCaptured(void* stream, bool captured) { static_cast<Stream*>(stream)->captured = captured; }

Status ThreadQueue::push(std::function<Status()> job) {
  if (Status status = health_->status(); !status.isOk()) return status;
  stream_->worker->push([job = std::move(job), health = health_] {
    if (const Status status = job(); !status.isOk()) health->fail(status.text());
  });
  return Status::ok();
}

Status ThreadQueue::copy(std::span<const CopyJob> jobs) {
  return push([list = std::vector<CopyJob>(jobs.begin(), jobs.end()), ordinal = ordinal_] {
    for (const CopyJob& job : list) {
      if (job.bytes == 0) continue;
      if (Status status = copyOne(job, ordinal); !status.isOk()) return status;
    }
    return Status::ok();
  });
}

Status ThreadQueue::launch(HostKernel kernel) {
  return push([kernel = std::move(kernel)] {
    return kernel(reachOnDevice) ? Status::ok() : Status::error(GOSS_ERR_DEVICE, "a kernel did not run");
  });
}

Status ThreadQueue::reduce(const ReduceJob& job) { return launch(reduceKernel(job)); }

Status ThreadQueue::average(const AverageJob& job) { return launch(averageKernel(job)); }

Status ThreadQueue::openError(const ErrorJob& job) { return launch(openErrorKernel(job)); }

Status ThreadQueue::keepError(const ErrorJob& job) { return launch(keepErrorKernel(job)); }

Status ThreadQueue::addMomentum(const MomentumJob& job) { return launch(addMomentumKernel(job)); }

Status ThreadQueue::raise(Flag flag, std::uint32_t value) {
  return push([flag, value]() -> Status {
    auto* word = static_cast<std::uint32_t*>(reach(flag, sizeof *flag));
    if (word == nullptr) return unreachable("the raise of a flag");
    std::atomic_ref(*word).store(value, std::memory_order_release);
    return Status::ok();
  });
}

Status ThreadQueue::await(Flag flag, std::uint32_t value) {
  return push([worker = stream_->worker.get(), flag, value]() -> Status {
    auto* word = static_cast<std::uint32_t*>(reach(flag, sizeof *flag));
    if (word == nullptr) return unreachable("the wait for a flag");
    worker->waitUntil([word, value] {
      return static_cast<std::int32_t>(std::atomic_ref(*word).load(std::memory_order_acquire) - value) >= 0;
    });
    return Status::ok();
  });
}

Status ThreadQueue::record(DeviceEvent& event) {
  return push([state = static_cast<ThreadEvent&>(event).renew()] {
    state->store(true, std::memory_order_release);
    return Status::ok();
  });
}

Status ThreadQueue::await(DeviceEvent& event) {
  return push([worker = stream_->worker.get(), state = static_cast<ThreadEvent&>(event).state()] {
    worker->waitUntil([&] { return state->load(std::memory_order_acquire); });
    return Status::ok();
  });
}

} // namespace goss::test
