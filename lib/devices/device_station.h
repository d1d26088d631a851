/// One GPU as a world's calls use it.
#ifndef GOSS_LIB_DEVICES_DEVICE_STATION_H_
#define GOSS_LIB_DEVICES_DEVICE_STATION_H_

#include <memory>
#include <utility>

#include "devices/pinned_pool.h"
#include "gossamer/device.h"

namespace goss {

/// What calls on one device share. The queues are used under the engine's lock.
struct DeviceStation {
  DeviceStation(Device& of, std::unique_ptr<DeviceQueue> into_host, std::unique_ptr<DeviceQueue> out_of_host)
      : device(of), pinned(of), in(std::move(into_host)), out(std::move(out_of_host)) {}

  Device& device;
  PinnedPool pinned;
  const std::unique_ptr<DeviceQueue> in;  ///< Copies from the device.
  const std::unique_ptr<DeviceQueue> out; ///< Copies to the device.
};

/// A call has failed: returns when the copies before `event` do not touch the caller's buffers any more.
void waitForCopy(DeviceEvent& event);

} // namespace goss

#endif // GOSS_LIB_DEVICES_DEVICE_STATION_H_
