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
  /// As withdraw().
  ~DeviceJob();

  /// The thread calls `enqueue`, which enqueues on `queue`, after the works of all jobs that were started before.
  void start(DeviceQueue& queue, std::function<Status()> enqueue);
  /// The thread calls `work`, which may wait for the driver.
  void start(std::function<Status()> work);
  /// Whether the device has done the work that was started last; true if none was. Error: that of the work; the
  /// device's. Asks the driver nothing.
  [[nodiscard]] Result<bool> isDone() const;
  /// Returns when neither the thread nor the device works on it; a device that needs longer than 10 s is taken for
  /// broken.
  void withdraw();

 private:
  void start(DeviceQueue* queue, std::function<Status()> work);

  DeviceWatch& thread_;
  std::shared_ptr<DeviceTask> task_;
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_DEVICE_JOB_H_
