/// Work that the engine's loop gives a device without a wait for the driver.
#ifndef GOSS_LIB_DEVICES_DEVICE_JOB_H_
#define GOSS_LIB_DEVICES_DEVICE_JOB_H_

#include <functional>
#include <memory>

#include "devices/device_task.h"
#include "gossamer/device.h"

namespace goss {

class DeviceWatch;

/// Work, again and again. A thread of the device's own calls the driver, and the device raises a flag behind the work,
/// because the driver may answer nobody until streams have passed gates that only the loop opens. One thread at a time.
class DeviceJob {
 public:
  /// `thread` outlives the job.
  explicit DeviceJob(DeviceWatch& thread);
  DeviceJob(const DeviceJob&) = delete;
  DeviceJob& operator=(const DeviceJob&) = delete;
  /// Calls withdraw() and await().
  ~DeviceJob();

  /// The thread calls `enqueue`, which enqueues on `queue`, after the works of all jobs that were started before.
  void start(DeviceQueue& queue, std::function<Status()> enqueue);
  /// The thread calls `work`, which may wait for the driver.
  void start(std::function<Status()> work);
  /// Whether the device has done the work that was started last; true if none was. Error: that of the work; the
  /// device's. Asks the driver nothing.
  [[nodiscard]] Result<bool> isDone() const;
  /// Cancels the work if the thread has not begun it. Never waits.
  void withdraw();
  /// Whether the thread, which may be waiting for the driver, or the device works on it: then it uses what its owner
  /// has lent it. Asks the driver nothing.
  [[nodiscard]] bool isBusy() const;
  /// Returns when isBusy() is false; a device, but not the thread, that needs longer than 10 s is taken for broken. Not
  /// to be called where the engine's lock is held and it may be busy.
  void await() const;

 private:
  void start(DeviceQueue* queue, std::function<Status()> work);
  [[nodiscard]] bool isWithThread() const;

  DeviceWatch& thread_;
  std::shared_ptr<DeviceTask> task_;
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_DEVICE_JOB_H_
