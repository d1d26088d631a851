/// libgossamer_cuda_kernels.so, which nvcc makes, and which may be missing.
#ifndef GOSS_DEVICES_CUDA_KERNELS_H_
#define GOSS_DEVICES_CUDA_KERNELS_H_

#include "compressors/cuda/library/kernel_library.h"
#include "gossamer/status.h"

namespace goss::devices::cuda {

/// Loaded once, and kept. Thread-safe. GOSS_ERR_UNSUPPORTED where it is missing, or of another build.
const Result<const compressors::cuda::KernelLibrary*>& kernelLibrary();

} // namespace goss::devices::cuda

#endif // GOSS_DEVICES_CUDA_KERNELS_H_
