/// How far the losses of two runs may drift apart when only the order differs in which the gradients are added.
#ifndef GOSS_TESTS_TRAINER_TRAJECTORY_BOUND_H_
#define GOSS_TESTS_TRAINER_TRAJECTORY_BOUND_H_

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "tests/trainer/small_run.h"

namespace goss::trainer {

/// A lone replica whose gradients are wrong by as much as another order of addition can make them, with random signs.
class RoundingReplicas : public SoloReplicas {
 public:
  RoundingReplicas(std::size_t terms, std::uint64_t seed)
      : SoloReplicas("rounding"), terms_(static_cast<float>(terms)), seed_(seed) {}

  std::string start(std::span<const ReplicaTensor> tensors, const SavedSync&) override {
    gradient_ = tensors.front().gradient; // the tensors lie side by side
    count_ = static_cast<std::size_t>(tensors.back().gradient + tensors.back().count - gradient_);
    return "";
  }
  void gradients() override {
    constexpr std::size_t kTogether = 2621; // elements of about the same size
    for (std::size_t first = 0; first < count_; first += kTogether)
      spoil(gradient_ + first, std::min(kTogether, count_ - first));
  }

 private:
  void spoil(float* values, std::size_t count) {
    float largest = 0;
    for (std::size_t i = 0; i < count; ++i)
      largest = std::max(largest, std::abs(values[i]));
    const float noise = 2.0f * (terms_ + 1.0f) * 0x1p-24f * largest;
    for (std::size_t i = 0; i < count; ++i)
      values[i] += randomBits(seed_, RandomStream::sampling, calls_, i) % 2 == 0 ? noise : -noise;
    ++calls_;
  }

  float* gradient_ = nullptr;
  std::size_t count_ = 0;
  float terms_;
  std::uint64_t seed_;
  std::uint64_t calls_ = 0;
};

class RoundingGroup : public SoloGroup {
 public:
  RoundingGroup(std::size_t terms, std::uint64_t seed) : terms_(terms), seed_(seed) {}
  std::shared_ptr<Replicas> synchronize(const std::string&) override {
    return std::make_shared<RoundingReplicas>(terms_, seed_);
  }

 private:
  std::size_t terms_;
  std::uint64_t seed_;
};

/// For each step, an allowed absolute difference of the losses.
///
/// Derivation. An element of the gradient is a sum of B terms, one a sample. A sum of B floats in any order is within
/// (B - 1) u sum|t_i| of the exact one, u = 2^-24, so two orders differ by at most 2 (B - 1) u sum|t_i|. The terms
/// carry the factor 1 / B already; sum|t_i| is taken to be at most the largest of some thousand elements around it,
/// which is generous for all but the few largest. (The mean's division, and the factor of the number of ranks before
/// it, round once more each where that number is no power of two: of the same size as one addition.) What such a
/// difference becomes after some steps of AdamW, which divides by the gradient's own size, has no useful closed form;
/// so the run itself carries it: three runs take the full error with random signs in every element of every step, where
/// real orders err by a small part of it. The bound is twice the largest drift up to that step, for three draws are not
/// all draws. The first step has equal parameters and therefore equal losses.
inline std::vector<double> trajectoryBound(const TrainOptions& options, const Dataset& data) {
  SoloGroup solo;
  const std::vector<double> plain = runOn(solo, options, data).losses;
  std::vector<double> bound(plain.size(), 0.0);
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    RoundingGroup rounding(options.batch, seed);
    const std::vector<double> rounded = runOn(rounding, options, data).losses;
    double drift = 0;
    for (std::size_t step = 0; step < bound.size(); ++step) {
      drift = std::max(drift, std::abs(rounded[step] - plain[step]));
      bound[step] = std::max(bound[step], 2.0 * drift);
    }
  }
  return bound;
}

} // namespace goss::trainer

#endif // GOSS_TESTS_TRAINER_TRAJECTORY_BOUND_H_
