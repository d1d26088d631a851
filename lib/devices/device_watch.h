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
  /// The thread asks `device`, which outlives the watch, while `is_wanted` returns true. Any thread calls `is_wanted`.
  DeviceWatch(Device& device, std::function<bool()> is_wanted) : device_(device), is_wanted_(std::move(is_wanted)) {}
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
  /// watch(), until the device has failed: returns why. Success: the watch ends.
  Status askUntilItFails(const std::stop_token& stop);

  Device& device_;
  const std::function<bool()> is_wanted_;
  mutable std::mutex mutex_;
  std::condition_variable_any wanted_;
  std::atomic<bool> failed_{false};
  Status failure_;
  std::jthread thread_; ///< From the first begin() on.
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_DEVICE_WATCH_H_
