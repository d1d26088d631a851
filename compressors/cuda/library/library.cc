// The symbol that devices/cuda/kernels.cc looks up when it loads libgossamer_cuda_kernels.so.
#include <fmt/format.h>

#include <utility>

#include "compressors/cuda/codecs/device_catalogue.h"
#include "compressors/cuda/device/arithmetic.h"
#include "compressors/cuda/kernels/kernel_list.h"
#include "compressors/cuda/library/gates.h"
#include "compressors/cuda/library/kernel_library.h"

namespace goss::compressors::cuda {

namespace {

class LibraryCodec final : public KernelCodec {
 public:
  explicit LibraryCodec(std::unique_ptr<const DeviceCodec> codec) : codec_(std::move(codec)) {}

  [[nodiscard]] std::size_t scratchBytes(std::size_t count) const override { return codec_->scratchBytes(count); }
  [[nodiscard]] bool makesNan() const override { return codec_->makesNan(); }
  Status encode(const EncodeJob& job, void* stream) const override {
    return codec_->encode(job, static_cast<Stream>(stream));
  }
  Status decode(const DecodeJob& job, void* stream) const override {
    return codec_->decode(job, static_cast<Stream>(stream));
  }
  Status merge(MergeJob& job, void* stream) const override { return codec_->merge(job, static_cast<Stream>(stream)); }
  Status clearHeld(const DecodeJob& job, void* stream) const override {
    return codec_->clearHeld(job, static_cast<Stream>(stream));
  }

 private:
  const std::unique_ptr<const DeviceCodec> codec_;
};

Status loadLibrary() {
  const int code = loadKernels();
  if (code == 0) return {};
  return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("CUDA cannot run the kernels on this device: error {}; "
                                                         "cudaGetErrorString() says what it means",
                                                         code));
}

Result<std::unique_ptr<const KernelCodec>> makeLibraryCodec(std::string_view spec) {
  auto made = makeDeviceCodec(spec);
  if (!made.isOk()) return made.status();
  if (made.value()->host().traits().multi_phase)
    return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("codec '{}' works in phases", spec));
  if (const Status loaded = loadLibrary(); !loaded.isOk())
    return Status::error(loaded.kind(), fmt::format("codec '{}': {}", spec, loaded.text()));
  return std::unique_ptr<const KernelCodec>(std::make_unique<LibraryCodec>(made.take()));
}

Status ofLaunch(int code, const char* kernel) {
  if (code == 0) return {};
  return Status::error(GOSS_ERR_INTERNAL, fmt::format("CUDA refused the kernel of {} with error {}", kernel, code));
}

Status raiseFlag(Flag flag, std::uint32_t value, void* stream) {
  return ofLaunch(launchRaise(flag, value, static_cast<Stream>(stream)), "a gate");
}

Status awaitFlag(Flag flag, std::uint32_t value, std::chrono::nanoseconds longest, void* stream) {
  return ofLaunch(launchAwait(flag, value, longest, static_cast<Stream>(stream)), "a gate");
}

Status reduce(const ReduceJob& job, void* stream) {
  return ofLaunch(launchReduce(job, static_cast<Stream>(stream)), "a reduction");
}

Status average(const AverageJob& job, void* stream) {
  return ofLaunch(launchAverage(job, static_cast<Stream>(stream)), "an average");
}

Status openError(const ErrorJob& job, void* stream) {
  return ofLaunch(launchOpenError(job, static_cast<Stream>(stream)), "a kept error");
}

Status keepError(const ErrorJob& job, void* stream) {
  return ofLaunch(launchKeepError(job, static_cast<Stream>(stream)), "a kept error");
}

Status addMomentum(const MomentumJob& job, void* stream) {
  return ofLaunch(launchAddMomentum(job, static_cast<Stream>(stream)), "a momentum");
}

} // namespace

} // namespace goss::compressors::cuda

extern "C" {
[[gnu::visibility("default")]] extern const goss::compressors::cuda::KernelLibrary goss_cuda_kernel_library;
const goss::compressors::cuda::KernelLibrary goss_cuda_kernel_library{
    goss::kDevicePlugVersion,
    goss::compressors::cuda::loadLibrary,
    goss::compressors::cuda::makeLibraryCodec,
    {goss::compressors::cuda::raiseFlag, goss::compressors::cuda::awaitFlag},
    {goss::compressors::cuda::reduce, goss::compressors::cuda::average, goss::compressors::cuda::openError,
     goss::compressors::cuda::keepError, goss::compressors::cuda::addMomentum}};
}
