/// Learning rate over the steps of a run: linear warm-up, then half a cosine.
#ifndef GOSS_TRAINER_MODEL_LR_SCHEDULE_H_
#define GOSS_TRAINER_MODEL_LR_SCHEDULE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace goss::trainer {

struct LrSchedule {
  double peak = 1e-3;
  double floor = 1e-4; // reached at the last step
  std::size_t warmup_steps = 0;
  std::size_t total_steps = 1;

  /// `step` counts from 0. Step w of the warm-up has (w + 1) / warmup_steps of the peak.
  [[nodiscard]] double at(std::size_t step) const {
    if (step < warmup_steps) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
    const std::size_t span = total_steps > warmup_steps + 1 ? total_steps - warmup_steps - 1 : 1;
    const double done = std::min(1.0, static_cast<double>(step - warmup_steps) / static_cast<double>(span));
    return floor + 0.5 * (peak - floor) * (1.0 + std::cos(std::numbers::pi * done));
  }
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_LR_SCHEDULE_H_
