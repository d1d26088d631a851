/// What the kernels of MinMaxUInt8 and of uniform 8-bit are given: codecs that look at a whole segment before they code
/// it.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_SEGMENT_JOBS_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_SEGMENT_JOBS_H_

#include "compressors/bagua/format.h"
#include "compressors/codebook/format.h"
#include "compressors/common/element.h"
#include "compressors/cuda/device/launches.h"
#include "compressors/cuda/kernels/scale_jobs.h"

namespace goss::compressors::cuda {

/// Keys of the extrema, found by atomic maxima; all are larger than zero, the initial value.
struct RangeState {
  std::uint32_t low, high; ///< Order keys as unsigned numbers; the low one complemented.
  std::uint32_t peak;      ///< peakKey().
  std::uint32_t unused;
  float scale[4]; ///< What the encode kernel reads: MinMax::Scale.
};

struct RangeJob {
  const float* values = nullptr;
  std::size_t count = 0;
  RangeState* state = nullptr;
  unsigned char* payload = nullptr;
};

/// One bucket of a codebook. Distances to the level are added as two sums, of their low and their high halves
/// (UniformCountKernel).
struct UniformBucket {
  unsigned long long low, high, members;
};

struct UniformState {
  Scale scale;
  std::uint32_t finite;
  std::uint32_t unused;
  UniformBucket buckets[kUniformBuckets];
};

struct UniformJob {
  SumJob sums; ///< The vector, and its sums.
  UniformState* state = nullptr;
  unsigned char* payload = nullptr;
};

/// Finds the range, and writes the head and the zeros behind the codes.
int launchRange(const RangeJob& job, Stream stream);
/// Kernels that encode the codes; the head lies before them.
CodecLaunches minMaxLaunches();
/// Encodes. The caller has computed the sums.
int launchUniform(const UniformJob& job, Stream stream);
/// Kernels that only decode.
CodecLaunches codebookLaunches();

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_SEGMENT_JOBS_H_
