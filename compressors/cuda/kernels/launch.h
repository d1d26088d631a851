/// Runs a body for every warp of a job: as a kernel on a stream, or, in host code, one warp after the other within the
/// call.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_LAUNCH_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_LAUNCH_H_

#include "compressors/cuda/device/jobs.h"
#include "compressors/cuda/kernels/warp.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>

#include "compressors/cuda/kernels/kernel_list.h"
#else
#include <vector>
#endif

namespace goss::compressors::cuda {

inline constexpr unsigned kBlockWarps = 4;
inline constexpr unsigned kBlocksResident = 5; ///< Blocks on a multiprocessor; registers allow 96 for each thread.
/// Blocks of one kernel on a multiprocessor: a body that would not fit 96 registers sets a number of its own.
template <typename Body>
inline constexpr unsigned kResidentOf = kBlocksResident;
template <typename Body>
requires(Body::kBlocksResident != 0) inline constexpr unsigned kResidentOf<Body> = Body::kBlocksResident;

#if defined(__CUDACC__)
template <typename Body>
__global__ void __launch_bounds__(kBlockWarps* kWarpLanes, kResidentOf<Body>)
    runWarps(const __grid_constant__ typename Body::Job job, unsigned shared_bytes) {
  extern __shared__ __align__(16) unsigned long long shared_memory[];
  auto* shared = reinterpret_cast<unsigned char*>(shared_memory) + threadIdx.x / kWarpLanes * shared_bytes;
  const std::size_t warp = static_cast<std::size_t>(blockIdx.x) * kBlockWarps + threadIdx.x / kWarpLanes;
  if (warp < Body::warps(job)) {
    Body::run(job, warp, shared);
  }
}

/// Listed as the library is loaded, because launch() names it.
template <typename Body>
inline const bool kIsListed = listKernel(reinterpret_cast<const void*>(&runWarps<Body>));
#endif

/// `shared_bytes`, a multiple of 16, are each warp's own. Returns CUDA's error code, 0 for none.
template <typename Body>
int launch(const typename Body::Job& job, std::size_t shared_bytes, Stream stream) {
  const std::size_t warps = Body::warps(job);
  if (warps == 0) {
    return 0;
  }
#if defined(__CUDACC__)
  if (!kIsListed<Body>) {
    return static_cast<int>(cudaErrorInitializationError);
  }
  const auto blocks = static_cast<unsigned>((warps + kBlockWarps - 1) / kBlockWarps);
  auto each_shared = static_cast<unsigned>(shared_bytes);
  void* arguments[] = {const_cast<typename Body::Job*>(&job), &each_shared};
  // cudaLaunchKernel returns the error of this launch alone; cudaGetLastError() might return an earlier error that the
  // caller has yet to see.
  const cudaError_t code = cudaLaunchKernel(&runWarps<Body>, dim3(blocks), dim3(kBlockWarps * kWarpLanes), arguments,
                                            kBlockWarps * shared_bytes, stream);
  if (code != cudaSuccess) {
    (void)cudaGetLastError(); // Clears the error, which the return value reports.
  }
  return static_cast<int>(code);
#else
  (void)stream;
  std::vector<unsigned long long> shared((shared_bytes + 7) / 8 + 1);
  for (std::size_t warp = 0; warp < warps; ++warp) {
    Body::run(job, warp, reinterpret_cast<unsigned char*>(shared.data()));
  }
  return 0;
#endif
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_LAUNCH_H_
