/// Brings the ranks up, as processes of a launcher or as threads, and runs the benchmark on each.
#ifndef GOSS_BENCH_SUITE_WORLD_H_
#define GOSS_BENCH_SUITE_WORLD_H_

#include "bench/suite/options.h"

namespace goss::bench {

/// Returns the exit status of the process: 0, or 1 when an operation failed, an option was wrong, or -c found wrong
/// elements. What went wrong is written to standard error. Blocks until every rank of this process has ended.
int runWorld(const Options& options);

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_WORLD_H_
