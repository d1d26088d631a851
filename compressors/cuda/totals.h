/// Sums over a whole vector, for the kernels that make scales of them.
#ifndef GOSS_COMPRESSORS_CUDA_TOTALS_H_
#define GOSS_COMPRESSORS_CUDA_TOTALS_H_

#include "compressors/cuda/scale_jobs.h"
#include "compressors/cuda/warp.h"

namespace goss::compressors::cuda {

/// The groups' sums, added in order: the same in all lanes. The whole warp asks.
GOSS_DEVICE GroupSums totalOf(const GroupSums* groups, std::size_t count) {
  const std::size_t some = sumGroups(count);
  GroupSums total = {0, 0, 0, 0};
  for (std::size_t group = 0; group < some; ++group) {
    const GroupSums there = groups[group];
    total.sum += there.sum;
    total.magnitudes += there.magnitudes;
    total.squares += there.squares;
    total.peak = there.peak > total.peak ? there.peak : total.peak;
  }
  return total;
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_TOTALS_H_
