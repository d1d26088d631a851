/// The names of CUDA that the kernels of compressors/cuda use, for a C++ compiler: it stands in for NVIDIA's header of
/// this name, which nvcc includes by itself, and runs kernels by warp_executor.h when they are launched.
#ifndef GOSS_TESTS_COMPRESSORS_CUDA_SIMT_CUDA_RUNTIME_H_
#define GOSS_TESTS_COMPRESSORS_CUDA_SIMT_CUDA_RUNTIME_H_

#include <cstdlib>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "tests/compressors/cuda/simt/warp_executor.h"

#define __host__
#define __device__
#define __global__
#define __shared__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(threads, blocks)
#define __align__(bytes) __attribute__((aligned(bytes)))

#define threadIdx goss::test::simt::thread_index
#define blockIdx goss::test::simt::block_index

struct CUstream_st;
using cudaStream_t = CUstream_st*;
enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation, cudaErrorInitializationError };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
struct cudaDeviceProp {
  char name[256];
};
using cudaEvent_t = void*;
using dim3 = goss::test::simt::Dim;

inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return "no memory"; }
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "this machine, threads of a warp as fibers");
  return cudaSuccess;
}
/// Aligned as a device's memory is; kernels that read what nobody wrote find rubbish.
inline cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  *data = std::aligned_alloc(kAlignment, whole);
  if (*data == nullptr) {
    return cudaErrorMemoryAllocation;
  }
  std::memset(*data, 0xcd, whole);
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* data) {
  std::free(data);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  if (bytes != 0) {
    std::memcpy(to, from, bytes);
  }
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 0;
  return cudaSuccess;
}

struct cudaFuncAttributes {};
/// Kernels that were asked about, and so are loaded. From the first one on no other can be launched.
inline std::set<const void*> cuda_loaded_kernels;
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void* kernel) {
  cuda_loaded_kernels.insert(kernel);
  return cudaSuccess;
}

template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, void** arguments,
                             std::size_t shared_bytes, cudaStream_t) {
  if (!cuda_loaded_kernels.empty() && !cuda_loaded_kernels.contains(reinterpret_cast<const void*>(kernel))) {
    return cudaErrorInitializationError;
  }
  const auto call = [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    kernel(*static_cast<std::remove_const_t<Parameters>*>(arguments[kIndex])...);
  };
  goss::test::simt::run({blocks.x, threads.x, shared_bytes}, [&] { call(std::index_sequence_for<Parameters...>{}); });
  return cudaSuccess;
}

// All lanes take part in all of them; the mask is what nvcc wants.
template <typename T>
T __shfl_sync(unsigned, T value, int lane) {
  return goss::test::simt::shuffle(value, static_cast<unsigned>(lane));
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return goss::test::simt::shuffle(value, (threadIdx.x % 32) ^ static_cast<unsigned>(mask));
}
template <typename T>
T __shfl_up_sync(unsigned, T value, unsigned delta) {
  const unsigned lane = threadIdx.x % 32;
  return goss::test::simt::shuffle(value, lane >= delta ? lane - delta : lane);
}
inline unsigned __ballot_sync(unsigned, int predicate) {
  namespace simt = goss::test::simt;
  unsigned mask = 0;
  for (const simt::Word lane : simt::exchange(simt::Meeting::ballot, predicate != 0 ? 1u << 31 : 0u)) {
    mask = mask >> 1 | static_cast<unsigned>(lane);
  }
  return mask;
}
inline void __syncwarp() { goss::test::simt::meet(goss::test::simt::Meeting::sync); }
inline int __popc(unsigned value) { return __builtin_popcount(value); }
template <typename T>
T atomicAdd(T* to, T value) {
  return std::exchange(*to, *to + value);
}
template <typename T>
T atomicMax(T* to, T value) {
  return std::exchange(*to, *to > value ? *to : value);
}

#endif // GOSS_TESTS_COMPRESSORS_CUDA_SIMT_CUDA_RUNTIME_H_
