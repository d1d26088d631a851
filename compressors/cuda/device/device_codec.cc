#include "compressors/cuda/device/device_codec.h"

#include <fmt/format.h>

namespace goss::compressors::cuda {

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
