/// The clock that benchmarks measure with.
#ifndef GOSS_BENCH_SUITE_CLOCK_H_
#define GOSS_BENCH_SUITE_CLOCK_H_

#include <chrono>

namespace goss::bench {

/// Microseconds since some moment that is the same for all threads of this process.
inline double nowUs() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_CLOCK_H_
