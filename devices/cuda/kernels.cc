#include "devices/cuda/kernels.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "gossamer/device.h"

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

} // namespace

const Result<const KernelLibrary*>& kernelLibrary() {
  static const Result<const KernelLibrary*> library = openKernels();
  return library;
}

} // namespace goss::devices::cuda
