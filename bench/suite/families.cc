#include "bench/suite/families.h"

#include <fmt/format.h>

#include <stdexcept>

#include "bench/suite/runner.h"

namespace goss::bench {

BenchmarkNames benchmarkNames() { return {collectiveNames(), pointToPointNames()}; }

void runBenchmark(Rank& rank) {
  const Options& options = rank.options;
  if (options.root >= rank.goss.size()) {
    throw std::invalid_argument(
        fmt::format("--root-rank {} is not below the number of ranks, {}", options.root, rank.goss.size()));
  }
  const char* mode = options.mode == Mode::nonblocking  ? "nonblocking"
                     : options.mode == Mode::persistent ? "persistent"
                                                        : "blocking";
  rank.report.setContext({{"", "bench", options.benchmark},
                          {"", "mode", std::string(mode)},
                          {"", "calls_overlap", static_cast<std::uint64_t>(options.overlap)},
                          {"", "ranks", static_cast<std::uint64_t>(rank.goss.size())},
                          {"", "transport", rank.goss.transport()},
                          {"", "memory", options.device.empty() ? options.memory : options.device},
                          {"", "dtype", std::string(dtypeName(dtypeNamed(options.dtype)))},
                          {"", "op", std::string(opName(opNamed(options.op)))}});
  if (!runCollective(rank) && !runPointToPoint(rank)) {
    throw std::invalid_argument(fmt::format("unknown benchmark '{}'; see --help", options.benchmark));
  }
}

} // namespace goss::bench
