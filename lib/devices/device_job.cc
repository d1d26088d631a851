#include "devices/device_job.h"

#include <chrono>
#include <thread>
#include <utility>

#include "devices/device_watch.h"

namespace goss {

namespace {

using Clock = std::chrono::steady_clock;

/// A copy takes milliseconds; a device that needs longer is taken for broken.
constexpr std::chrono::seconds kLongestWork(10);

} // namespace

DeviceJob::DeviceJob(DeviceWatch& thread) : thread_(thread), task_(thread.takeTask()) {}

DeviceJob::~DeviceJob() {
  withdraw();
  if (!task_->isBusy()) thread_.giveBack(std::move(task_));
}

void DeviceJob::start(DeviceQueue& queue, std::function<Status()> enqueue) { start(&queue, std::move(enqueue)); }

void DeviceJob::start(std::function<Status()> work) { start(nullptr, std::move(work)); }

void DeviceJob::start(DeviceQueue* queue, std::function<Status()> work) {
  if (task_->isBusy()) task_ = thread_.takeTask(); // Its device is broken, and keeps it.
  task_->queue = queue;
  task_->work = std::move(work);
  thread_.enqueue(task_);
}

Result<bool> DeviceJob::isDone() const {
  if (task_->state.load(std::memory_order_acquire) == DeviceTask::State::failed) return task_->failure;
  if (!task_->isBusy()) return true;
  if (Status status = thread_.status(); !status.isOk()) return status;
  return false;
}

void DeviceJob::withdraw() {
  if (!task_->isBusy() || thread_.cancel(*task_)) return;
  const auto end = Clock::now() + kLongestWork;
  // The device's failure ends what was enqueued, but not what the thread is doing, which uses the job's memory.
  const auto may_end = [this] {
    return task_->state.load(std::memory_order_acquire) == DeviceTask::State::entering || thread_.status().isOk();
  };
  while (task_->isBusy() && may_end() && Clock::now() < end)
    std::this_thread::yield();
}

} // namespace goss
