// The kernels of codecs for streams of the stand-in.
#include <dlfcn.h>

#include <memory>
#include <string>
#include <utility>

#include "compressors/cuda/library/kernel_library.h"
#include "tests/cuda/host_kernels/host_kernels.h"
#include "tests/cuda/standin/settings.h"

namespace {

using goss::DecodeJob;
using goss::EncodeJob;
using goss::MergeJob;
using goss::Result;
using goss::Status;
using goss::compressors::cuda::KernelCodec;
using goss::test::HostCodec;
using goss::test::HostKernel;

class Kernel final : public cudaStandinKernel {
 public:
  explicit Kernel(HostKernel kernel) : kernel_(std::move(kernel)) {}
  bool run(void* (*reach)(const void* memory, size_t bytes)) override { return kernel_(reach); }

 private:
  const HostKernel kernel_;
};

using Launch = decltype(&cudaStandinLaunch);

/// Null where libcuda.so.1 is another one.
Launch findLaunch() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : reinterpret_cast<Launch>(::dlsym(driver, "cudaStandinLaunch"));
}

class StandinCodec final : public KernelCodec {
 public:
  StandinCodec(HostCodec codec, Launch enqueue) : codec_(std::move(codec)), enqueue_(enqueue) {}

  [[nodiscard]] std::size_t scratchBytes(std::size_t count) const override { return codec_->scratchBytes(count); }
  Status encode(const EncodeJob& job, void* stream) const override {
    return launch(goss::test::encodeKernel(codec_, job), stream);
  }
  Status decode(const DecodeJob& job, void* stream) const override {
    return launch(goss::test::decodeKernel(codec_, job), stream);
  }
  Status merge(MergeJob& job, void* stream) const override {
    return launch(goss::test::mergeKernel(codec_, job), stream);
  }

 private:
  Status launch(HostKernel kernel, void* stream) const {
    const int error = enqueue_(stream, new Kernel(std::move(kernel)));
    if (error == 0) return Status::ok();
    return Status::error(GOSS_ERR_INTERNAL, "CUDA refused a kernel with error " + std::to_string(error));
  }

  const HostCodec codec_;
  const Launch enqueue_;
};

Result<std::unique_ptr<const KernelCodec>> makeCodec(std::string_view spec) {
  const Launch launch = findLaunch();
  if (launch == nullptr) return Status::error(GOSS_ERR_UNSUPPORTED, "libcuda.so.1 is not the stand-in");
  Result<HostCodec> codec = goss::test::makeHostCodec(spec);
  if (!codec.isOk()) return codec.status();
  return std::unique_ptr<const KernelCodec>(std::make_unique<StandinCodec>(codec.take(), launch));
}

} // namespace

extern "C" {
[[gnu::visibility("default")]] extern const goss::compressors::cuda::KernelLibrary goss_cuda_kernel_library;
const goss::compressors::cuda::KernelLibrary goss_cuda_kernel_library{goss::kDevicePlugVersion, makeCodec};
}
