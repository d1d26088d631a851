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

inline constexpr unsigned kMaxSegments = 32;               ///< Segments of one launch.
inline constexpr unsigned kMaxPayloads = 32;               ///< Payloads that one launch decodes.
inline constexpr std::size_t kRunElems = 128;              ///< Elements of a warp's step: four for each lane.
inline constexpr std::size_t kDecodeElems = 4 * kRunElems; ///< Elements that a warp decodes.
inline constexpr unsigned kTileShift = 12;
static_assert(std::size_t{1} << kTileShift == kTileElems);

/// Which codec, and its parameters.
struct KernelFormat {
  /// Bits, block and levels; codecs that are not blockwise integers use bits and block only.
  BlockFormat block;
  unsigned block_shift = 0; ///< Binary logarithm of the block size.
  std::size_t elems_per_warp =
      128;                      ///< Elements that one warp encodes: whole blocks; kTileElems where planes hold tiles.
  float given_scale = 0;        ///< Scale of all segments, where payloads do not hold one; otherwise 0.
  const float* scale = nullptr; ///< Scale of the whole segment in device memory, for codecs that compute it before.
  std::size_t head = 0;         ///< Bytes of a payload before its codes.
  bool whole_segment = false;   ///< Means are added to zero, as VectorCodec does, so that -0 becomes 0.
};

/// The part of a sparse payload that follows the indices, if its length is known on the device alone. The kernel that
/// collects the indices writes this.
struct InnerPayload {
  std::uint32_t count; ///< Number of elements.
  std::uint32_t head;  ///< Bytes of the sparse payload before this part.
};

struct KernelSegment {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t warps_before = 0; ///< Warps that the segments before this one take.
  unsigned char* out = nullptr;
  bool aligned = false; ///< `out`, the job's vectors from `first` on, and its payloads are aligned to 16 bytes.
};

/// Encodes, or decodes, adds and encodes in one pass.
struct EncodeKernelJob {
  KernelFormat format;
  const float* values = nullptr;
  const float* reference = nullptr; ///< May be null.
  float* residual = nullptr;        ///< May be null.
  float decay = 1;
  float factor = 1;         ///< Merges: the factor by which the sum is multiplied.
  float* decoded = nullptr; ///< Merges: receives what `out` decodes to; may be `values`.
  StreamKey key;            ///< Private stream.
  std::uint64_t first_element = 0;
  /// May be null. Else it says how many elements the only segment has, and `count` is an upper bound.
  const InnerPayload* inner = nullptr;
  std::size_t warps = 0; ///< Warps that all segments take.
  unsigned segment_count = 0;
  unsigned payload_count = 0;
  KernelSegment segments[kMaxSegments];
  const unsigned char* payloads[kMaxPayloads] = {};
};

struct DecodeKernelJob {
  KernelFormat format;
  std::size_t count = 0;
  float* out = nullptr;
  Delivery delivery;      ///< set: the payloads' sum replaces what is there.
  float divisor = 0;      ///< Not 0: the sum is divided by it.
  bool from_zero = false; ///< set: the first payload is added to zero.
  bool aligned = false;   ///< `out` and the payloads behind their heads are aligned to 16 bytes.
  /// May be null. Else it says how many elements the only payload has, and `count` is an upper bound.
  const InnerPayload* inner = nullptr;
  unsigned payload_count = 0;
  const unsigned char* payloads[kMaxPayloads] = {};
};

/// Writes head + the bytes of a payload of so many elements + `more` to `length`.
struct MeasureJob {
  KernelFormat format;
  const InnerPayload* inner = nullptr;
  std::uint64_t more = 0;
  std::uint64_t* length = nullptr;
};

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_DEVICE_JOBS_H_
