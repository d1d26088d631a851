/// Kernels of casts, microscaling floats, natural compression and the dynamic map. Compiled by nvcc and, for tests, as
/// host code.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_FLOAT_KERNELS_INC_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_FLOAT_KERNELS_INC_H_

#include "compressors/cuda/kernels/codec_launches.h"

namespace goss::compressors::cuda {

/// Runs that a warp of a codec without scales loads at a time, to have enough loads in flight.
inline constexpr unsigned kPlainRuns = 4;

template <typename Scaling>
CodecLaunches plainLaunches() {
  return codecLaunches<Scaling, kPlainRuns>();
}

CodecLaunches dynamicLaunches(std::size_t block) { return blockLaunches<Dynamic>(block); }

CodecLaunches normalLaunches(std::size_t block) {
  switch (block) {
    case 256:
      return codecLaunches<Normal, 2>(kTileElems);
    case 512:
      return codecLaunches<Normal, 4>(kTileElems);
    default:
      return codecLaunches<Normal, 1>(kTileElems);
  }
}

CodecLaunches nvFp4Launches() {
  // Units hold whole blocks of 16; the tile is read twice, first for its peak.
  return {launchEncode<NvFp4, 1, 1, 2>, launchDecode<NvFp4>, launchMeasure<NvFp4>, kTileElems};
}

CodecLaunches mxLaunches(MxElement element) {
  switch (element) {
    case MxElement::e4m3:
      return codecLaunches<Mx<MxE4M3>, 1>();
    case MxElement::e2m1:
      return codecLaunches<Mx<MxE2M1>, 1>(kTileElems);
    case MxElement::e2m3:
      return codecLaunches<Mx<MxE2M3>, 1>(kTileElems);
    case MxElement::e3m2:
      return codecLaunches<Mx<MxE3M2>, 1>(kTileElems);
    case MxElement::int8:
      return codecLaunches<Mx<MxInt8>, 1>();
    default:
      return codecLaunches<Mx<MxE3M0>, 1>(kTileElems);
  }
}

CodecLaunches naturalLaunches(bool nearest) {
  return nearest ? plainLaunches<Natural<true>>() : plainLaunches<Natural<false>>();
}

CodecLaunches castLaunches(DType dtype) {
  switch (dtype) {
    case GOSS_FLOAT16:
      return plainLaunches<Cast<kernels::Float16>>();
    case GOSS_BFLOAT16:
      return plainLaunches<Cast<kernels::BFloat16>>();
    case GOSS_FLOAT8_E4M3:
      return plainLaunches<Cast<kernels::Float8E4M3>>();
    case GOSS_FLOAT8_E5M2:
      return plainLaunches<Cast<kernels::Float8E5M2>>();
    default:
      return plainLaunches<Whole>();
  }
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_FLOAT_KERNELS_INC_H_
