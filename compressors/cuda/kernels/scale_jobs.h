/// Jobs of the kernels that compute the scale of a whole segment, which run before the kernel that encodes it.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_SCALE_JOBS_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_SCALE_JOBS_H_

#include "compressors/common/common_loops.h"
#include "compressors/cuda/device/launches.h"

namespace goss::compressors::cuda {

/// Writes (values * factor - reference) + decay * residual to `to`, which may be any of them.
struct PrepareJob {
  const float* values = nullptr;
  const float* reference = nullptr; ///< May be null.
  const float* residual = nullptr;  ///< May be null.
  float* to = nullptr;
  float decay = 1;
  float factor = 1;
  std::size_t count = 0;
};

/// Sums over kSumElems elements, in the order of the CPU's loops.
struct ChunkSums {
  float sum, magnitudes, squares;
  std::uint32_t peak; ///< The largest peakKey().
};

/// Sums over kSumGroup chunks.
struct GroupSums {
  double sum, magnitudes, squares;
  std::uint32_t peak;
};

struct SumJob {
  const float* values = nullptr;
  std::size_t count = 0;
  ChunkSums* chunks = nullptr; ///< sumChunks(count) of them.
  GroupSums* groups = nullptr; ///< sumGroups(count) of them: the result.
};
constexpr std::size_t sumChunks(std::size_t count) { return (count + kSumElems - 1) / kSumElems; }
constexpr std::size_t sumGroups(std::size_t count) { return (sumChunks(count) + kSumGroup - 1) / kSumGroup; }
constexpr std::size_t sumScratchBytes(std::size_t count) {
  return sumChunks(count) * sizeof(ChunkSums) + sumGroups(count) * sizeof(GroupSums);
}
/// `scratch`: sumScratchBytes(count), aligned to 64.
inline SumJob sumJob(const float* values, std::size_t count, std::byte* scratch) {
  auto* groups = reinterpret_cast<GroupSums*>(scratch);
  return {values, count, reinterpret_cast<ChunkSums*>(groups + sumGroups(count)), groups};
}

enum class ScaleKind { meanMagnitude, rootMeanSquare, ternary };

/// Makes a scale from sums.
struct ScaleJob {
  ScaleKind kind = ScaleKind::meanMagnitude;
  const GroupSums* groups = nullptr;
  std::size_t count = 0; ///< Elements of the vector.
  float clip = 0;        ///< ternary: deviations.
  bool feedback = false; ///< The encode has error feedback.
  double least_gain = 1; ///< ternary, with feedback: minTernaryGain().
  /// Device memory from which the encode kernel reads the scale, and the scale as it is stored.
  float* scale = nullptr;
  unsigned char* stored = nullptr; ///< Where the payload stores the scale.
};

int launchPrepare(const PrepareJob& job, Stream stream);
int launchSums(const SumJob& job, Stream stream);
int launchScale(const ScaleJob& job, Stream stream);
CodecLaunches signLaunches();
/// Kernels for ternary words of 2, 4 or 8 bits.
CodecLaunches ternaryLaunches(unsigned bits);

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_SCALE_JOBS_H_
