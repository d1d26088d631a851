/// Whether what follows a short list reads it.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_SHORTLIST_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_SHORTLIST_H_

#include "compressors/cuda/kernels/sparse_jobs.h"
#include "compressors/cuda/kernels/warp.h"

namespace goss::compressors::cuda {

/// How many candidates there are, 0 where the short list does not count: then the vector is read.
GOSS_DEVICE std::uint32_t listedIn(const Shortlist& list, const PickState& state) {
  const bool counts = list.listed != nullptr && state.reached >= state.limit && state.reached <= list.room;
  return counts ? static_cast<std::uint32_t>(state.reached) : 0u;
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_SHORTLIST_H_
