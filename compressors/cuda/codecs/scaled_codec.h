/// Device codecs with one scale for a segment: sign and TernGrad. A scale takes a pass of its own.
#ifndef GOSS_COMPRESSORS_CUDA_CODECS_SCALED_CODEC_H_
#define GOSS_COMPRESSORS_CUDA_CODECS_SCALED_CODEC_H_

#include "compressors/cuda/device/block_codec.h"
#include "compressors/cuda/device/vector_codec.h"
#include "compressors/cuda/kernels/scale_jobs.h"

namespace goss::compressors::cuda {

struct ScaledSettings {
  ScaleKind kind = ScaleKind::meanMagnitude;
  float clip = 0;         ///< Clip of TernGrad, in standard deviations.
  float shared_scale = 0; ///< The scale that all ranks share; payloads then do not hold one. 0: none.
};

class ScaledCodec final : public VectorDeviceCodec {
 public:
  ScaledCodec(const std::shared_ptr<const Codec>& host, const ScaledSettings& settings, const CodecLaunches& launches);

  Status decode(const DecodeJob& job, Stream stream) const override { return blocks_.decode(job, stream); }

 protected:
  [[nodiscard]] std::size_t innerScratchBytes(std::size_t count) const override;
  Status encodeVector(const Vector& vector, Stream stream) const override;

 private:
  const ScaledSettings settings_;
  const BlockDeviceCodec blocks_; ///< Encodes with a scale from device memory, decodes with the payload's.
};

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_CODECS_SCALED_CODEC_H_
