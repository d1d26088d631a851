/// A moment at which all ranks begin, whatever their clocks show.
#ifndef GOSS_BENCH_SUITE_COMMON_START_H_
#define GOSS_BENCH_SUITE_COMMON_START_H_

#include "bench/suite/goss_engine.h"

namespace goss::bench {

/// Ranks leave a barrier one after another, on WAN links up to a delay apart, and the first waits for the others inside
/// the call that is to be measured. Here every rank begins at the same moment of rank 0's clock, as exactly as the
/// shortest of some round trips shows the difference between clocks.
class CommonStart {
 public:
  /// Collective.
  explicit CommonStart(GossEngine& engine);
  /// Collective: agrees on a moment in the future of all ranks, sleeps until then, and returns it as this rank's
  /// nowUs().
  double await();

 private:
  double agree();

  GossEngine& engine_;
  double ahead_us_ = 0; ///< Rank 0's clock minus this rank's.
  double took_us_ = 0;  ///< Duration of the last agreement.
};

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_COMMON_START_H_
