/// The two files that the kernels of blockwise integers are cut into, so that they compile side by side.
#ifndef GOSS_COMPRESSORS_CUDA_DEVICE_INTEGER_LAUNCHES_H_
#define GOSS_COMPRESSORS_CUDA_DEVICE_INTEGER_LAUNCHES_H_

#include "compressors/cuda/device/launches.h"

namespace goss::compressors::cuda {

CodecLaunches nearestIntegers(BlockScheme scheme, std::size_t block);
CodecLaunches stochasticIntegers(BlockScheme scheme, std::size_t block);

inline CodecLaunches integerLaunches(BlockScheme scheme, std::size_t block) {
  const bool nearest = scheme == BlockScheme::peak || scheme == BlockScheme::minmax;
  return nearest ? nearestIntegers(scheme, block) : stochasticIntegers(scheme, block);
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_DEVICE_INTEGER_LAUNCHES_H_
