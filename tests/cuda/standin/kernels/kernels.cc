// The kernels of codecs, of gates and of arithmetic for streams of the stand-in.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "compressors/cuda/library/gate_wait.h"
#include "compressors/cuda/library/kernel_library.h"
#include "devices/cuda/driver/driver_api.h"
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
  int run(const cudaStandinMachine& machine) override {
    const auto reach = [&](const void* memory, std::size_t bytes) { return machine.reach(memory, bytes); };
    return kernel_(reach) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
  }

 private:
  const HostKernel kernel_;
};

std::uint32_t* reachFlag(const cudaStandinMachine& machine, const std::uint32_t* flag) {
  return static_cast<std::uint32_t*>(machine.reach(flag, sizeof *flag));
}

class RaiseKernel final : public cudaStandinKernel {
 public:
  RaiseKernel(std::uint32_t* flag, std::uint32_t value) : flag_(flag), value_(value) {}
  int run(const cudaStandinMachine& machine) override {
    std::uint32_t* place = reachFlag(machine, flag_);
    if (place == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::atomic_ref(*place).store(value_, std::memory_order_release);
    return CUDA_SUCCESS;
  }

 private:
  std::uint32_t* const flag_;
  const std::uint32_t value_;
};

class AwaitKernel final : public cudaStandinKernel {
 public:
  AwaitKernel(const std::uint32_t* flag, std::uint32_t value, std::chrono::nanoseconds longest)
      : flag_(flag), value_(value), longest_(longest) {}
  int run(const cudaStandinMachine& machine) override {
    Lane lane{machine, flag_, value_};
    const bool passed = goss::compressors::cuda::waitAtGate(lane, value_, static_cast<std::uint64_t>(longest_.count()));
    if (lane.freed) return CUDA_ERROR_ILLEGAL_ADDRESS;
    return passed ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
  }

 private:
  /// What waitAtGate() wants. The wait is over, too, once there is nothing to wait for any more.
  struct Lane {
    const cudaStandinMachine& machine;
    const std::uint32_t* const flag;
    const std::uint32_t value;
    bool freed = false;

    std::uint32_t look() {
      std::uint32_t* place = reachFlag(machine, flag);
      freed = place == nullptr;
      if (freed || machine.isLost()) return value;
      return std::atomic_ref(*place).load(std::memory_order_acquire);
    }
    static std::uint64_t now() {
      return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                        std::chrono::nanoseconds(1));
    }
    static void pause(unsigned /*ns*/) { std::this_thread::sleep_for(std::chrono::microseconds(20)); }
  };

  const std::uint32_t* const flag_;
  const std::uint32_t value_;
  const std::chrono::nanoseconds longest_;
};

/// A function of the stand-in; null where libcuda.so.1 is another one.
template <typename F>
F find(F, const char* name) {
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : reinterpret_cast<F>(::dlsym(driver, name));
}

// Of pointers that are not followed: the library is not linked with the stand-in.
using Launch = decltype(&cudaStandinLaunch);
constexpr Launch kLaunch = nullptr;
constexpr decltype(&cudaStandinRunsKernels) kRunsKernels = nullptr;
constexpr decltype(&cuCtxSynchronize) kSynchronize = nullptr;

/// Whether the driver is the stand-in, and runs kernels now.
Status checkDevice() {
  const auto runs = find(kRunsKernels, "cudaStandinRunsKernels");
  if (runs == nullptr) return Status::error(GOSS_ERR_UNSUPPORTED, "libcuda.so.1 is not the stand-in");
  return runs() ? Status::ok() : Status::error(GOSS_ERR_UNSUPPORTED, "CUDA_STANDIN_KERNELS is 0");
}

/// Kernels come to the device when they are loaded for the first time, which waits for its streams.
Status load() {
  Status status = checkDevice();
  static std::once_flag loaded;
  if (status.isOk()) std::call_once(loaded, find(kSynchronize, "cuCtxSynchronize"));
  return status;
}

Status ofLaunch(int error) {
  if (error == 0) return Status::ok();
  return Status::error(GOSS_ERR_INTERNAL, "CUDA refused a kernel with error " + std::to_string(error));
}

Status raiseFlag(goss::Flag flag, std::uint32_t value, void* stream) {
  return ofLaunch(find(kLaunch, "cudaStandinLaunch")(stream, new RaiseKernel(flag, value)));
}

Status awaitFlag(goss::Flag flag, std::uint32_t value, std::chrono::nanoseconds longest, void* stream) {
  return ofLaunch(find(kLaunch, "cudaStandinLaunch")(stream, new AwaitKernel(flag, value, longest)));
}

Status reduce(const goss::ReduceJob& job, void* stream) {
  return ofLaunch(find(kLaunch, "cudaStandinLaunch")(stream, new Kernel(goss::test::reduceKernel(job))));
}

Status average(const goss::AverageJob& job, void* stream) {
  return ofLaunch(find(kLaunch, "cudaStandinLaunch")(stream, new Kernel(goss::test::averageKernel(job))));
}

Status openError(const goss::ErrorJob& job, void* stream) {
  return ofLaunch(find(kLaunch, "cudaStandinLaunch")(stream, new Kernel(goss::test::openErrorKernel(job))));
}

Status keepError(const goss::ErrorJob& job, void* stream) {
  return ofLaunch(find(kLaunch, "cudaStandinLaunch")(stream, new Kernel(goss::test::keepErrorKernel(job))));
}

Status addMomentum(const goss::MomentumJob& job, void* stream) {
  return ofLaunch(find(kLaunch, "cudaStandinLaunch")(stream, new Kernel(goss::test::addMomentumKernel(job))));
}

class StandinCodec final : public KernelCodec {
 public:
  StandinCodec(HostCodec codec, Launch enqueue) : codec_(std::move(codec)), enqueue_(enqueue) {}

  [[nodiscard]] std::size_t scratchBytes(std::size_t count) const override { return codec_->scratchBytes(count); }
  [[nodiscard]] bool makesNan() const override { return codec_->makesNan(); }
  Status encode(const EncodeJob& job, void* stream) const override {
    return launch(goss::test::encodeKernel(codec_, job), stream);
  }
  Status decode(const DecodeJob& job, void* stream) const override {
    return launch(goss::test::decodeKernel(codec_, job), stream);
  }
  Status merge(MergeJob& job, void* stream) const override {
    return launch(goss::test::mergeKernel(codec_, job), stream);
  }
  Status clearHeld(const DecodeJob& job, void* stream) const override {
    return launch(goss::test::clearHeldKernel(codec_, job), stream);
  }

 private:
  Status launch(HostKernel kernel, void* stream) const {
    return ofLaunch(enqueue_(stream, new Kernel(std::move(kernel))));
  }

  const HostCodec codec_;
  const Launch enqueue_;
};

Result<std::unique_ptr<const KernelCodec>> makeCodec(std::string_view spec) {
  if (Status status = checkDevice(); !status.isOk()) return status;
  Result<HostCodec> codec = goss::test::makeHostCodec(spec);
  if (!codec.isOk()) return codec.status();
  return std::unique_ptr<const KernelCodec>(
      std::make_unique<StandinCodec>(codec.take(), find(kLaunch, "cudaStandinLaunch")));
}

} // namespace

extern "C" {
[[gnu::visibility("default")]] extern const goss::compressors::cuda::KernelLibrary goss_cuda_kernel_library;
const goss::compressors::cuda::KernelLibrary goss_cuda_kernel_library{
    goss::kDevicePlugVersion,
    load,
    makeCodec,
    {raiseFlag, awaitFlag},
    {reduce, average, openError, keepError, addMomentum}};
}
