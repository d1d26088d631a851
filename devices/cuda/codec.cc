#include "devices/cuda/codec.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>
#include <utility>

namespace goss::devices::cuda {

namespace {

using compressors::cuda::KernelLibrary;
using compressors::cuda::kKernelLibraryFile;

/// The folder of this library, with the last slash.
std::string ownFolder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&ownFolder), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

Result<const KernelLibrary*> openKernels() {
  const auto unsupported = [](std::string text) { return Status::error(GOSS_ERR_UNSUPPORTED, std::move(text)); };
  constexpr int kMode = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  void* library = ::dlopen(kKernelLibraryFile, kMode);
  if (library == nullptr) library = ::dlopen((ownFolder() + kKernelLibraryFile).c_str(), kMode);
  if (library == nullptr)
    return unsupported(
        fmt::format("{} is not there, which a build with nvcc makes: {}", kKernelLibraryFile, ::dlerror()));
  const auto* kernels = static_cast<const KernelLibrary*>(::dlsym(library, compressors::cuda::kKernelLibrarySymbol));
  if (kernels == nullptr || std::string_view(kernels->version) != kDevicePlugVersion)
    return unsupported(fmt::format("{} is of another build; install both from one", kKernelLibraryFile));
  return kernels;
}

/// Loaded once, and kept.
const Result<const KernelLibrary*>& kernelLibrary() {
  static const Result<const KernelLibrary*> library = openKernels();
  return library;
}

} // namespace

Result<std::shared_ptr<const QueuedCodec>> CudaCodec::make(const Context& context, std::string_view spec) {
  const Result<const KernelLibrary*>& library = kernelLibrary();
  if (!library.isOk()) return library.status();
  const InContext inside(context);
  auto made = library.value()->makeCodec(spec);
  if (!made.isOk()) return made.status();
  return std::shared_ptr<const QueuedCodec>(std::make_shared<CudaCodec>(context, made.take()));
}

/// What CUDA refuses is the device's failure.
template <typename Call>
Status CudaCodec::launch(DeviceQueue& queue, Call call) const {
  const InContext inside(context_);
  Status status = call(queue.stream());
  if (status.kind() != GOSS_ERR_INTERNAL) return status;
  return Status::error(GOSS_ERR_DEVICE, fmt::format("{}: {}", context_.name(), status.text()));
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

} // namespace goss::devices::cuda
