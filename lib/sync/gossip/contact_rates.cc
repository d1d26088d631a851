#include "sync/gossip/contact_rates.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/split_mix.h"

namespace goss::sync {

ContactRates::ContactRates(int ranks) : ranks_(static_cast<std::size_t>(ranks)), laplacian_(ranks_ * ranks_) {}

void ContactRates::add(int a, int b, double rate) {
  const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
  laplacian_[i * ranks_ + i] += rate;
  laplacian_[j * ranks_ + j] += rate;
  laplacian_[i * ranks_ + j] -= rate;
  laplacian_[j * ranks_ + i] -= rate;
}

/// Gauss and Jordan without pivoting, which a positive definite matrix does not need. False: it is singular.
bool ContactRates::invert(std::vector<double>& matrix) const {
  constexpr double kSingular = 1e-12;
  for (std::size_t k = 0; k < ranks_; ++k) {
    const double pivot = at(matrix, k, k);
    if (!(pivot > kSingular)) return false;
    matrix[k * ranks_ + k] = 1;
    for (std::size_t j = 0; j < ranks_; ++j)
      matrix[k * ranks_ + j] /= pivot;
    for (std::size_t i = 0; i < ranks_; ++i) {
      if (i == k) continue;
      const double factor = at(matrix, i, k);
      matrix[i * ranks_ + k] = 0;
      for (std::size_t j = 0; j < ranks_; ++j)
        matrix[i * ranks_ + j] -= factor * at(matrix, k, j);
    }
  }
  return true;
}

std::optional<ContactRates::Times> ContactRates::times() const {
  if (ranks_ < 2) return std::nullopt;
  const double share = 1.0 / static_cast<double>(ranks_);
  // L + J, J the projection on equal vectors, has the inverse L^+ + J.
  std::vector<double> inverse = laplacian_;
  for (double& value : inverse)
    value += share;
  if (!invert(inverse)) return std::nullopt;
  Times times;
  for (std::size_t i = 0; i < ranks_; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (at(laplacian_, i, j) == 0) continue;
      const double resistance = at(inverse, i, i) + at(inverse, j, j) - 2 * at(inverse, i, j);
      times.between_partners = std::max(times.between_partners, resistance / 2);
    }
  }
  // Power iteration on L^+.
  base::SplitMix64 random(1);
  std::vector<double> x(ranks_), next(ranks_);
  for (double& value : x)
    value = random.unit() - 0.5;
  constexpr int kIterations = 200;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    double squares = 0;
    for (std::size_t i = 0; i < ranks_; ++i) {
      next[i] = 0;
      for (std::size_t j = 0; j < ranks_; ++j)
        next[i] += (at(inverse, i, j) - share) * x[j];
      squares += next[i] * next[i];
    }
    times.slowest = std::sqrt(squares);
    for (std::size_t i = 0; i < ranks_; ++i)
      x[i] = next[i] / times.slowest;
  }
  return times;
}

} // namespace goss::sync
