#include "sync/timetable.h"

#include <algorithm>
#include <cmath>

namespace goss::sync {

void Timetable::advance(double lr) {
  if (timing_.growth > 0 && step_ >= next_) { // a period ended: the next one is fixed before its first step is counted
    next_ = step_ + periodAt(lr);
    if (timing_.total > step_) {
      next_ = std::min(next_, timing_.total);
    }
  }
  ++step_;
}

bool Timetable::isDue(std::uint64_t step, std::uint64_t fragment) const {
  if (timing_.growth > 0) {
    return step == next_;
  }
  const std::uint64_t offset = (fragment + 1) * (timing_.period / fragments_);
  return step % timing_.period == offset % timing_.period;
}

std::uint64_t Timetable::periodAt(double lr) const {
  constexpr double kMaxSteps = 1e15;
  if (step_ < timing_.warmup) {
    return timing_.first_period > 0 ? timing_.first_period : timing_.period;
  }
  if (lr == 0) return timing_.period;
  const double ratio = timing_.growth / lr;
  return std::max(timing_.period, static_cast<std::uint64_t>(std::min(kMaxSteps, std::floor(ratio * ratio))));
}

} // namespace goss::sync
