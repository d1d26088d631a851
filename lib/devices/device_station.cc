#include "devices/device_station.h"

#include <chrono>
#include <thread>

namespace goss {

namespace {

using Clock = std::chrono::steady_clock;

/// A copy takes milliseconds; a device that needs longer is taken for broken.
constexpr std::chrono::seconds kLongestCopy(10);

} // namespace

Result<std::shared_ptr<const QueuedCodec>> DeviceStation::codec(const std::string& spec) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = codecs_.find(spec); found != codecs_.end()) return found->second;
  }
  Result<std::shared_ptr<const QueuedCodec>> made = device.codec(spec);
  const std::lock_guard lock(mutex_);
  return codecs_.emplace(spec, std::move(made)).first->second; // If two threads made it, the first one's is kept.
}

void waitForCopy(DeviceEvent& event) {
  const auto end = Clock::now() + kLongestCopy;
  for (Result<bool> done = event.isDone(); done.isOk() && !done.value() && Clock::now() < end; done = event.isDone())
    std::this_thread::yield();
}

} // namespace goss
