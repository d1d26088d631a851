/// Where the indices of a sparse payload lie (sparse/index_set.h), for kernels that write and that read them.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_INDEX_LAYOUT_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_INDEX_LAYOUT_H_

#include "compressors/cuda/kernels/warp.h"
#include "compressors/sparse/index_set.h"

namespace goss::compressors::cuda {

/// How the indices of a payload lie.
struct IndexLayout {
  std::size_t bytes;    ///< Length of all indices.
  bool marks;           ///< A bit for each element: a bit map, or the upper parts of packed indices.
  bool packs;           ///< The bits are those of packed indices.
  std::size_t low_bits; ///< Bits of the lower part of a packed index.
  std::size_t first;    ///< Where the bits begin.
};
GOSS_HOST_DEVICE IndexLayout indexLayout(std::size_t count, std::size_t held, bool packs) {
  if (!packs) {
    return {indexBytes(count, held), isBitmap(count, held), false, 0, 0};
  }
  const PackedIndices packed(count, held);
  return {packed.bytes, true, !packed.is_bitmap, packed.low_bits, packed.low_bytes};
}
/// Whether the payload holds a bit for every element of the vector.
GOSS_HOST_DEVICE bool isBitmap(const IndexLayout& layout) { return layout.marks && !layout.packs; }

/// Chunks whose counts each lane of the one adding warp loads at a time: loading one would wait for memory at each
/// step.
inline constexpr unsigned kPlaceShare = 16;

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_INDEX_LAYOUT_H_
