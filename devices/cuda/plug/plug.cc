// The symbol that lib/builtins/builtins.cc looks up when it loads libgossamer_cuda.so.
#include "devices/cuda/cuda.h"

extern "C" {
[[gnu::visibility("default")]] extern const goss::DevicePlug goss_device_plug;
// NOLINTNEXTLINE(readability-identifier-naming): as a function of C
const goss::DevicePlug goss_device_plug{goss::kDevicePlugVersion, goss::devices::cuda::CudaProvider::make};
}
