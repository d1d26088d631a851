/// AdamW (Loshchilov and Hutter 2019) over the flat parameter vector, or Muon for the matrices of blocks.
#ifndef GOSS_TRAINER_MODEL_OPTIMIZER_H_
#define GOSS_TRAINER_MODEL_OPTIMIZER_H_

#include <cstddef>
#include <optional>

#include "trainer/compute/buffer.h"
#include "trainer/compute/ops.h"
#include "trainer/model/muon.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

struct OptimizerConfig {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1; // on matrices only
  bool has_muon = false;     // Muon updates the matrices of blocks; AdamW embeddings and vectors
  double muon_momentum = 0.95;
};

class Optimizer {
 public:
  /// `table` and `ops` must outlive the optimiser. Moments start at zero.
  Optimizer(const OptimizerConfig& config, const ParameterTable& table, Ops& ops);

  /// Update number `step`, counted from 0, of parameters[table.count()] with grad_scale * gradient[table.count()].
  void update(std::size_t step, double lr, float* parameters, const float* gradient, double grad_scale);

  /// Plain gradient descent with the same weight decay: p = p * (1 - lr * decay) - lr * gradient.
  void descend(double lr, float* parameters, const float* gradient);

  /// Muon's momentum is in the first moments; its second moments stay zero.
  Buffer<float>& firstMoments() { return first_; }
  Buffer<float>& secondMoments() { return second_; }

 private:
  OptimizerConfig config_;
  const ParameterTable& table_;
  Ops& ops_;
  Buffer<float> first_;  // [table.count()]
  Buffer<float> second_; // [table.count()]
  std::optional<Muon> muon_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_OPTIMIZER_H_
