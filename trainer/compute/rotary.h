/// The angles of rotary positions.
#ifndef GOSS_TRAINER_COMPUTE_ROTARY_H_
#define GOSS_TRAINER_COMPUTE_ROTARY_H_

#include <cmath>
#include <cstddef>
#include <vector>

#include "trainer/compute/ops.h"

namespace goss::trainer {

/// Cosines and sines of t * 10000^(-2i/D), [T, D/2] each, kept for the shape that was asked for last.
class RotaryAngles {
 public:
  /// True when the tables were made anew.
  bool prepare(const AttentionShape& shape) {
    const std::size_t half = shape.channels / shape.heads / 2;
    if (half == half_ && cosines_.size() == shape.context * half) return false;
    half_ = half;
    cosines_.resize(shape.context * half);
    sines_.resize(cosines_.size());
    constexpr double kBase = 10000;
    for (std::size_t i = 0; i < cosines_.size(); ++i) {
      const double part = static_cast<double>(i % half) / static_cast<double>(half);
      const std::size_t position = i / half;
      const double angle = static_cast<double>(position) * std::pow(kBase, -part);
      cosines_[i] = static_cast<float>(std::cos(angle));
      sines_[i] = static_cast<float>(std::sin(angle));
    }
    return true;
  }
  [[nodiscard]] const std::vector<float>& cosines() const { return cosines_; }
  [[nodiscard]] const std::vector<float>& sines() const { return sines_; }

 private:
  std::size_t half_ = 0; // D / 2
  std::vector<float> cosines_;
  std::vector<float> sines_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_COMPUTE_ROTARY_H_
