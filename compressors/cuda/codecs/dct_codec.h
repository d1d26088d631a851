/// DeMo's codec on a device: the largest coefficients of a cosine transform of each chunk.
#ifndef GOSS_COMPRESSORS_CUDA_CODECS_DCT_CODEC_H_
#define GOSS_COMPRESSORS_CUDA_CODECS_DCT_CODEC_H_

#include "compressors/cuda/device/vector_codec.h"
#include "compressors/dct/format.h"

namespace goss::compressors::cuda {

/// The basis is made on the device for each call, in scratch: codecs keep nothing there.
class DctDeviceCodec final : public VectorDeviceCodec {
 public:
  DctDeviceCodec(const std::shared_ptr<const Codec>& host, std::size_t chunk, std::size_t keep);
  Status decode(const DecodeJob& job, Stream stream) const override;

 protected:
  [[nodiscard]] std::size_t innerScratchBytes(std::size_t count) const override;
  Status encodeVector(const Vector& vector, Stream stream) const override;

 private:
  /// Elements of all chunks.
  [[nodiscard]] std::size_t padded(std::size_t count) const { return (count + chunk_ - 1) / chunk_ * chunk_; }

  const std::size_t chunk_;
  const std::size_t keep_;
  const DctTable table_;
};

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_CODECS_DCT_CODEC_H_
