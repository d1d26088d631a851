#include "devices/device_station.h"

namespace goss {

Result<std::shared_ptr<const QueuedCodec>> DeviceStation::codec(const std::string& spec) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = codecs_.find(spec); found != codecs_.end()) return found->second;
  }
  Result<std::shared_ptr<const QueuedCodec>> made = device.codec(spec);
  const std::lock_guard lock(mutex_);
  return codecs_.emplace(spec, std::move(made)).first->second; // If two threads made it, the first one's is kept.
}

} // namespace goss
