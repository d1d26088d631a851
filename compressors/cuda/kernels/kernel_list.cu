#include "compressors/cuda/kernels/kernel_list.h"

#include <cuda_runtime.h>

#include <vector>

namespace goss::compressors::cuda {

namespace {

/// Written only while the library is loaded.
std::vector<const void*>& kernels() {
  static std::vector<const void*> list;
  return list;
}

} // namespace

bool listKernel(const void* kernel) {
  kernels().push_back(kernel);
  return true;
}

int loadKernels() {
  for (const void* kernel : kernels()) {
    cudaFuncAttributes attributes;
    if (const cudaError_t code = cudaFuncGetAttributes(&attributes, kernel); code != cudaSuccess) {
      (void)cudaGetLastError(); // Clears the error, which the return value reports.
      return static_cast<int>(code);
    }
  }
  return 0;
}

} // namespace goss::compressors::cuda
