/// Device codecs with one scale for a segment: sign and TernGrad. A scale takes a pass of its own.
#ifndef GOSS_COMPRESSORS_CUDA_SCALED_CODEC_H_
#define GOSS_COMPRESSORS_CUDA_SCALED_CODEC_H_

#include "compressors/cuda/device_codec.h"
#include "compressors/cuda/scale_jobs.h"

namespace goss::compressors::cuda {

struct ScaledSettings {
  ScaleKind kind = ScaleKind::meanMagnitude;
  float clip = 0;         ///< Of TernGrad.
  float shared_scale = 0; ///< Not 0: the scale, which payloads then do not have.
};

class ScaledCodec final : public DeviceCodec {
 public:
  ScaledCodec(std::shared_ptr<const Codec> host, const ScaledSettings& settings, const CellLaunches& launches);

  [[nodiscard]] const Codec& host() const override { return *host_; }
  [[nodiscard]] std::size_t scratchBytes(std::size_t count) const override;
  Status encode(const EncodeJob& job, Stream stream) const override;
  Status decode(const DecodeJob& job, Stream stream) const override { return cells_->decode(job, stream); }
  Status merge(MergeJob& job, Stream stream) const override;

 private:
  /// One vector, ready to be encoded; `cells` says what else there is to do with it.
  Status encodeVector(CellJob& cells, std::size_t count, std::span<std::byte> scratch, Stream stream) const;

  const std::shared_ptr<const Codec> host_;
  const ScaledSettings settings_;
  const CellLaunches launches_;
  CellFormat format_;
  const std::unique_ptr<const DeviceCodec> cells_; ///< Decodes: scales are in the payloads.
};

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_SCALED_CODEC_H_
