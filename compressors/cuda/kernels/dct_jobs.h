/// What the kernels of the chunked cosine transform are given.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_DCT_JOBS_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_DCT_JOBS_H_

#include "compressors/cuda/device/jobs.h"
#include "compressors/dct/format.h"

namespace goss::compressors::cuda {

struct DctBasisJob {
  DctTable table;
  float* basis = nullptr; ///< chunk x chunk: element by coefficient, or the transpose.
  bool transposed = false;
};

struct DctEncodeJob {
  std::size_t chunk = 0, keep = 0;
  const float* basis = nullptr; ///< Element by coefficient.
  const float* values = nullptr;
  std::size_t count = 0;
  unsigned char* payload = nullptr;
};

struct DctDecodeJob {
  std::size_t chunk = 0, keep = 0;
  const float* basis = nullptr; ///< Coefficient by element.
  float* out = nullptr;
  std::size_t count = 0;
  Delivery delivery; ///< set: the payloads' sum replaces what is there.
  bool mean = false; ///< Averages each coefficient over the payloads that hold it.
  /// mean: sums of, and counters over, chunk x chunks coefficients: they carry from launch to launch.
  float* sums = nullptr;
  std::uint32_t* senders = nullptr;
  bool first = true, last = true; ///< mean: whether this is the first or the last launch.
  unsigned payload_count = 0;
  const unsigned char* payloads[kMaxPayloads] = {};
};

int launchDctBasis(const DctBasisJob& job, Stream stream);
int launchDctEncode(const DctEncodeJob& job, Stream stream);
int launchDctDecode(const DctDecodeJob& job, Stream stream);

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_DCT_JOBS_H_
