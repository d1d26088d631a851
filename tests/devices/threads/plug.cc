// The symbol that lib/builtins/builtins.cc looks up when it loads libgossamer_threads.so.
#include "tests/devices/threads/device.h"

namespace {

goss::Result<std::unique_ptr<goss::DeviceProvider>> make(bool) {
  return std::unique_ptr<goss::DeviceProvider>(
      std::make_unique<goss::test::ThreadsProvider>(goss::test::machineOfThread()));
}

} // namespace

extern "C" {
[[gnu::visibility("default")]] extern const goss::DevicePlug goss_device_plug;
const goss::DevicePlug goss_device_plug{goss::kDevicePlugVersion, make};
}
