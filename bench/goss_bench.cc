/// goss-bench: latency and bandwidth of Gossamer's operations, by the conventions of the OSU micro-benchmarks and
/// nccl-tests. docs/benchmarks.md describes options and output.
#include <string_view>

#include "bench/limits/codec_bench.h"
#include "bench/suite/families.h"
#include "bench/suite/options.h"
#include "bench/suite/world.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "codec") {
    return goss::bench::runCodecBench(argc - 1, argv + 1);
  }
  goss::bench::Options options;
  const int status = goss::bench::parseOptions(argc, argv, goss::bench::benchmarkNames(), options);
  return status >= 0 ? status : goss::bench::runWorld(options);
}
