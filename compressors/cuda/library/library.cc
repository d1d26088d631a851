// The symbol that devices/cuda/kernels.cc looks up when it loads libgossamer_cuda_kernels.so.
#include <fmt/format.h>

#include <utility>

#include "compressors/cuda/codecs/device_catalogue.h"
#include "compressors/cuda/kernels/kernel_list.h"
#include "compressors/cuda/library/gates.h"
#include "compressors/cuda/library/kernel_library.h"

namespace goss::compressors::cuda {

namespace {

class LibraryCodec final : public KernelCodec {
 public:
  explicit LibraryCodec(std::unique_ptr<const DeviceCodec> codec) : codec_(std::move(codec)) {}

  [[nodiscard]] std::size_t scratchBytes(std::size_t count) const override { return codec_->scratchBytes(count); }
  Status encode(const EncodeJob& job, void* stream) const override {
    return codec_->encode(job, static_cast<Stream>(stream));
  }
  Status decode(const DecodeJob& job, void* stream) const override {
    return codec_->decode(job, static_cast<Stream>(stream));
  }
  Status merge(MergeJob& job, void* stream) const override { return codec_->merge(job, static_cast<Stream>(stream)); }

 private:
  const std::unique_ptr<const DeviceCodec> codec_;
};

Result<std::unique_ptr<const KernelCodec>> makeLibraryCodec(std::string_view spec) {
  auto made = makeDeviceCodec(spec);
  if (!made.isOk()) return made.status();
  if (!made.value()->fixedBytes() || !made.value()->host().traits().fixed_size)
    return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("payloads of codec '{}' have no fixed length", spec));
  if (const int code = loadKernels(); code != 0)
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         fmt::format("codec '{}': CUDA cannot run the kernels on this device: error {}; "
                                     "cudaGetErrorString() says what it means",
                                     spec, code));
  return std::unique_ptr<const KernelCodec>(std::make_unique<LibraryCodec>(made.take()));
}

Status loadGateKernels() {
  const int code = loadGates();
  if (code == 0) return {};
  return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("CUDA cannot run the kernels on this device: error {}; "
                                                         "cudaGetErrorString() says what it means",
                                                         code));
}

Status ofGate(int code) {
  if (code == 0) return {};
  return Status::error(GOSS_ERR_INTERNAL, fmt::format("CUDA refused the kernel of a gate with error {}", code));
}

Status raiseFlag(Flag flag, std::uint32_t value, void* stream) {
  return ofGate(launchRaise(flag, value, static_cast<Stream>(stream)));
}

Status awaitFlag(Flag flag, std::uint32_t value, std::chrono::nanoseconds longest, void* stream) {
  return ofGate(launchAwait(flag, value, longest, static_cast<Stream>(stream)));
}

} // namespace

} // namespace goss::compressors::cuda

extern "C" {
[[gnu::visibility("default")]] extern const goss::compressors::cuda::KernelLibrary goss_cuda_kernel_library;
const goss::compressors::cuda::KernelLibrary goss_cuda_kernel_library{
    goss::kDevicePlugVersion,
    goss::compressors::cuda::makeLibraryCodec,
    {goss::compressors::cuda::loadGateKernels, goss::compressors::cuda::raiseFlag, goss::compressors::cuda::awaitFlag}};
}
