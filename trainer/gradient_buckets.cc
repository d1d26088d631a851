#include "trainer/gradient_buckets.h"

#include <algorithm>

namespace goss::trainer {

GradientBuckets::GradientBuckets(Group& group, Ops& ops, std::size_t count, std::size_t bucket_bytes)
    : group_(group),
      ops_(ops),
      count_(count),
      bucket_elems_(std::max<std::size_t>(1, bucket_bytes / sizeof(float))),
      staging_(ops.isHostMemory() ? 0 : count) {}

std::size_t GradientBuckets::bucketCount() const { return (count_ + bucket_elems_ - 1) / bucket_elems_; }

void GradientBuckets::begin(float* gradient) {
  gradient_ = gradient;
  started_from_ = count_;
}

void GradientBuckets::ready(std::size_t first_final) {
  while (started_from_ > 0) {
    const std::size_t elems = std::min(bucket_elems_, started_from_);
    const std::size_t first = started_from_ - elems;
    if (first < first_final) return;
    float* values = gradient_ + first;
    if (!staging_.empty()) {
      values = staging_.data() + first;
      ops_.download(values, gradient_ + first, elems * sizeof(float));
    }
    group_.startSum(values, elems);
    started_from_ = first;
  }
}

void GradientBuckets::wait() {
  group_.waitSums();
  if (!staging_.empty()) ops_.upload(gradient_, staging_.data(), count_ * sizeof(float));
}

} // namespace goss::trainer
