/// What kernels are given, by value: plain structs, the same for nvcc and for C++ compilers. Pointers are to device
/// memory.
#ifndef GOSS_COMPRESSORS_CUDA_JOBS_H_
#define GOSS_COMPRESSORS_CUDA_JOBS_H_

#include <cstddef>
#include <cstdint>

#include "compressors/blockwise/format.h"
#include "compressors/common/runs.h"
#include "gossamer/random.h"

struct CUstream_st; // CUDA's

namespace goss::compressors::cuda {

/// cudaStream_t, without CUDA's headers.
using Stream = ::CUstream_st*;

inline constexpr unsigned kMostSegments = 32; ///< Of one launch.
inline constexpr unsigned kMostPayloads = 32; ///< That one launch decodes.
inline constexpr std::size_t kRunElems = 128; ///< A warp's step: four elements a lane.

/// Which codec, and its parameters.
struct CellFormat {
  BlockFormat block;            ///< Bits, block and levels; of other families block and bits alone.
  std::size_t cell = 128;       ///< Elements that one warp encodes: whole blocks; kTileElems where planes are of tiles.
  float given_scale = 0;        ///< Of all segments, where payloads do not have it; otherwise 0.
  const float* scale = nullptr; ///< Of the whole segment, where that is known before: in device memory.
};

struct CellSegment {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t cells_before = 0; ///< Of the segments before it.
  unsigned char* out = nullptr;
};

/// Encodes, or decodes, adds and encodes in one pass.
struct CellJob {
  CellFormat format;
  const float* values = nullptr;
  const float* reference = nullptr; ///< Or null.
  float* residual = nullptr;        ///< Or null.
  float decay = 1;
  float factor = 1;         ///< Merges: what the sum is multiplied by.
  float* decoded = nullptr; ///< Merges: where what `out` decodes to goes; may be `values`.
  StreamKey key;            ///< Private stream.
  std::uint64_t first_element = 0;
  std::size_t cells = 0; ///< Of all segments.
  unsigned segment_count = 0;
  unsigned payload_count = 0;
  CellSegment segments[kMostSegments];
  const unsigned char* payloads[kMostPayloads] = {};
};

struct DecodeCellJob {
  CellFormat format;
  std::size_t count = 0;
  float* out = nullptr;
  Delivery delivery; ///< set: the payloads' sum replaces what is there.
  float divisor = 0; ///< Not 0: the sum is divided by it.
  unsigned payload_count = 0;
  const unsigned char* payloads[kMostPayloads] = {};
};

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_JOBS_H_
