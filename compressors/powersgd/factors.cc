#include "compressors/powersgd/factors.h"

#include <algorithm>
#include <cmath>

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
  double sum = 0;
  for (std::size_t i = 0; i < factor.size(); i += rank) {
    sum += static_cast<double>(factor[i + a]) * static_cast<double>(factor[i + b]);
  }
  return sum;
}

} // namespace

void timesRight(const MatrixShape& shape, const float* matrix, const float* right, float* out) {
  std::fill_n(out, shape.rows * shape.rank, 0.0f);
  for (std::size_t i = 0; i < shape.rows; ++i) {
    float* __restrict to = out + i * shape.rank;
    for (std::size_t j = 0; j < shape.columns; ++j) {
      const float value = matrix[i * shape.columns + j];
      const float* __restrict from = right + j * shape.rank;
      for (std::size_t k = 0; k < shape.rank; ++k) {
        to[k] += value * from[k];
      }
    }
  }
}

void timesLeft(const MatrixShape& shape, const float* matrix, const float* left, float* out) {
  std::fill_n(out, shape.columns * shape.rank, 0.0f);
  for (std::size_t i = 0; i < shape.rows; ++i) {
    const float* __restrict from = left + i * shape.rank;
    for (std::size_t j = 0; j < shape.columns; ++j) {
      const float value = matrix[i * shape.columns + j];
      float* __restrict to = out + j * shape.rank;
      for (std::size_t k = 0; k < shape.rank; ++k) {
        to[k] += value * from[k];
      }
    }
  }
}

void product(const MatrixShape& shape, const float* left, const float* right, float* out) {
  for (std::size_t i = 0; i < shape.rows; ++i) {
    for (std::size_t j = 0; j < shape.columns; ++j) {
      out[i * shape.columns + j] = dot(left + i * shape.rank, right + j * shape.rank, shape.rank);
    }
  }
}

void subtractProduct(const MatrixShape& shape, const float* left, const float* right, float* to) {
  for (std::size_t i = 0; i < shape.rows; ++i) {
    for (std::size_t j = 0; j < shape.columns; ++j) {
      float& value = to[i * shape.columns + j];
      value -= dot(left + i * shape.rank, right + j * shape.rank, shape.rank);
      value = std::isfinite(value) ? value : 0.0f;
    }
  }
}

void orthonormalize(std::span<float> factor, std::size_t rank) {
  for (std::size_t column = 0; column < rank; ++column) {
    const double before = columnDot(factor, rank, column, column);
    for (std::size_t other = 0; other < column; ++other) {
      const double along = columnDot(factor, rank, column, other);
      for (std::size_t i = 0; i < factor.size(); i += rank) {
        factor[i + column] = static_cast<float>(factor[i + column] - along * factor[i + other]);
      }
    }
    const double after = columnDot(factor, rank, column, column);
    // What is left of a dependent column is rounding.
    const double inverse = after > before * 1e-10 ? 1 / std::sqrt(after) : 0;
    for (std::size_t i = 0; i < factor.size(); i += rank) {
      factor[i + column] = static_cast<float>(factor[i + column] * inverse);
    }
  }
}

void fillShared(std::span<float> factor, const SharedStream& stream) {
  for (std::size_t i = 0; i < factor.size(); ++i) {
    const std::uint32_t bits = kernels::philox(stream.key(), i).word0 >> 8; // 24 bits: exact in float32
    factor[i] = (static_cast<float>(bits) + 0.5f) * (1.0f / 8388608.0f) - 1.0f;
  }
}

} // namespace goss::compressors
