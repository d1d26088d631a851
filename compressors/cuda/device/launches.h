/// The interface of the kernel files: plain functions that put kernels on a stream. Each returns CUDA's error code.
#ifndef GOSS_COMPRESSORS_CUDA_DEVICE_LAUNCHES_H_
#define GOSS_COMPRESSORS_CUDA_DEVICE_LAUNCHES_H_

#include "compressors/cuda/device/jobs.h"
#include "compressors/mx/format.h"
#include "gossamer/types.h"

namespace goss::compressors::cuda {

/// The kernels of one codec. `cell` is what CellFormat::cell must be.
struct CellLaunches {
  int (*encode)(const CellJob& job, Stream stream) = nullptr;
  int (*decode)(const DecodeCellJob& job, Stream stream) = nullptr;
  int (*measure)(const MeasureJob& job, Stream stream) = nullptr;
  std::size_t cell = kRunElems;
};

CellLaunches dynamicLaunches(std::size_t block);
CellLaunches normalLaunches(std::size_t block);
CellLaunches nvFp4Launches();
CellLaunches mxLaunches(MxElement element);
CellLaunches naturalLaunches(bool nearest);
CellLaunches castLaunches(DType dtype);

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_DEVICE_LAUNCHES_H_
