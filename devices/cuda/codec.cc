#include "devices/cuda/codec.h"

#include <utility>

#include "devices/cuda/kernels.h"

namespace goss::devices::cuda {

Result<std::shared_ptr<const QueuedCodec>> CudaCodec::make(const Context& context, std::string_view spec) {
  const auto& library = kernelLibrary();
  if (!library.isOk()) return library.status();
  const InContext inside(context);
  auto made = library.value()->makeCodec(spec);
  if (!made.isOk()) return made.status();
  return std::shared_ptr<const QueuedCodec>(std::make_shared<CudaCodec>(context, made.take()));
}

template <typename Call>
Status CudaCodec::launch(DeviceQueue& queue, Call call) const {
  const InContext inside(context_);
  return context_.ofKernel(call(queue.stream()));
}

Status CudaCodec::encode(DeviceQueue& queue, const EncodeJob& job) const {
  return launch(queue, [&](void* stream) { return codec_->encode(job, stream); });
}

Status CudaCodec::decode(DeviceQueue& queue, const DecodeJob& job) const {
  return launch(queue, [&](void* stream) { return codec_->decode(job, stream); });
}

Status CudaCodec::merge(DeviceQueue& queue, MergeJob& job) const {
  return launch(queue, [&](void* stream) { return codec_->merge(job, stream); });
}

Status CudaCodec::clearHeld(DeviceQueue& queue, const DecodeJob& job) const {
  return launch(queue, [&](void* stream) { return codec_->clearHeld(job, stream); });
}

} // namespace goss::devices::cuda
