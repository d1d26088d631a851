#include "compressors/cuda/device/device_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace goss::compressors::cuda {

bool DeviceCodec::makesNan() const {
  constexpr std::size_t kElems = 4096 + 37, kAlignment = 64;
  const std::vector<std::byte> set(host().maxBytes(kElems), std::byte{0xff});
  std::vector<float> out(kElems);
  std::vector<std::byte> scratch(host().scratchBytes(kElems) + kAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
  const PayloadView payload(set);
  DecodeJob job;
  job.payloads = {&payload, 1};
  job.out = out;
  job.scratch = std::span(scratch).subspan((kAlignment - address % kAlignment) % kAlignment);
  return host().decode(job).isOk() && std::all_of(out.begin(), out.end(), [](float one) { return std::isnan(one); });
}

Status DeviceCodec::clearHeld(const DecodeJob&, Stream) const {
  return Status::error(GOSS_ERR_UNSUPPORTED,
                       fmt::format("codec '{}' on a device: a payload holds all elements", host().spec()));
}

Status DeviceCodec::measure(const MeasureCall&, Stream) const {
  return Status::error(GOSS_ERR_UNSUPPORTED,
                       fmt::format("codec '{}' on a device: payloads have maxBytes(count) bytes", host().spec()));
}

std::size_t DeviceCodec::runScratchBytes(std::size_t, std::size_t) const { return 0; }

Result<std::unique_ptr<DeviceRun>> DeviceCodec::start(const DeviceRunJob&) const {
  return Status::error(GOSS_ERR_UNSUPPORTED,
                       fmt::format("codec '{}' on a device has no phases; encode and decode", host().spec()));
}

} // namespace goss::compressors::cuda
