/// The norm of a gradient, tensor by tensor, so that ranks that hold different tensors get the bits of one that holds
/// all.
#ifndef GOSS_TRAINER_MODEL_GRADIENT_NORM_H_
#define GOSS_TRAINER_MODEL_GRADIENT_NORM_H_

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "trainer/base/error.h"
#include "trainer/compute/ops.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

/// The squared norm of each tensor of `table`, in its order; gradient[table.count()] is the backend's memory.
inline std::vector<double> squaredNorms(Ops& ops, const ParameterTable& table, const float* gradient) {
  std::vector<double> squares;
  for (const Parameter& parameter : table.parameters())
    squares.push_back(ops.squaredNorm(gradient + parameter.offset, parameter.count));
  return squares;
}

/// `squares` are in the order of the whole model's table.
inline double normOf(std::span<const double> squares) {
  double sum = 0;
  for (const double square : squares)
    sum += square;
  return std::sqrt(sum);
}

/// Throws Error when the norm of the gradient of step `step` (counted from 1) is infinite or not a number.
inline void requireFinite(double norm, std::size_t step) {
  if (!std::isfinite(norm))
    fail("the gradient is not finite in step {}: the run diverged; lower --lr or lengthen --warmup", step);
}

/// The factor that reduces a gradient of this norm to at most the norm `clip`; 0: no bound.
inline double clipFactor(double norm, double clip) {
  constexpr double kTiny = 1e-6;
  return clip > 0 ? std::min(1.0, clip / (norm + kTiny)) : 1.0;
}

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_GRADIENT_NORM_H_
