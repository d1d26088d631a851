/// The computation beside which a non-blocking operation runs.
#ifndef GOSS_BENCH_SUITE_COMPUTE_H_
#define GOSS_BENCH_SUITE_COMPUTE_H_

#include <functional>

namespace goss::bench {

/// A fixed amount of arithmetic in the first-level cache. The amount is fixed, not the time: when the library uses the
/// processor meanwhile, the computation takes longer.
class Computation {
 public:
  /// Takes about `target_us` on this processor when undisturbed.
  explicit Computation(double target_us);
  /// Runs the computation, with `tests` calls of `test` spread over it; returns the microseconds spent in those.
  double run(int tests, const std::function<void()>& test) const;

 private:
  long units_;
};

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_COMPUTE_H_
