/// What kernels are given, by value: plain structs, the same for nvcc and for C++ compilers. Pointers are to device
/// memory.
#ifndef GOSS_COMPRESSORS_CUDA_DEVICE_JOBS_H_
#define GOSS_COMPRESSORS_CUDA_DEVICE_JOBS_H_

#include <cstddef>
#include <cstdint>

#include "compressors/blockwise/format.h"
#include "compressors/common/runs.h"
#include "gossamer/random.h"

struct CUstream_st; // CUDA's

namespace goss::compressors::cuda {

/// cudaStream_t, without CUDA's headers.
using Stream = ::CUstream_st*;

inline constexpr unsigned kMaxSegments = 32;               ///< Of one launch.
inline constexpr unsigned kMaxPayloads = 32;               ///< That one launch decodes.
inline constexpr std::size_t kRunElems = 128;              ///< A warp's step: four elements a lane.
inline constexpr std::size_t kDecodeElems = 4 * kRunElems; ///< That a warp decodes.
inline constexpr unsigned kTileShift = 12;
static_assert(std::size_t{1} << kTileShift == kTileElems);

/// Which codec, and its parameters.
struct CellFormat {
  BlockFormat block;            ///< Bits, block and levels; of other families block and bits alone.
  unsigned block_shift = 0;     ///< The block as a power of two.
  std::size_t cell = 128;       ///< Elements that one warp encodes: whole blocks; kTileElems where planes are of tiles.
  float given_scale = 0;        ///< Of all segments, where payloads do not have it; otherwise 0.
  const float* scale = nullptr; ///< Of the whole segment, where that is known before: in device memory.
  std::size_t head = 0;         ///< Bytes of a payload before its codes.
  bool whole_segment = false;   ///< Means are added to zero, as VectorCodec does, so that -0 becomes 0.
};

/// What only the device knows of the payload behind a sparsifier's indices; the kernel that collects them writes it.
struct Behind {
  std::uint32_t count; ///< Elements.
  std::uint32_t head;  ///< Bytes before it.
};

struct CellSegment {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t cells_before = 0; ///< Of the segments before it.
  unsigned char* out = nullptr;
  bool aligned = false; ///< To 16 bytes: `out`, the job's vectors from `first` on, and its payloads.
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
  const Behind* behind = nullptr; ///< Or null. Otherwise of the only segment: it has at most the elements that it says.
  std::size_t cells = 0;          ///< Of all segments.
  unsigned segment_count = 0;
  unsigned payload_count = 0;
  CellSegment segments[kMaxSegments];
  const unsigned char* payloads[kMaxPayloads] = {};
};

struct DecodeCellJob {
  CellFormat format;
  std::size_t count = 0;
  float* out = nullptr;
  Delivery delivery;              ///< set: the payloads' sum replaces what is there.
  float divisor = 0;              ///< Not 0: the sum is divided by it.
  bool from_zero = false;         ///< set: the first payload is added to zero.
  bool aligned = false;           ///< To 16 bytes: `out` and payloads, `head` apart.
  const Behind* behind = nullptr; ///< Or null. Otherwise of the only payload; there are at most `count` elements.
  unsigned payload_count = 0;
  const unsigned char* payloads[kMaxPayloads] = {};
};

/// Writes head + the bytes of a payload of so many elements + `more` to `length`.
struct MeasureJob {
  CellFormat format;
  const Behind* behind = nullptr;
  std::uint64_t more = 0;
  std::uint64_t* length = nullptr;
};

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_DEVICE_JOBS_H_
