/// goss-bench compare: two files of --json beside each other.
#ifndef GOSS_BENCH_SUITE_COMPARE_H_
#define GOSS_BENCH_SUITE_COMPARE_H_

namespace goss::bench {

/// Runs the command with its own arguments. Returns the exit status of the program.
int runCompare(int argc, char** argv);

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_COMPARE_H_
