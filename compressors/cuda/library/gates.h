/// Kernels by which a stream and the host wait for each other where the stream has no memory operations.
#ifndef GOSS_COMPRESSORS_CUDA_LIBRARY_GATES_H_
#define GOSS_COMPRESSORS_CUDA_LIBRARY_GATES_H_

#include <chrono>
#include <cstdint>

#include "compressors/cuda/device/jobs.h"

namespace goss::compressors::cuda {

// As GateKernels (kernel_library.h). Both return CUDA's error code, 0 for none.
int launchRaise(std::uint32_t* flag, std::uint32_t value, Stream stream);
int launchAwait(const std::uint32_t* flag, std::uint32_t value, std::chrono::nanoseconds longest, Stream stream);

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_LIBRARY_GATES_H_
