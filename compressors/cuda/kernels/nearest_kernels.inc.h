/// Kernels of blockwise integers that round to nearest. Compiled by nvcc and, for tests, as host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_NEAREST_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_NEAREST_KERNELS_INC_H_

#include "compressors/cuda/device/integer_launches.h"
#include "compressors/cuda/kernels/codec_launches.h"

namespace goss::compressors::cuda {

CodecLaunches nearestIntegers(BlockScheme scheme, std::size_t block) {
  return scheme == BlockScheme::minmax ? blockLaunches<BlockInteger<BlockScheme::minmax>>(block)
                                       : blockLaunches<BlockInteger<BlockScheme::peak>>(block);
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_NEAREST_KERNELS_INC_H_
