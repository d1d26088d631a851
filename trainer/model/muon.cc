#include "trainer/model/muon.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace goss::trainer {

namespace {

constexpr int kIterations = 5;
/// Jordan's coefficients: not those that converge, but those that raise small singular values fastest; after five
/// iterations all that were not tiny lie between 0.68 and 1.14.
constexpr float kLinear = 3.4445f;
constexpr float kCubic = -4.7750f;
constexpr float kQuintic = 2.0315f;
constexpr double kMinNorm = 1e-7;
/// The root mean square of AdamW's usual updates.
constexpr double kAdamwRms = 0.2;

/// Elements of the largest hidden matrix, or of its smaller side's square.
std::size_t maxElems(const ParameterTable& table, bool is_square) {
  std::size_t most = 0;
  for (const Parameter& p : table.parameters()) {
    if (!p.isHidden()) continue;
    const std::size_t side = std::min(p.shape[0], p.shape[1]);
    most = std::max(most, is_square ? side * side : p.count);
  }
  return most;
}

} // namespace

Muon::Muon(double momentum, double weight_decay, const ParameterTable& table, Ops& ops)
    : momentum_(momentum),
      weight_decay_(weight_decay),
      ops_(ops),
      direction_(ops, maxElems(table, false)),
      other_(ops, maxElems(table, false)),
      gram_(ops, maxElems(table, true)),
      polynomial_(ops, maxElems(table, true)) {}

void Muon::update(const std::vector<std::size_t>& shape, double lr, double grad_scale, const Tensors& t) {
  const std::size_t rows = shape[0], columns = shape[1], count = rows * columns;
  const auto keep = static_cast<float>(momentum_);
  const auto fresh = static_cast<float>((1.0 - momentum_) * grad_scale);
  ops_.scale(keep, t.m, count);
  ops_.axpy(fresh, t.g, t.m, count);
  float* u = direction_.data();
  ops_.copy(u, t.m, count);
  ops_.scale(keep, u, count);
  ops_.axpy(fresh, t.g, u, count);
  const float* step = orthogonal(rows, columns);
  const double rate = lr * kAdamwRms * std::sqrt(static_cast<double>(std::max(rows, columns)));
  ops_.scale(static_cast<float>(1.0 - lr * weight_decay_), t.p, count);
  ops_.axpy(static_cast<float>(-rate), step, t.p, count);
}

/// Newton and Schulz's iteration on direction_, whose singular values it brings near 1: X = a X + (b A + c A^2) X with
/// A = X X^T, or the same from the other side where that makes A smaller.
const float* Muon::orthogonal(std::size_t rows, std::size_t columns) {
  const bool is_wide = rows <= columns;
  const std::size_t side = std::min(rows, columns), count = rows * columns;
  float* x = direction_.data();
  float* next = other_.data();
  float* gram = gram_.data();
  float* polynomial = polynomial_.data();
  ops_.scale(static_cast<float>(1.0 / std::max(std::sqrt(ops_.squaredNorm(x, count)), kMinNorm)), x, count);
  for (int i = 0; i < kIterations; ++i) {
    ops_.gemm({.trans_a = !is_wide, .trans_b = is_wide, .m = side, .n = side, .k = std::max(rows, columns)}, x, x,
              gram);
    ops_.copy(polynomial, gram, side * side);
    ops_.gemm({.m = side, .n = side, .k = side, .alpha = kQuintic, .beta = kCubic}, gram, gram, polynomial);
    ops_.copy(next, x, count);
    ops_.gemm({.m = rows, .n = columns, .k = side, .beta = kLinear}, is_wide ? polynomial : x, is_wide ? x : polynomial,
              next);
    std::swap(x, next);
  }
  return x;
}

} // namespace goss::trainer
