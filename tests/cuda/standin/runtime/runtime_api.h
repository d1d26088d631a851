/// The part of the CUDA runtime's C interface that libcudart.so.13 of the stand-in has: names, values and layouts, as
/// programs built with CUDA 13 use them. Errors have the driver's numbers, but for those that are named here.
#ifndef GOSS_TESTS_CUDA_STANDIN_RUNTIME_RUNTIME_API_H_
#define GOSS_TESTS_CUDA_STANDIN_RUNTIME_RUNTIME_API_H_

#include <cstddef>
#include <cstdint>

#include "devices/cuda/driver/driver_api.h"

using cudaError_t = int;
using cudaStream_t = CUstream;
using cudaEvent_t = CUevent;
using cudaHostFn_t = CUhostFn;

inline constexpr cudaError_t cudaSuccess = 0;
inline constexpr cudaError_t cudaErrorMemoryAllocation = 2;
inline constexpr cudaError_t cudaErrorNotReady = 600;
inline constexpr cudaError_t cudaErrorNotSupported = 801;

struct dim3 {
  unsigned x, y, z;
};

struct cudaPointerAttributes {
  int type; ///< 0 not CUDA's, 1 host, 2 device, 3 managed.
  int device;
  void* devicePointer;
  void* hostPointer;
  long reserved[8];
};
static_assert(sizeof(cudaPointerAttributes) == 88);

/// The fields that programs read, where CUDA 13 has them; the others are zero.
struct cudaDeviceProp {
  char name[256];
  char uuid[16];
  char luid[16];
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  std::size_t memPitch;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  std::size_t totalConstMem;
  int major;
  int minor;
  std::size_t textureAlignment;
  std::size_t texturePitchAlignment;
  int multiProcessorCount;
  int integrated;
  char textures[176];
  int pciBusID;
  int pciDeviceID;
  int pciDomainID;
  int tccDriver;
  int asyncEngineCount;
  int unifiedAddressing;
  int memoryBusWidth;
  int l2CacheSize;
  int persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported;
  int globalL1CacheSupported;
  int localL1CacheSupported;
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  char features[36];
  std::size_t sharedMemPerBlockOptin;
  char rest[328];
};
static_assert(sizeof(cudaDeviceProp) == 1008);
static_assert(offsetof(cudaDeviceProp, multiProcessorCount) == 384 && offsetof(cudaDeviceProp, pciBusID) == 568);
static_assert(offsetof(cudaDeviceProp, regsPerMultiprocessor) == 632);
static_assert(offsetof(cudaDeviceProp, sharedMemPerBlockOptin) == 672);

struct cudaFuncAttributes {
  std::size_t memory[3];
  int maxThreadsPerBlock;
  int numRegs;
  int ptxVersion;
  int binaryVersion;
  char rest[104];
};
static_assert(sizeof(cudaFuncAttributes) == 144);

struct cudaLaunchConfig_t {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
  void* attributes;
  unsigned count;
};
static_assert(offsetof(cudaLaunchConfig_t, stream) == 32);

#endif // GOSS_TESTS_CUDA_STANDIN_RUNTIME_RUNTIME_API_H_
