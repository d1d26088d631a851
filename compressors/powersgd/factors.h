/// The matrix arithmetic of PowerSGD, in a fixed order of operations.
#ifndef GOSS_COMPRESSORS_POWERSGD_FACTORS_H_
#define GOSS_COMPRESSORS_POWERSGD_FACTORS_H_

#include <span>

#include "gossamer/random.h"

namespace goss::compressors {

/// Products sum so many terms in order, and then those sums in order: a GPU computes them side by side.
inline constexpr std::size_t kFactorSlab = 512;
inline constexpr std::size_t kMaxFactorRank = 256;
/// Sums over a column add every 32nd number, and then halves of these sums.
inline constexpr std::size_t kFactorLanes = 32;

/// Shapes: matrix is rows x columns, all factors are (rows or columns) x rank, all row-major.
struct MatrixShape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t rank = 0;
};

/// Whether the factors take fewer elements than a vector of `count` elements in rows of `columns`.
constexpr bool factorsPay(std::size_t count, std::size_t columns, std::size_t rank) {
  return columns != 0 && rank * (count / columns + columns) < count;
}

/// Rows of the matrix. Long computations are done in parts, the first rows first, with the same result however they are
/// cut.
struct RowRange {
  std::size_t first = 0;
  std::size_t end = 0;
};

/// out (rows x rank) = matrix * right (columns x rank).
void timesRight(const MatrixShape& shape, RowRange rows, const float* matrix, const float* right, float* out);
/// out (columns x rank) = matrix^T * left (rows x rank), complete after the last rows. `sums` has room for as much as
/// `out`, and the caller leaves it unchanged between parts.
void timesLeft(const MatrixShape& shape, RowRange rows, const float* matrix, const float* left, float* sums,
               float* out);
/// out (rows x columns) = left * right^T.
void product(const MatrixShape& shape, RowRange rows, const float* left, const float* right, float* out);
/// to = to - left * right^T; elements that are not finite become 0.
void subtractProduct(const MatrixShape& shape, RowRange rows, const float* left, const float* right, float* to);
/// Gram-Schmidt on the columns of factor (rows x rank), in double: orthonormalizes `column` against the columns before
/// it. A column that depends on them becomes zero.
void orthonormalize(std::span<float> factor, std::size_t rank, std::size_t column);
/// Numbers in (-1, 1), the same on all ranks.
void fillShared(std::span<float> factor, const SharedStream& stream);

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_POWERSGD_FACTORS_H_
