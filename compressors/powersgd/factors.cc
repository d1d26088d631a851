#include "compressors/powersgd/factors.h"

#include <algorithm>
#include <cmath>

#include "compressors/powersgd/element.h"
#include "kernels/philox.h"

namespace goss::compressors {

namespace {

/// sum over k of left[k] * right[k].
float dot(const float* left, const float* right, std::size_t count) {
  float sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    sum += left[k] * right[k];
  }
  return sum;
}

double columnDot(std::span<const float> factor, std::size_t rank, std::size_t a, std::size_t b) {
  double sums[kFactorLanes] = {};
  const std::size_t rows = factor.size() / rank;
  for (std::size_t i = 0; i < rows; ++i) {
    sums[i % kFactorLanes] += static_cast<double>(factor[i * rank + a]) * static_cast<double>(factor[i * rank + b]);
  }
  for (std::size_t half = kFactorLanes / 2; half != 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) {
      sums[lane] += sums[lane + half];
    }
  }
  return sums[0];
}

void addTo(float* __restrict to, const float* __restrict from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] += from[i];
  }
}

/// to += value * from.
void addProduct(float* __restrict to, float value, const float* __restrict from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] += value * from[i];
  }
}

} // namespace

void timesRight(const MatrixShape& shape, RowRange rows, const float* matrix, const float* right, float* out) {
  std::fill_n(out + rows.first * shape.rank, (rows.end - rows.first) * shape.rank, 0.0f);
  for (std::size_t i = rows.first; i < rows.end; ++i) {
    for (std::size_t first = 0; first < shape.columns; first += kFactorSlab) {
      float sums[kMaxFactorRank] = {};
      for (std::size_t j = first; j < std::min(shape.columns, first + kFactorSlab); ++j) {
        addProduct(sums, matrix[i * shape.columns + j], right + j * shape.rank, shape.rank);
      }
      addTo(out + i * shape.rank, sums, shape.rank);
    }
  }
}

// NOLINTNEXTLINE(readability-function-size): what it adds up from part to part comes from outside
void timesLeft(const MatrixShape& shape, RowRange rows, const float* matrix, const float* left, float* sums,
               float* out) {
  const std::size_t size = shape.columns * shape.rank;
  if (rows.first == 0) std::fill_n(out, size, 0.0f);
  for (std::size_t i = rows.first; i < rows.end; ++i) {
    if (i % kFactorSlab == 0) std::fill_n(sums, size, 0.0f);
    for (std::size_t j = 0; j < shape.columns; ++j) {
      addProduct(sums + j * shape.rank, matrix[i * shape.columns + j], left + i * shape.rank, shape.rank);
    }
    if ((i + 1) % kFactorSlab == 0 || i + 1 == shape.rows) addTo(out, sums, size);
  }
}

void product(const MatrixShape& shape, RowRange rows, const float* left, const float* right, float* out) {
  for (std::size_t i = rows.first; i < rows.end; ++i) {
    for (std::size_t j = 0; j < shape.columns; ++j) {
      out[i * shape.columns + j] = dot(left + i * shape.rank, right + j * shape.rank, shape.rank);
    }
  }
}

void subtractProduct(const MatrixShape& shape, RowRange rows, const float* left, const float* right, float* to) {
  for (std::size_t i = rows.first; i < rows.end; ++i) {
    for (std::size_t j = 0; j < shape.columns; ++j) {
      float& value = to[i * shape.columns + j];
      value -= dot(left + i * shape.rank, right + j * shape.rank, shape.rank);
      value = std::isfinite(value) ? value : 0.0f;
    }
  }
}

void orthonormalize(std::span<float> factor, std::size_t rank, std::size_t column) {
  const double before = columnDot(factor, rank, column, column);
  for (std::size_t other = 0; other < column; ++other) {
    const double along = columnDot(factor, rank, column, other);
    for (std::size_t i = 0; i < factor.size(); i += rank) {
      factor[i + column] = static_cast<float>(factor[i + column] - along * factor[i + other]);
    }
  }
  const double after = columnDot(factor, rank, column, column);
  // Only rounding errors are left of a dependent column.
  const double inverse = factorInverse(before, after);
  for (std::size_t i = 0; i < factor.size(); i += rank) {
    factor[i + column] = static_cast<float>(factor[i + column] * inverse);
  }
}

void fillShared(std::span<float> factor, const SharedStream& stream) {
  for (std::size_t i = 0; i < factor.size(); ++i) {
    factor[i] = factorDraw(kernels::philox(stream.key(), i).word0);
  }
}

} // namespace goss::compressors
