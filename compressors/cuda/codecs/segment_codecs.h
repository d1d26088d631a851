/// Device codecs that look at a whole segment before they code it: MinMaxUInt8 for its range, uniform 8-bit for its
/// deviation and its codebook.
#ifndef GOSS_COMPRESSORS_CUDA_CODECS_SEGMENT_CODECS_H_
#define GOSS_COMPRESSORS_CUDA_CODECS_SEGMENT_CODECS_H_

#include "compressors/cuda/device/block_codec.h"
#include "compressors/cuda/device/vector_codec.h"

namespace goss::compressors::cuda {

/// Runs two passes: the range, then codes and residuals.
class MinMaxDeviceCodec final : public VectorDeviceCodec {
 public:
  explicit MinMaxDeviceCodec(const std::shared_ptr<const Codec>& host);
  Status decode(const DecodeJob& job, Stream stream) const override { return blocks_.decode(job, stream); }

 protected:
  [[nodiscard]] std::size_t innerScratchBytes(std::size_t count) const override;
  Status encodeVector(const Vector& vector, Stream stream) const override;

 private:
  const BlockDeviceCodec blocks_;
};

/// Runs two passes: sums of squares, then codes and the means of their buckets. Residuals need the means, and a third
/// pass.
class UniformDeviceCodec final : public VectorDeviceCodec {
 public:
  explicit UniformDeviceCodec(const std::shared_ptr<const Codec>& host);
  Status decode(const DecodeJob& job, Stream stream) const override { return blocks_.decode(job, stream); }

 protected:
  [[nodiscard]] std::size_t innerScratchBytes(std::size_t count) const override;
  Status encodeVector(const Vector& vector, Stream stream) const override;

 private:
  const BlockDeviceCodec blocks_;
};

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_CODECS_SEGMENT_CODECS_H_
