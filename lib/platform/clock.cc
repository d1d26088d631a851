#include "platform/clock.h"

#include <time.h>

namespace goss::platform {

Clock::time_point roughNow() {
  timespec now{};
  if (::clock_gettime(CLOCK_MONOTONIC_COARSE, &now) != 0) return Clock::now();
  return Clock::time_point(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

} // namespace goss::platform
