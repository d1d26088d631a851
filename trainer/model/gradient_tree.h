/// Sums the gradients of a rank's micro-batches in a fixed binary tree.
#ifndef GOSS_TRAINER_MODEL_GRADIENT_TREE_H_
#define GOSS_TRAINER_MODEL_GRADIENT_TREE_H_

#include <cstddef>
#include <vector>

#include "trainer/compute/buffer.h"
#include "trainer/compute/ops.h"

namespace goss::trainer {

/// Micro-batches are added like the carries of a binary counter: ((0+1)+(2+3))+((4+5)+(6+7)), pairwise by local number.
/// A rank that holds an aligned half or quarter of the global batch therefore computes exactly one subtree of what a
/// single rank would compute, and the sum over ranks gives the same bits as one rank whenever the all-reduce adds in
/// tree order (always for two ranks, since addition commutes). A running sum would be different bits for every number
/// of ranks. The tree costs one buffer for each level and about 1% of the time of a step.
///
/// Use per step: for each micro-batch k = 0 .. count-1: write its gradient to target(); then add() unless it is the
/// last. For the last, finish(first, last) for every range of the gradient as it becomes final; then target() holds the
/// total.
class GradientTree {
 public:
  /// Sums gradients of `count` elements from up to `max_micro_batches` micro-batches. `ops` must outlive the tree.
  GradientTree(Ops& ops, std::size_t count, std::size_t max_micro_batches);

  /// Forgets the previous step.
  void reset();
  float* target() { return levels_.front().data(); }
  void add();
  void finish(std::size_t first, std::size_t last);

 private:
  Ops& ops_;
  std::size_t count_;
  std::size_t added_ = 0;             // micro-batches since reset
  std::vector<Buffer<float>> levels_; // [0] is the target; [1 + i] holds a subtree of 2^i when bit i of added_ is set
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_GRADIENT_TREE_H_
