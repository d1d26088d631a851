/// The norm of a gradient, tensor by tensor, so that ranks that hold different tensors get the bits of one that holds
/// all.
#ifndef GOSS_TRAINER_GRADIENT_NORM_H_
#define GOSS_TRAINER_GRADIENT_NORM_H_

#include <cmath>
#include <span>
#include <vector>

#include "trainer/ops.h"
#include "trainer/parameter_table.h"

namespace goss::trainer {

/// Of each tensor of `table`, in its order; gradient[table.count()] is the backend's memory.
inline std::vector<double> squaredNorms(Ops& ops, const ParameterTable& table, const float* gradient) {
  std::vector<double> squares;
  for (const Parameter& parameter : table.parameters())
    squares.push_back(ops.squaredNorm(gradient + parameter.offset, parameter.count));
  return squares;
}

/// `squares` in the order of the whole model's table.
inline double normOf(std::span<const double> squares) {
  double sum = 0;
  for (const double square : squares)
    sum += square;
  return std::sqrt(sum);
}

} // namespace goss::trainer

#endif // GOSS_TRAINER_GRADIENT_NORM_H_
