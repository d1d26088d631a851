/// Sends the gradient to the other ranks in buckets, while the backward pass still computes the rest of it.
#ifndef GOSS_TRAINER_GRADIENT_BUCKETS_H_
#define GOSS_TRAINER_GRADIENT_BUCKETS_H_

#include <cstddef>
#include <vector>

#include "trainer/group.h"
#include "trainer/ops.h"

namespace goss::trainer {

/// The flat gradient is cut into buckets from its end, where the backward pass starts. A bucket's sum over the ranks
/// starts as soon as all of it is final (Li et al., PyTorch Distributed, VLDB 2020, section 3.2). Bucket borders depend
/// on the sizes alone, so all ranks start the same sums in the same order. Use per step: begin, ready(...) with falling
/// offsets down to 0, wait.
class GradientBuckets {
 public:
  /// For gradients of `count` elements in buckets of `bucket_bytes` (at least one element). Both references must
  /// outlive this.
  GradientBuckets(Group& group, Ops& ops, std::size_t count, std::size_t bucket_bytes);

  /// `gradient` is the backend's memory and stays lent until wait returns.
  void begin(float* gradient);
  /// Everything from `first_final` on is final.
  void ready(std::size_t first_final);
  /// Afterwards the gradient is the sum over the ranks, with the same bits on all of them.
  void wait();
  [[nodiscard]] std::size_t bucketCount() const;

 private:
  Group& group_;
  Ops& ops_;
  std::size_t count_;
  std::size_t bucket_elems_;
  std::size_t started_from_ = 0; // everything from here on has been started
  float* gradient_ = nullptr;
  std::vector<float> staging_; // [count] host copy, when the backend's memory is not the host's
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_GRADIENT_BUCKETS_H_
