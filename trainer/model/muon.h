/// Muon (Jordan 2024): gradient descent with momentum whose direction is made orthogonal, for the matrices of blocks.
#ifndef GOSS_TRAINER_MODEL_MUON_H_
#define GOSS_TRAINER_MODEL_MUON_H_

#include <cstddef>
#include <vector>

#include "trainer/compute/buffer.h"
#include "trainer/compute/ops.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

/// The form of torch.optim.Muon with adjust_lr_fn="match_rms_adamw" (Liu et al. 2025, 2502.16982), so that one learning
/// rate serves AdamW's tensors too; but in float32. Of a gradient g:
///   m = momentum m + (1 - momentum) g;  u = momentum m + (1 - momentum) g;
///   p = p (1 - lr decay) - lr 0.2 sqrt(max(rows, columns)) orthogonal(u).
/// As the inner optimiser of `diloco` this is MuLoCo (Therien et al. 2025, 2505.23725). One thread.
class Muon {
 public:
  /// `ops` must outlive it. Workspace is allocated for the largest hidden matrix of `table`.
  Muon(double momentum, double weight_decay, const ParameterTable& table, Ops& ops);

  struct Tensors {
    float* p;       // [rows, columns]
    const float* g; // [rows, columns]
    float* m;       // [rows, columns] momentum
  };
  /// One update with grad_scale * g of a matrix that is no larger than the table's largest hidden one.
  void update(const std::vector<std::size_t>& shape, double lr, double grad_scale, const Tensors& t);

 private:
  const float* orthogonal(std::size_t rows, std::size_t columns);

  double momentum_;
  double weight_decay_;
  Ops& ops_;
  Buffer<float> direction_;  // [rows, columns] u, and every second iterate
  Buffer<float> other_;      // [rows, columns] the iterates between
  Buffer<float> gram_;       // [side, side], where side = min(rows, columns)
  Buffer<float> polynomial_; // [side, side]
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_MUON_H_
