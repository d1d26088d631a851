/// goss-bench codec --device cuda: speed of the compressors' kernels beside a copy within the device.
#ifndef GOSS_BENCH_LIMITS_DEVICE_CODEC_BENCH_H_
#define GOSS_BENCH_LIMITS_DEVICE_CODEC_BENCH_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace goss::bench {

struct DeviceCodecSettings {
  std::vector<std::string> specs; ///< Codecs without kernels are left out.
  std::size_t bytes = 0;          ///< Size of the float32 vector.
  int samples = 5;
  std::string json_file; ///< Empty: none.
};

/// Prints a row for each codec. Throws std::runtime_error where there is no device, or this build has no kernels.
void runDeviceCodecBench(const DeviceCodecSettings& settings, std::span<const float> sample);

} // namespace goss::bench

#endif // GOSS_BENCH_LIMITS_DEVICE_CODEC_BENCH_H_
