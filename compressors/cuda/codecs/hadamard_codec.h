/// The Hadamard rotation before another codec, on a device.
#ifndef GOSS_COMPRESSORS_CUDA_CODECS_HADAMARD_CODEC_H_
#define GOSS_COMPRESSORS_CUDA_CODECS_HADAMARD_CODEC_H_

#include "compressors/cuda/device/vector_codec.h"

namespace goss::compressors::cuda {

class HadamardDeviceCodec final : public VectorDeviceCodec {
 public:
  HadamardDeviceCodec(const std::shared_ptr<const Codec>& host, std::size_t chunk,
                      std::unique_ptr<const DeviceCodec> inner)
      : VectorDeviceCodec(host), chunk_(chunk), inner_(std::move(inner)) {}

  Status decode(const DecodeJob& job, Stream stream) const override;
  [[nodiscard]] bool fixedBytes() const override { return inner_->fixedBytes(); }
  Status measure(const MeasureCall& call, Stream stream) const override { return inner_->measure(call, stream); }

 protected:
  [[nodiscard]] std::size_t innerScratchBytes(std::size_t count) const override {
    return floatBytes(count) + inner_->scratchBytes(count);
  }
  Status encodeVector(const Vector& vector, Stream stream) const override;

 private:
  const std::size_t chunk_;
  const std::unique_ptr<const DeviceCodec> inner_;
};

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_CODECS_HADAMARD_CODEC_H_
