/// PowerSGD on a device: factors, and their sums' products, never leave it.
#ifndef GOSS_COMPRESSORS_CUDA_CODECS_POWERSGD_CODEC_H_
#define GOSS_COMPRESSORS_CUDA_CODECS_POWERSGD_CODEC_H_

#include "compressors/cuda/device/device_codec.h"
#include "compressors/powersgd/powersgd.h"

namespace goss::compressors::cuda {

/// Sums have the CPU's order, so that results have the same bits as on the CPU, except the bits of NaNs.
class PowerSgdDeviceCodec final : public DeviceCodec {
 public:
  PowerSgdDeviceCodec(const std::shared_ptr<const Codec>& host, const PowerSgdSettings& settings)
      : host_(host), settings_(settings) {}

  [[nodiscard]] const Codec& host() const override { return *host_; }
  [[nodiscard]] std::size_t scratchBytes(std::size_t) const override { return 0; }
  Status encode(const EncodeJob& job, Stream) const override { return host_->encode(job); } // refuses, and says why
  Status decode(const DecodeJob& job, Stream) const override { return host_->decode(job); }
  Status merge(MergeJob& job, Stream) const override { return host_->merge(job); }

  [[nodiscard]] std::size_t runScratchBytes(std::size_t count, std::size_t columns) const override;
  Result<std::unique_ptr<DeviceRun>> start(const DeviceRunJob& job) const override;

 private:
  const std::shared_ptr<const Codec> host_;
  const PowerSgdSettings settings_;
};

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_CODECS_POWERSGD_CODEC_H_
