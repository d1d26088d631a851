/// Codecs of a GPU, with the kernels of libgossamer_cuda_kernels.so.
#ifndef GOSS_DEVICES_CUDA_CODEC_H_
#define GOSS_DEVICES_CUDA_CODEC_H_

#include <memory>
#include <string_view>

#include "compressors/cuda/library/kernel_library.h"
#include "devices/cuda/context.h"
#include "gossamer/device.h"

namespace goss::devices::cuda {

class CudaCodec final : public QueuedCodec {
 public:
  /// As Device::codec(). The context outlives the codec.
  static Result<std::shared_ptr<const QueuedCodec>> make(const Context& context, std::string_view spec);
  CudaCodec(const Context& context, std::unique_ptr<const compressors::cuda::KernelCodec> codec)
      : context_(context), codec_(std::move(codec)) {}

  [[nodiscard]] std::size_t scratchBytes(std::size_t count) const override { return codec_->scratchBytes(count); }
  [[nodiscard]] bool makesNan() const override { return codec_->makesNan(); }
  Status encode(DeviceQueue& queue, const EncodeJob& job) const override;
  Status decode(DeviceQueue& queue, const DecodeJob& job) const override;
  Status merge(DeviceQueue& queue, MergeJob& job) const override;
  Status clearHeld(DeviceQueue& queue, const DecodeJob& job) const override;

 private:
  template <typename Call>
  Status launch(DeviceQueue& queue, Call call) const;

  const Context& context_;
  const std::unique_ptr<const compressors::cuda::KernelCodec> codec_;
};

} // namespace goss::devices::cuda

#endif // GOSS_DEVICES_CUDA_CODEC_H_
