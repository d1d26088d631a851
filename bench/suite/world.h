/// Brings the ranks up, as processes of a launcher or as threads, and runs the benchmark on each.
#ifndef GOSS_BENCH_SUITE_WORLD_H_
#define GOSS_BENCH_SUITE_WORLD_H_

#include <functional>
#include <vector>

#include "bench/suite/options.h"
#include "gossamer/gossamer.h"

namespace goss::bench {

/// Runs the benchmarks of `runs`, which differ by benchmark and element type, one after another. Skips the runs that
/// the library does not support when there are several, and reports each of them. Returns the exit status of the
/// process: 0, or 1 when an operation failed, an option was wrong, or -c found wrong elements. What went wrong is
/// written to standard error. Blocks until every rank of this process has ended.
int runWorld(const std::vector<Options>& runs);

/// Calls body(communicator) on every rank of this process: as many threads as options.threads says, or the one rank of
/// a launcher. The body destroys the communicator, and returns its rank's exit status. Blocks until every rank has
/// ended. Returns the process's exit status.
int onEveryRank(const Options& options, const std::function<int(goss_comm_t)>& body);

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_WORLD_H_
