/// Makes the CodecLaunches of each kernel file.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_CODEC_LAUNCHES_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_CODEC_LAUNCHES_H_

#include "compressors/cuda/device/launches.h"
#include "compressors/cuda/kernels/codec_kernels.h"
#include "compressors/cuda/kernels/launch.h"

namespace goss::compressors::cuda {

template <typename Scaling, unsigned kRuns, unsigned kUnits, unsigned kReads>
int launchEncode(const EncodeKernelJob& job, Stream stream) {
  const bool packed =
      Scaling::kPlanes != Planes::none && (Scaling::kBits == 0 ? job.format.block.bits : Scaling::kBits) != 8;
  return launch<EncodeKernel<Scaling, kRuns, kUnits, kReads>>(job, packed ? job.format.elems_per_warp : 0, stream);
}

template <typename Scaling>
int launchDecode(const DecodeKernelJob& job, Stream stream) {
  return launch<DecodeKernel<Scaling>>(job, 0, stream);
}

template <typename Scaling>
int launchMeasure(const MeasureJob& job, Stream stream) {
  return launch<MeasureKernel<Scaling>>(job, 0, stream);
}

/// A warp loads units of at most this many runs at a time: 64 bytes a lane keep memory busy.
inline constexpr unsigned kRunsInFlight = 4;
template <unsigned kRuns>
inline constexpr unsigned kUnitsOf = kRuns < kRunsInFlight ? kRunsInFlight / kRuns : 1;
/// Elements of kRuns runs.
template <unsigned kRuns>
inline constexpr std::size_t kElemsPerWarpOf = kUnitsOf<kRuns>* kRuns* kRunElems;

template <typename Scaling, unsigned kRuns>
CodecLaunches codecLaunches(std::size_t elems_per_warp = kElemsPerWarpOf<kRuns>) {
  return {launchEncode<Scaling, kRuns, kUnitsOf<kRuns>, 1>, launchDecode<Scaling>, launchMeasure<Scaling>,
          elems_per_warp};
}

/// The kernels of codecs that have a scale or a head for the whole segment: no sparsifier whose number of elements only
/// the device knows stands before them.
template <typename Scaling, unsigned kRuns>
CodecLaunches segmentLaunches(std::size_t elems_per_warp = kElemsPerWarpOf<kRuns>) {
  return {launchEncode<Scaling, kRuns, kUnitsOf<kRuns>, 1>, launchDecode<Scaling>, nullptr, elems_per_warp};
}

/// Blocks of up to 512 elements lie in registers; longer ones, which would not fit, are read twice.
template <typename Scaling>
CodecLaunches blockLaunches(std::size_t block) {
  switch (block) {
    case 256:
      return codecLaunches<Scaling, 2>();
    case 512:
      return codecLaunches<Scaling, 4>();
    case 1024:
    case 2048:
    case 4096:
      return {launchEncode<Scaling, 2, 1, 2>, launchDecode<Scaling>, launchMeasure<Scaling>, block};
    default:
      return codecLaunches<Scaling, 1>();
  }
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_CODEC_LAUNCHES_H_
