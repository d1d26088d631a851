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
  /// `event` is asked while `is_wanted`, which any thread may call.
  DeviceWatch(std::unique_ptr<DeviceEvent> event, std::function<bool()> is_wanted)
      : event_(std::move(event)), is_wanted_(std::move(is_wanted)) {}
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;
  ~DeviceWatch();

  /// To be called when the watch has become wanted.
  void begin();
  /// The device's failure, some 10 ms after it at most; success before. Never waits for the device.
  [[nodiscard]] Status status() const;

 private:
  void watch(const std::stop_token& stop);

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
