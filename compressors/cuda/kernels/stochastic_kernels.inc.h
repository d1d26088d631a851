/// Kernels of blockwise integers that round at random. Compiled by nvcc and, for tests, as host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_STOCHASTIC_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_STOCHASTIC_KERNELS_INC_H_

#include "compressors/cuda/device/integer_launches.h"
#include "compressors/cuda/kernels/codec_launches.h"

namespace goss::compressors::cuda {

CodecLaunches stochasticIntegers(BlockScheme scheme, std::size_t block) {
  switch (scheme) {
    case BlockScheme::minmaxStochastic:
      return blockLaunches<BlockInteger<BlockScheme::minmaxStochastic>>(block);
    case BlockScheme::norm:
      return blockLaunches<BlockInteger<BlockScheme::norm>>(block);
    default:
      return blockLaunches<BlockInteger<BlockScheme::peakStochastic>>(block);
  }
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_STOCHASTIC_KERNELS_INC_H_
