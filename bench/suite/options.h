/// The options of goss-bench.
#ifndef GOSS_BENCH_SUITE_OPTIONS_H_
#define GOSS_BENCH_SUITE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/suite/report.h"
#include "gossamer/gossamer.h"

namespace goss::bench {

enum class Mode { blocking, nonblocking, persistent };

/// From one message size to the next.
struct SizeStep {
  int factor = 2;
  std::size_t bytes = 0; ///< > 0: added, and the factor is not used.
};

/// Defaults marked "OSU" are those of the OSU micro-benchmarks 7.4.
struct Options {
  std::string benchmark;
  std::string sizes; ///< -m [MIN:]MAX or MIN:, in bytes; "" is the benchmark's own range.
  SizeStep step;
  int iterations = 0;      ///< 0: OSU's number, by size.
  int warmup = -1;         ///< 0 or more; -1: OSU's number, by size.
  double time_limit_s = 0; ///< Limit per size; 0: none.
  bool full = false;       ///< Prints min, max and iterations too.
  bool tails = false;      ///< Prints the percentiles of the calls' times too.
  bool validate = false;
  int validation_rounds = 3;
  bool busbw = false; ///< Prints nccl-tests' columns.
  bool in_place = false;
  Mode mode = Mode::blocking;
  int overlap = 0;       ///< > 0: a call is started before the one that many calls earlier has been waited for.
  bool together = false; ///< Calls begin at a moment on which the ranks agree.
  int test_calls = 0;    ///< Calls of goss_test during the computation (non-blocking mode).
  int root = 0;
  int window = 64;                                 ///< Messages in flight in bandwidth tests.
  std::size_t memory_limit = std::size_t{1} << 30; ///< Bytes of one buffer of a rank; larger sizes are left out.
  std::string memory = "ordinary";                 ///< "ordinary", or "registered": goss_mem_alloc.
  std::string device;                              ///< "cuda": buffers lie in memory of GPUs; "": of the host.
  std::string dtype = "float32";
  std::string op = "sum";
  ReportFiles files;
  std::string compare; ///< "", "mpi" or "gloo": the library to compare with.
  int rounds = 5;      ///< Alternating rounds of a comparison.
  int threads = 0;     ///< > 0: ranks are threads of this process.
  std::string transport;
  std::string algorithm;
  std::string codec; ///< Codec of Gossamer's collectives, beside the same ones uncompressed.
};

/// What the words "all" stand for and which benchmarks exist.
struct BenchmarkNames {
  std::vector<std::string> collectives;
  std::vector<std::string> messages;
};

/// Parses the command line. `runs` gets the options of every benchmark and element type that it names, in order; a
/// benchmark of messages has one run. Returns -1, or the exit status with which the program should end now (help, wrong
/// usage).
int parseOptions(int argc, char** argv, const BenchmarkNames& names, std::vector<Options>& runs);

/// Message sizes in bytes, from the first to the last by steps. Throws std::invalid_argument.
std::vector<std::size_t> messageSizes(const std::string& text, std::size_t smallest, std::size_t largest,
                                      SizeStep step = {});

/// Both accept OSU's names (mpi_float), short ones (f32) and the header's (float32). Throw std::invalid_argument naming
/// the word and what is known.
goss_dtype dtypeNamed(const std::string& name);
goss_op opNamed(const std::string& name);
const char* dtypeName(goss_dtype dtype);
const char* opName(goss_op op);

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_OPTIONS_H_
