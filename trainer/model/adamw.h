/// AdamW (Loshchilov and Hutter 2019) over the flat parameter vector.
#ifndef GOSS_TRAINER_MODEL_ADAMW_H_
#define GOSS_TRAINER_MODEL_ADAMW_H_

#include <cstddef>

#include "trainer/compute/buffer.h"
#include "trainer/compute/ops.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

struct AdamwConfig {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1; // on matrices only
};

class Adamw {
 public:
  /// `table` and `ops` must outlive the optimiser. Moments start at zero.
  Adamw(const AdamwConfig& config, const ParameterTable& table, Ops& ops);

  /// Update number `step`, counted from 0, of parameters[table.count()] with grad_scale * gradient[table.count()].
  void update(std::size_t step, double lr, float* parameters, const float* gradient, double grad_scale);

  /// Plain gradient descent with the same weight decay: p = p * (1 - lr * decay) - lr * gradient.
  void descend(double lr, float* parameters, const float* gradient);

  Buffer<float>& firstMoments() { return first_; }
  Buffer<float>& secondMoments() { return second_; }

 private:
  AdamwConfig config_;
  const ParameterTable& table_;
  Ops& ops_;
  Buffer<float> first_;  // [table.count()]
  Buffer<float> second_; // [table.count()]
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_ADAMW_H_
