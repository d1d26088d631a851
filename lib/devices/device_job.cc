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
constexpr std::chrono::microseconds kPause(20);

} // namespace

DeviceJob::DeviceJob(DeviceWatch& thread) : thread_(thread), task_(thread.takeTask()) {}

DeviceJob::~DeviceJob() {
  withdraw();
  await();
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
  const DeviceTask::State now = task_->state.load(std::memory_order_acquire);
  if (now == DeviceTask::State::failed) return task_->failure;
  if (!task_->isBusy()) return true;
  if (now == DeviceTask::State::entering) return false; // The thread uses what the owner would free after a failure.
  if (Status status = thread_.status(); !status.isOk()) return status;
  return false;
}

void DeviceJob::withdraw() {
  if (task_->isBusy()) (void)thread_.cancel(*task_);
}

bool DeviceJob::isWithThread() const {
  const DeviceTask::State now = task_->state.load(std::memory_order_acquire);
  return now == DeviceTask::State::waiting || now == DeviceTask::State::entering;
}

bool DeviceJob::isBusy() const {
  // The device's failure ends what was enqueued, but not what the thread is doing.
  return isWithThread() || (task_->isBusy() && thread_.status().isOk());
}

void DeviceJob::await() const {
  const auto end = Clock::now() + kLongestWork;
  while (isBusy() && (isWithThread() || Clock::now() < end))
    std::this_thread::sleep_for(kPause);
}

} // namespace goss
