/// The interface of the kernel files: plain functions that put kernels on a stream. Each returns CUDA's error code.
#ifndef GOSS_COMPRESSORS_CUDA_DEVICE_LAUNCHES_H_
#define GOSS_COMPRESSORS_CUDA_DEVICE_LAUNCHES_H_

#include "compressors/cuda/device/jobs.h"
#include "compressors/mx/format.h"
#include "gossamer/types.h"

namespace goss::compressors::cuda {

/// The kernels of one codec. `elems_per_warp` is what KernelFormat::elems_per_warp must be.
struct CodecLaunches {
  int (*encode)(const EncodeKernelJob& job, Stream stream) = nullptr;
  int (*decode)(const DecodeKernelJob& job, Stream stream) = nullptr;
  int (*measure)(const MeasureJob& job, Stream stream) = nullptr;
  std::size_t elems_per_warp = kRunElems;
};

CodecLaunches dynamicLaunches(std::size_t block);
CodecLaunches normalLaunches(std::size_t block);
CodecLaunches nvFp4Launches();
CodecLaunches mxLaunches(MxElement element);
CodecLaunches naturalLaunches(bool nearest);
CodecLaunches castLaunches(DType dtype);

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_DEVICE_LAUNCHES_H_
