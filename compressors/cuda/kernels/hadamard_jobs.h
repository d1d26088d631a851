/// What the kernels of the Hadamard rotation are given.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_HADAMARD_JOBS_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_HADAMARD_JOBS_H_

#include "compressors/cuda/device/jobs.h"
#include "compressors/hadamard/format.h"

namespace goss::compressors::cuda {

struct HadamardJob {
  std::size_t chunk = 0;
  const float* from = nullptr;
  std::size_t count = 0;
  float* to = nullptr;
  bool back = false;
  Delivery delivery; ///< Where a rotation back writes; other rotations leave it empty.
  float divisor = 0; ///< Not 0: what is delivered is divided by it.
};

int launchHadamard(const HadamardJob& job, Stream stream);

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_HADAMARD_JOBS_H_
