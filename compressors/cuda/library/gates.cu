#include "compressors/cuda/library/gates.h"

#include <cuda_runtime.h>

#include "compressors/cuda/kernels/kernel_list.h"
#include "compressors/cuda/library/gate_wait.h"

namespace goss::compressors::cuda {

namespace {

/// A word of the host's memory, as a GPU reads it.
struct GpuGate {
  const std::uint32_t* flag;

  GOSS_DEVICE std::uint32_t look() const {
    std::uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
  }
  GOSS_DEVICE static std::uint64_t now() {
    std::uint64_t ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
  }
  GOSS_DEVICE static void pause(unsigned ns) { __nanosleep(ns); }
};

__global__ void awaitKernel(const std::uint32_t* flag, std::uint32_t value, std::uint64_t longest_ns) {
  GpuGate gate{flag};
  // After a timeout the stream must not copy stale data to the results: the trap destroys the context, so that no later
  // work runs.
  if (!waitAtGate(gate, value, longest_ns)) __trap();
  __threadfence_system();
}

__global__ void raiseKernel(std::uint32_t* flag, std::uint32_t value) {
  __threadfence_system();
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

const bool kListed =
    listKernel(reinterpret_cast<const void*>(&awaitKernel)) && listKernel(reinterpret_cast<const void*>(&raiseKernel));

int launchOne(const void* kernel, void** arguments, Stream stream) {
  if (!kListed) return static_cast<int>(cudaErrorInitializationError);
  const cudaError_t code = cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, stream);
  if (code != cudaSuccess) (void)cudaGetLastError(); // Clears the error, which the return value reports.
  return static_cast<int>(code);
}

} // namespace

int launchRaise(std::uint32_t* flag, std::uint32_t value, Stream stream) {
  void* arguments[] = {&flag, &value};
  return launchOne(reinterpret_cast<const void*>(&raiseKernel), arguments, stream);
}

int launchAwait(const std::uint32_t* flag, std::uint32_t value, std::chrono::nanoseconds longest, Stream stream) {
  auto longest_ns = static_cast<std::uint64_t>(longest.count());
  void* arguments[] = {&flag, &value, &longest_ns};
  return launchOne(reinterpret_cast<const void*>(&awaitKernel), arguments, stream);
}

} // namespace goss::compressors::cuda
