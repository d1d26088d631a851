/// What the kernels of PowerSGD are given. Matrices are row-major, factors (rows or columns) x rank.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_FACTOR_JOBS_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_FACTOR_JOBS_H_

#include "compressors/cuda/device/jobs.h"
#include "compressors/powersgd/factors.h"

namespace goss::compressors::cuda {

/// Draws the elements of a factor where it is all zero or not finite.
struct DrawJob {
  float* factor = nullptr;
  std::size_t count = 0;
  StreamKey key;
  std::uint32_t* flags = nullptr; ///< One word.
};

/// Multiplies the matrix, or its transpose, by a factor: sums of kFactorSlab terms, and then sums of those.
struct TimesJob {
  MatrixShape shape;
  bool transposed = false; ///< matrix^T * factor (rows x rank), otherwise matrix * factor (columns x rank).
  const float* matrix = nullptr;
  const float* factor = nullptr;
  float* slabs = nullptr; ///< factorSlabs() times the result.
  float* out = nullptr;
};
constexpr std::size_t factorSlabs(const MatrixShape& shape, bool transposed) {
  return ((transposed ? shape.rows : shape.columns) + kFactorSlab - 1) / kFactorSlab;
}
constexpr std::size_t timesSize(const MatrixShape& shape, bool transposed) {
  return (transposed ? shape.columns : shape.rows) * shape.rank;
}

struct OrthonormalizeJob {
  float* factor = nullptr;
  std::size_t rows = 0, rank = 0;
};

/// values = left * right^T; residual = values before - own_left * own_right^T, where that is finite, otherwise 0.
struct ProductJob {
  MatrixShape shape;
  const float* left = nullptr;
  const float* right = nullptr;
  const float* own_left = nullptr;
  const float* own_right = nullptr;
  float* values = nullptr;
  float* residual = nullptr; ///< May be null.
};

int launchDraw(const DrawJob& job, Stream stream);
int launchTimes(const TimesJob& job, Stream stream);
int launchOrthonormalize(const OrthonormalizeJob& job, Stream stream);
int launchProduct(const ProductJob& job, Stream stream);

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_FACTOR_JOBS_H_
