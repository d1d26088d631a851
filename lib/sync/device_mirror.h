/// Tensors in device memory, as methods see them: each has a copy in pinned memory, on which they work.
#ifndef GOSS_LIB_SYNC_DEVICE_MIRROR_H_
#define GOSS_LIB_SYNC_DEVICE_MIRROR_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "gossamer/device.h"
#include "gossamer/status.h"

namespace goss::sync {

/// Copies of vectors, named by where the copy lies; vectors that are no copies are skipped everywhere. Errors: the
/// device's, which stay; GOSS_ERR_TIMEOUT for a device that does not end a copy in time. One thread.
class DeviceMirror {
 public:
  /// Waits for copies up to `longest`.
  explicit DeviceMirror(std::chrono::milliseconds longest);
  ~DeviceMirror();
  DeviceMirror(const DeviceMirror&) = delete;
  DeviceMirror& operator=(const DeviceMirror&) = delete;

  /// Makes the copy, without contents, of a vector that lies on `device`; both outlive the mirror.
  Result<std::span<float>> add(Device& device, std::span<float> there);

  /// Copies from the devices, and returns when the copies are there.
  Status fetch(std::span<const std::span<float>> copies) { return copy(copies, Way::fromDevice); }
  /// Copies to the devices, and returns when the vectors are there.
  Status store(std::span<const std::span<float>> copies) { return copy(copies, Way::toDevice); }

 private:
  enum class Way : std::uint8_t { fromDevice, toDevice };

  /// A device's own queue, and its copies that are to be enqueued.
  struct Lane {
    std::unique_ptr<DeviceQueue> queue;
    std::unique_ptr<DeviceEvent> done;
    std::vector<CopyJob> jobs;
  };
  struct Vector {
    Lane* lane;
    float* there;
    std::unique_ptr<DeviceBlock> block;
  };

  Result<Lane*> laneOf(Device& device);
  Status copy(std::span<const std::span<float>> copies, Way way);
  Status wait(Lane& lane) const;

  const std::chrono::milliseconds longest_;
  std::map<int, Lane> lanes_;              // by ordinal
  std::map<const float*, Vector> vectors_; // by copy; declared behind the lanes, which outlive the blocks
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_DEVICE_MIRROR_H_
