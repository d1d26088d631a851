/// Arithmetic on vectors in device memory that no codec does: reductions, LoCo's errors and DGC's momenta.
#ifndef GOSS_COMPRESSORS_CUDA_DEVICE_ARITHMETIC_H_
#define GOSS_COMPRESSORS_CUDA_DEVICE_ARITHMETIC_H_

#include "compressors/cuda/device/jobs.h"
#include "gossamer/device.h"

namespace goss::compressors::cuda {

// As DeviceQueue's; kernels::supported(job.dtype, job.op), of an average for GOSS_AVG. All return CUDA's error code, 0
// for none.
int launchReduce(const ReduceJob& job, Stream stream);
int launchAverage(const AverageJob& job, Stream stream);
int launchOpenError(const ErrorJob& job, Stream stream);
int launchKeepError(const ErrorJob& job, Stream stream);
int launchAddMomentum(const MomentumJob& job, Stream stream);

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_DEVICE_ARITHMETIC_H_
