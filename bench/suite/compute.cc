#include "bench/suite/compute.h"

#include <algorithm>
#include <array>

#include "bench/suite/clock.h"

namespace goss::bench {

namespace {

/// Some tens of nanoseconds of arithmetic that the compiler cannot leave out.
void unit() {
  std::array<float, 64> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = values[i] * 1.0001f + static_cast<float>(i);
  }
  asm volatile("" : : "r"(values.data()) : "memory");
}

double unitUs() {
  constexpr int kUnits = 20000;
  double best = 1e9;
  for (int sample = 0; sample < 3;
       ++sample) { // the best of three, because a disturbed calibration would lengthen every computation
    const double start = nowUs();
    for (int i = 0; i < kUnits; ++i) {
      unit();
    }
    best = std::min(best, (nowUs() - start) / kUnits);
  }
  return best;
}

} // namespace

Computation::Computation(double target_us) : units_(std::max(1L, static_cast<long>(target_us / unitUs()))) {}

double Computation::run(int tests, const std::function<void()>& test) const {
  double tested = 0;
  const long slice = units_ / (tests + 1);
  for (int part = 0; part <= tests; ++part) {
    const long end = part == tests ? units_ - slice * tests : slice;
    for (long i = 0; i < end; ++i) {
      unit();
    }
    if (part < tests) {
      const double start = nowUs();
      test();
      tested += nowUs() - start;
    }
  }
  return tested;
}

} // namespace goss::bench
