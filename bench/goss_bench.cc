/// goss-bench: latency and bandwidth of Gossamer's operations, by the conventions of the OSU micro-benchmarks and
/// nccl-tests. docs/benchmarks.md describes options and output.
#include "bench/suite/options.h"
#include "bench/suite/world.h"

int main(int argc, char** argv) {
  goss::bench::Options options;
  const int status = goss::bench::parseOptions(argc, argv, options);
  return status >= 0 ? status : goss::bench::runWorld(options);
}
