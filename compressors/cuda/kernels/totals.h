/// Sums over a whole vector, for the kernels that make scales of them.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_TOTALS_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_TOTALS_H_

#include "compressors/cuda/kernels/scale_jobs.h"
#include "compressors/cuda/kernels/warp.h"

namespace goss::compressors::cuda {

/// The groups' sums, added in order; all lanes get the result. All lanes of the warp call it.
GOSS_DEVICE GroupSums totalOf(const GroupSums* groups, std::size_t count) {
  const std::size_t some = sumGroups(count);
  GroupSums total = {0, 0, 0, 0};
  for (std::size_t base = 0; base < some; base += kWarpLanes) { // each load takes long, so 32 are in flight at a time
    PerLane<GroupSums> own;
    Warp::each([&](unsigned lane) { own[lane] = base + lane < some ? groups[base + lane] : GroupSums{0, 0, 0, 0}; });
    for (unsigned lane = 0; lane < kWarpLanes && base + lane < some; ++lane) {
      const GroupSums there = own.of(lane);
      total.sum += there.sum;
      total.magnitudes += there.magnitudes;
      total.squares += there.squares;
      total.peak = there.peak > total.peak ? there.peak : total.peak;
    }
  }
  return total;
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_TOTALS_H_
