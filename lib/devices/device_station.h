/// One GPU as a world's calls use it.
#ifndef GOSS_LIB_DEVICES_DEVICE_STATION_H_
#define GOSS_LIB_DEVICES_DEVICE_STATION_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "devices/block_pool.h"
#include "devices/device_job.h"
#include "devices/device_watch.h"
#include "devices/peer_memory.h"
#include "gossamer/device.h"

namespace goss {

/// What calls on one device share. The jobs of its thread alone use the queues.
class DeviceStation {
 public:
  DeviceStation(Device& of, std::unique_ptr<DeviceQueue> into_host, std::unique_ptr<DeviceQueue> out_of_host,
                bool reduces = false)
      : device(of),
        pinned(of, MemoryKind::pinned),
        memory(of, MemoryKind::device),
        peers(of, [this] { return gates.use_count() == 1; }),
        in(std::move(into_host)),
        out(std::move(out_of_host)),
        computes(reduces),
        watch(of, [this] { return gates.use_count() > 1; }) {}

  /// As Device::codec(), which is asked at the first call for a spec, without a lock: that may take long, or wait for
  /// streams of the device. Thread-safe.
  Result<std::shared_ptr<const QueuedCodec>> codec(const std::string& spec);

  Device& device;
  BlockPool pinned;
  BlockPool memory;
  const std::shared_ptr<const int> gates = std::make_shared<const int>(0); ///< Each StreamGate holds it, too.
  PeerMemory peers;
  /// Queue for copies from the device, for encoding, and for calls that run on a device which all ranks share.
  const std::unique_ptr<DeviceQueue> in;
  const std::unique_ptr<DeviceQueue> out; ///< Copies to the device, and what is only decoded there.
  const bool computes;                    ///< Device::prepareArithmetic() has succeeded.
  DeviceWatch watch;                      ///< While there are gates or jobs. Behind what its thread uses.

 private:
  std::mutex mutex_;
  std::map<std::string, Result<std::shared_ptr<const QueuedCodec>>> codecs_; ///< By spec.
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_DEVICE_STATION_H_
