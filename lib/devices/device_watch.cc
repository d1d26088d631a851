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

Status DeviceWatch::ask() {
  const Result<bool> done = event_->isDone();
  if (!done.isOk() || !done.value()) return done.status();
  return queue_->record(*event_);
}

Status DeviceWatch::status() const {
  if (!failed_.load(std::memory_order_acquire)) return Status::ok();
  const std::lock_guard lock(mutex_);
  return failure_;
}

void DeviceWatch::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (wanted_.wait(lock, stop, is_wanted_) && !stop.stop_requested()) {
    lock.unlock();
    const Status status = ask();
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
