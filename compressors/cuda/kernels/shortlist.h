/// Whether a kernel reads the short list of candidates or the vector.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_SHORTLIST_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_SHORTLIST_H_

#include "compressors/cuda/kernels/sparse_jobs.h"
#include "compressors/cuda/kernels/warp.h"

namespace goss::compressors::cuda {

/// Number of candidates; 0 where the short list is not used: then kernels read the vector.
GOSS_DEVICE std::uint32_t listedIn(const Shortlist& list, const PickState& state) {
  const bool counts = list.listed != nullptr && state.reached >= state.limit && state.reached <= list.capacity;
  return counts ? static_cast<std::uint32_t>(state.reached) : 0u;
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_SHORTLIST_H_
