/// The benchmarks by name. A family is a measuring loop; its members differ by a row in a table.
#ifndef GOSS_BENCH_SUITE_FAMILIES_H_
#define GOSS_BENCH_SUITE_FAMILIES_H_

#include <string>
#include <vector>

#include "bench/suite/options.h"

namespace goss::bench {

struct Rank;

/// Every benchmark's name.
BenchmarkNames benchmarkNames();

/// Collective: runs options.benchmark on this rank and reports on rank 0. Throws std::invalid_argument (a wrong option)
/// or std::runtime_error (an operation failed).
void runBenchmark(Rank& rank);

/// The families. Each returns whether `options.benchmark` is one of its members; if so, it has run the benchmark.
bool runCollective(Rank& rank);
bool runPointToPoint(Rank& rank);
std::vector<std::string> collectiveNames();
std::vector<std::string> pointToPointNames();

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_FAMILIES_H_
