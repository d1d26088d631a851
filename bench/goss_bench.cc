/// goss-bench: latency and bandwidth of Gossamer's operations, by the conventions of the OSU micro-benchmarks and
/// nccl-tests. docs/benchmarks.md describes options and output.
#include <string_view>
#include <vector>

#include "bench/limits/codec_bench.h"
#include "bench/suite/compare.h"
#include "bench/suite/families.h"
#include "bench/suite/gossip.h"
#include "bench/suite/options.h"
#include "bench/suite/world.h"

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "codec") return goss::bench::runCodecBench(argc - 1, argv + 1);
  if (command == "gossip") return goss::bench::runGossip(argc - 1, argv + 1);
  if (command == "compare") return goss::bench::runCompare(argc - 1, argv + 1);
  std::vector<goss::bench::Options> runs;
  const int status = goss::bench::parseOptions(argc, argv, goss::bench::benchmarkNames(), runs);
  return status >= 0 ? status : goss::bench::runWorld(runs);
}
