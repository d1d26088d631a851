/// A device's own thread: whether the device has failed, and the calls of the driver that the engine's loop must not
/// make.
#ifndef GOSS_LIB_DEVICES_DEVICE_WATCH_H_
#define GOSS_LIB_DEVICES_DEVICE_WATCH_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "devices/device_task.h"
#include "gossamer/device.h"

namespace goss {

/// The engine's loop must not call the driver: while a thread of the program frees memory, the driver answers nobody
/// before the streams have passed their gates, and only the loop opens those. Thread-safe.
class DeviceWatch {
 public:
  /// The thread asks `device`, which outlives the watch, while `is_wanted` returns true or a job is under way. Any
  /// thread calls `is_wanted`.
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

  /// Returns an idle task for a DeviceJob, which gives it back.
  std::shared_ptr<DeviceTask> takeTask();
  void giveBack(std::shared_ptr<DeviceTask> task);
  /// The thread calls `work`, which may wait for the driver; without a thread the caller does.
  void run(const std::function<void()>& work);
  /// Lets the thread do the task's work.
  void enqueue(std::shared_ptr<DeviceTask> task);
  /// Takes a task back that the thread has not begun. False: it has.
  bool cancel(DeviceTask& task);
  /// While it lives, a call that has begun has yet to give the thread its first jobs.
  using Beginning = std::shared_ptr<const void>;
  [[nodiscard]] Beginning beginCall();
  /// Returns when the thread has done, or enqueued on the device, all that it was given before, and the first jobs of
  /// calls that had begun. May wait for the driver, and for the loop.
  void awaitEnqueued();

 private:
  using Clock = std::chrono::steady_clock;
  class Asking;

  [[nodiscard]] bool hasEnqueued() const { return waiting_.empty() && !is_entering_ && beginning_ == 0; }
  void serve(const std::stop_token& stop);
  /// Waits for something to do.
  void rest(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  void beginNext(std::unique_lock<std::mutex>& lock);
  void look(std::unique_lock<std::mutex>& lock, Asking& asking);
  [[nodiscard]] Status begin(DeviceTask& task);
  [[nodiscard]] Status makeFlag(DeviceTask& task);
  [[nodiscard]] Status mark(DeviceTask& task);

  Device& device_;
  const std::function<bool()> is_wanted_;
  mutable std::mutex mutex_;
  std::condition_variable_any wanted_;
  std::condition_variable entered_;
  std::atomic<bool> failed_{false};
  Status failure_;
  std::vector<std::shared_ptr<DeviceTask>> idle_;
  std::deque<std::shared_ptr<DeviceTask>> waiting_;
  bool is_entering_ = false; ///< The thread does the work of a task.
  int beginning_ = 0;        ///< Number of objects of beginCall().

  // The thread's own.
  std::vector<std::shared_ptr<DeviceTask>> under_way_;
  bool raises_ = true;                              ///< The device raises flags.
  std::vector<std::unique_ptr<DeviceBlock>> flags_; ///< Pinned memory of the tasks' flags.
  std::size_t flags_left_ = 0;                      ///< Flags of the last block that no task has.
  Clock::time_point looked_{};                      ///< When it asked the device last.

  std::jthread thread_; ///< From the first begin() on.
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_DEVICE_WATCH_H_
