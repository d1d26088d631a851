/// Whether a device has failed, asked by a thread of its own.
#ifndef GOSS_LIB_DEVICES_DEVICE_WATCH_H_
#define GOSS_LIB_DEVICES_DEVICE_WATCH_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "gossamer/device.h"

namespace goss {

/// The engine's loop must not ask: while a thread of the program frees memory, the driver answers nobody before the
/// streams have passed their gates, and only the loop opens those. Thread-safe.
class DeviceWatch {
 public:
  /// The watch alone uses `queue` and `event`. It asks while `is_wanted`, which any thread may call.
  DeviceWatch(std::unique_ptr<DeviceQueue> queue, std::unique_ptr<DeviceEvent> event, std::function<bool()> is_wanted)
      : queue_(std::move(queue)), event_(std::move(event)), is_wanted_(std::move(is_wanted)) {}
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;
  ~DeviceWatch();

  /// To be called when the watch has become wanted. Error: GOSS_ERR_RESOURCE, if no thread can be made.
  Status begin();
  /// The device's failure, some 10 ms after the driver would tell of it; success before. Never waits.
  [[nodiscard]] Status status() const;
  /// The thread ends as soon as the driver answers it; the watch may leak then.
  void leave() { thread_.request_stop(); }

 private:
  void watch(const std::stop_token& stop);
  /// Whether the device does what it is given. A driver may not look at the device for an event that nobody recorded.
  Status ask();

  const std::unique_ptr<DeviceQueue> queue_;
  const std::unique_ptr<DeviceEvent> event_;
  const std::function<bool()> is_wanted_;
  mutable std::mutex mutex_;
  std::condition_variable_any wanted_;
  std::atomic<bool> failed_{false};
  Status failure_;
  std::jthread thread_; ///< From the first begin() on.
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_DEVICE_WATCH_H_
