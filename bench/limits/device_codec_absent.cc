#include <stdexcept>

#include "bench/limits/device_codec_bench.h"

namespace goss::bench {

void runDeviceCodecBench(const DeviceCodecSettings&, std::span<const float>) {
  throw std::runtime_error("this build has no kernels; build where nvcc is, with -DGOSS_CUDA=ON");
}

} // namespace goss::bench
