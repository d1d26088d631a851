#include "devices/device_watch.h"

#include <chrono>

namespace goss {

namespace {

constexpr std::chrono::milliseconds kPause(10);

} // namespace

DeviceWatch::~DeviceWatch() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void DeviceWatch::begin() {
  {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }
  wanted_.notify_one();
}

Status DeviceWatch::status() const {
  if (!failed_.load(std::memory_order_acquire)) return Status::ok();
  const std::lock_guard lock(mutex_);
  return failure_;
}

void DeviceWatch::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (wanted_.wait(lock, stop, is_wanted_)) {
    lock.unlock();
    const Status status = event_->isDone().status();
    lock.lock();
    if (!status.isOk()) {
      failure_ = status;
      failed_.store(true, std::memory_order_release);
      return;
    }
    wanted_.wait_for(lock, stop, kPause, [] { return false; });
  }
}

} // namespace goss
