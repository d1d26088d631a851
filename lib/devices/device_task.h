/// What a DeviceJob and its device's thread share.
#ifndef GOSS_LIB_DEVICES_DEVICE_TASK_H_
#define GOSS_LIB_DEVICES_DEVICE_TASK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "gossamer/device.h"

namespace goss {

/// A job as the device's thread sees it. The thread takes it from waiting on; before, it belongs to its DeviceJob.
struct DeviceTask {
  enum class State : std::uint8_t { idle, waiting, entering, entered, failed };

  std::function<Status()> work;
  DeviceQueue* queue = nullptr; ///< On which `work` enqueues; null: `work` has done all when it returns.
  std::atomic<State> state{State::idle};
  Status failure; ///< The error of a task in State::failed.
  /// Becomes `raised` when the device has done what was enqueued.
  Flag flag = &word;
  std::atomic<std::uint32_t> raised{0};
  std::uint32_t word = 0;             ///< Where the device raises no flags, and the thread looks at `event`.
  std::unique_ptr<DeviceEvent> event; ///< Null: the device raises `flag`.

  /// Whether the thread or the device works on it, or will. Any thread may ask.
  [[nodiscard]] bool isBusy() const {
    const State now = state.load(std::memory_order_acquire);
    if (now == State::waiting || now == State::entering) return true;
    return std::atomic_ref(*flag).load(std::memory_order_acquire) != raised.load(std::memory_order_relaxed);
  }
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_DEVICE_TASK_H_
