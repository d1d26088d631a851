/// Makes the CellLaunches of each kernel file.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_CELL_LAUNCHES_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_CELL_LAUNCHES_H_

#include "compressors/cuda/device/launches.h"
#include "compressors/cuda/kernels/cells.h"
#include "compressors/cuda/kernels/launch.h"

namespace goss::compressors::cuda {

template <typename Scheme, unsigned kRuns, unsigned kUnits, unsigned kReads>
int launchEncode(const CellJob& job, Stream stream) {
  const bool packed =
      Scheme::kPlanes != Planes::none && (Scheme::kBits == 0 ? job.format.block.bits : Scheme::kBits) != 8;
  return launch<EncodeCell<Scheme, kRuns, kUnits, kReads>>(job, packed ? job.format.cell : 0, stream);
}

template <typename Scheme>
int launchDecode(const DecodeCellJob& job, Stream stream) {
  return launch<DecodeCell<Scheme>>(job, 0, stream);
}

template <typename Scheme>
int launchMeasure(const MeasureJob& job, Stream stream) {
  return launch<MeasureCell<Scheme>>(job, 0, stream);
}

/// A warp loads units of at most this many runs at a time: 64 bytes a lane keep memory busy.
inline constexpr unsigned kRunsInFlight = 4;
template <unsigned kRuns>
inline constexpr unsigned kUnitsOf = kRuns < kRunsInFlight ? kRunsInFlight / kRuns : 1;
/// Elements of kRuns runs.
template <unsigned kRuns>
inline constexpr std::size_t kCellOf = kUnitsOf<kRuns>* kRuns* kRunElems;

template <typename Scheme, unsigned kRuns>
CellLaunches cellLaunches(std::size_t cell = kCellOf<kRuns>) {
  return {launchEncode<Scheme, kRuns, kUnitsOf<kRuns>, 1>, launchDecode<Scheme>, launchMeasure<Scheme>, cell};
}

/// The kernels of codecs that have a scale or a head for the whole segment: no sparsifier whose number of elements only
/// the device knows stands before them.
template <typename Scheme, unsigned kRuns>
CellLaunches segmentLaunches(std::size_t cell = kCellOf<kRuns>) {
  return {launchEncode<Scheme, kRuns, kUnitsOf<kRuns>, 1>, launchDecode<Scheme>, nullptr, cell};
}

/// Blocks of up to 512 elements lie in registers; longer ones, which would not fit, are read twice.
template <typename Scheme>
CellLaunches blockLaunches(std::size_t block) {
  switch (block) {
    case 256:
      return cellLaunches<Scheme, 2>();
    case 512:
      return cellLaunches<Scheme, 4>();
    case 1024:
    case 2048:
    case 4096:
      return {launchEncode<Scheme, 2, 1, 2>, launchDecode<Scheme>, launchMeasure<Scheme>, block};
    default:
      return cellLaunches<Scheme, 1>();
  }
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_CELL_LAUNCHES_H_
