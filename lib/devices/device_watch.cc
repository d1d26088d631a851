#include "devices/device_watch.h"

#include <pthread.h>

#include <chrono>
#include <string>
#include <system_error>

#include "platform/signals.h"

namespace goss {

namespace {

constexpr std::chrono::milliseconds kPause(10);

} // namespace

DeviceWatch::~DeviceWatch() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

Status DeviceWatch::begin() {
  try {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
      const platform::SignalsBlocked blocked;
      thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
      pthread_setname_np(thread_.native_handle(), "goss-device");
    }
  } catch (const std::system_error& error) {
    return Status::error(GOSS_ERR_RESOURCE, std::string("no thread can be made to watch the device: ") + error.what());
  }
  wanted_.notify_one();
  return Status::ok();
}

Status DeviceWatch::status() const {
  if (!failed_.load(std::memory_order_acquire)) return Status::ok();
  const std::lock_guard lock(mutex_);
  return failure_;
}

void DeviceWatch::watch(const std::stop_token& stop) {
  const Status failure = askUntilItFails(stop);
  if (failure.isOk()) return;
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  failed_.store(true, std::memory_order_release);
}

Status DeviceWatch::askUntilItFails(const std::stop_token& stop) {
  const auto queue = device_.queue(nullptr);
  if (!queue.isOk()) return queue.status();
  const auto event = device_.event();
  if (!event.isOk()) return event.status();
  std::unique_lock lock(mutex_);
  while (wanted_.wait(lock, stop, is_wanted_) && !stop.stop_requested()) {
    lock.unlock();
    const Result<bool> done = event.value()->isDone();
    if (!done.isOk()) return done.status();
    if (done.value()) { // A driver may not look at the device for an event that nobody recorded.
      if (Status status = queue.value()->record(*event.value()); !status.isOk()) return status;
    }
    lock.lock();
    wanted_.wait_for(lock, stop, kPause, [] { return false; });
  }
  return Status::ok();
}

} // namespace goss
