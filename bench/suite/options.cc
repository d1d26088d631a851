#include "bench/suite/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

#include "tools/commandline/command_line.h"

namespace goss::bench {

namespace {

struct Name {
  const char* name; ///< As printed; an entry's value is its position.
  const char* brief;
  const char* osu;
};

constexpr std::array<Name, GOSS_DTYPE_COUNT> kDtypes = {{{"int8", "i8", "mpi_char"},
                                                         {"uint8", "u8", "mpi_unsigned_char"},
                                                         {"int32", "i32", "mpi_int"},
                                                         {"uint32", "u32", "mpi_unsigned"},
                                                         {"int64", "i64", "mpi_long"},
                                                         {"uint64", "u64", "mpi_unsigned_long"},
                                                         {"float16", "f16", "half"},
                                                         {"bfloat16", "bf16", "bfloat"},
                                                         {"float32", "f32", "mpi_float"},
                                                         {"float64", "f64", "mpi_double"},
                                                         {"float8_e4m3", "e4m3", "fp8_e4m3"},
                                                         {"float8_e5m2", "e5m2", "fp8_e5m2"},
                                                         {"bool", "bool", "mpi_c_bool"}}};
constexpr std::array<Name, GOSS_OP_COUNT> kOps = {{{"sum", "sum", "mpi_sum"},
                                                   {"prod", "prod", "mpi_prod"},
                                                   {"min", "min", "mpi_min"},
                                                   {"max", "max", "mpi_max"},
                                                   {"avg", "avg", "average"},
                                                   {"premul_sum", "premul", "mulsum"},
                                                   {"band", "band", "mpi_band"},
                                                   {"bor", "bor", "mpi_bor"},
                                                   {"bxor", "bxor", "mpi_bxor"},
                                                   {"land", "land", "mpi_land"},
                                                   {"lor", "lor", "mpi_lor"},
                                                   {"lxor", "lxor", "mpi_lxor"}}};

template <std::size_t kSize>
std::size_t find(const std::array<Name, kSize>& names, const std::string& name, const char* what) {
  std::string known;
  for (std::size_t i = 0; i < kSize; ++i) {
    if (name == names[i].name || name == names[i].brief || name == names[i].osu) {
      return i;
    }
    known += fmt::format("{}{}", i == 0 ? "" : ", ", names[i].name);
  }
  throw std::invalid_argument(fmt::format("unknown {} '{}'; known are {}", what, name, known));
}

/// A number of bytes with an optional binary suffix K, M or G.
std::size_t parseBytes(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  const std::size_t shift = suffix == "K" ? 10 : suffix == "M" ? 20 : suffix == "G" ? 30 : 0;
  if (error != std::errc() || (shift == 0 && !suffix.empty()) || value > (std::size_t{1} << 40)) {
    throw std::invalid_argument(fmt::format("'{}' is no number of bytes; write 4096 or 4K", text));
  }
  return value << shift;
}

void addSizes(CommandLine& line, Options& options) {
  line.option("-m,--message-size", options.sizes, "[MIN:]MAX or MIN: in bytes (K, M, G may follow); sizes double");
  line.option("-i,--iterations", options.iterations, "Timed iterations of every size (default: OSU's, by size)")
      .range(1, 1000000000);
  line.option("-x,--warmup", options.warmup, "Untimed iterations before (default: OSU's, by size)")
      .range(0, 1000000000);
  line.option("--time-limit", options.time_limit_s, "Seconds per size; fewer iterations are run to keep to it")
      .range(0.0, 1e6);
  line.option("-M,--mem-limit", options.memory_limit, "Bytes of the largest buffer of a rank");
  line.option("--memory", options.memory, "ordinary, or registered: buffers from goss_mem_alloc")
      .oneOf({"ordinary", "registered"});
  line.option("-W,--window-size", options.window, "Messages in flight in bandwidth tests").range(1, 10000);
}

void addMeaning(CommandLine& line, Options& options) {
  line.option("-T,--type,--dtype", options.dtype, "Element type: float32, bfloat16, mpi_char, ...");
  line.option("--op", options.op, "sum, prod, min, max, avg, premul_sum, band, bor, bxor, land, lor, lxor");
  line.option("-k,--root-rank", options.root, "Root of rooted collectives").nonNegative();
  line.flag("-l,--in-place", options.in_place, "Send and receive buffers are the same");
  line.flag("-f,--full", options.full, "More columns: minimum, maximum, iterations");
  line.flag("-c,--validation", options.validate, "Checks results against exact expected values");
  line.option("-u,--validation-rounds", options.validation_rounds, "Checked runs of every size").range(1, 1000);
  line.flag("--busbw", options.busbw, "Columns of nccl-tests: algbw, busbw, #wrong (implies -c)");
  line.option("--json", options.json_file, "Writes one JSON object a line to this file");
}

void addWorld(CommandLine& line, Options& options) {
  line.option("--threads", options.threads, "Ranks are this many threads of one process").range(1, 256);
  line.option("--transport", options.transport, "Forces a transport: loopback, shm, tcp, tls, ucx, mpi or sim");
  line.option("--algorithm", options.algorithm, "Forces an algorithm by name");
  line.option("--codec", options.codec, "Compresses, in turn with the same calls uncompressed: int8, topk+int8, ...");
  line.option("--compare", options.compare, "mpi or gloo: runs that library in turn with Gossamer")
      .oneOf({"mpi", "gloo"});
  line.option("--rounds", options.rounds, "Alternating rounds of a comparison; medians are printed").range(5, 1000);
}

} // namespace

int parseOptions(int argc, char** argv, const std::vector<std::string>& benchmarks, Options& options) {
  CommandLine line{
      "Latency and bandwidth of Gossamer's operations, by the conventions of the OSU micro-benchmarks.\n"
      "Start it with mpirun, with torchrun-style variables, or with --threads N."};
  line.option("benchmark", options.benchmark, "What to measure").required().oneOf(benchmarks);
  addSizes(line, options);
  addMeaning(line, options);
  addWorld(line, options);
  bool nonblocking = false;
  bool persistent = false;
  const auto nonblocking_flag =
      line.flag("--nonblocking", nonblocking, "Times the non-blocking form beside a computation; prints the overlap");
  const auto persistent_flag =
      line.flag("--persistent", persistent, "Times the persistent form").excludes(nonblocking_flag);
  const auto overlap =
      line.option("--overlap", options.overlap,
                  "Starts a call before the one N calls earlier is waited for; prints the time per call")
          .range(1, 64)
          .excludes(nonblocking_flag)
          .excludes(persistent_flag);
  line.flag("--together", options.together,
            "Calls begin at a moment that the ranks agree on, not when each has left a barrier")
      .excludes(overlap);
  line.option("-t,--num-test-calls", options.test_calls, "goss_test calls during the computation").range(0, 1000000);
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  options.validate = options.validate || options.busbw;
  options.mode = nonblocking ? Mode::nonblocking : persistent ? Mode::persistent : Mode::blocking;
  return -1;
}

std::vector<std::size_t> messageSizes(const std::string& text, std::size_t smallest, std::size_t largest) {
  if (!text.empty()) {
    const std::size_t colon = text.find(':');
    const std::string_view view = text;
    if (colon == std::string::npos) {
      largest = parseBytes(view);
    } else {
      smallest = parseBytes(view.substr(0, colon));
      largest = colon + 1 == text.size() ? std::max(smallest, largest) : parseBytes(view.substr(colon + 1));
    }
  }
  if (smallest > largest) {
    throw std::invalid_argument(fmt::format("the smallest size {} is above the largest {}; see -m", smallest, largest));
  }
  std::vector<std::size_t> sizes;
  for (std::size_t size = smallest; size <= largest; size = size == 0 ? 1 : 2 * size) {
    sizes.push_back(size);
  }
  return sizes;
}

goss_dtype dtypeNamed(const std::string& name) { return static_cast<goss_dtype>(find(kDtypes, name, "element type")); }
goss_op opNamed(const std::string& name) { return static_cast<goss_op>(find(kOps, name, "reduction")); }
const char* dtypeName(goss_dtype dtype) { return kDtypes[dtype].name; }
const char* opName(goss_op op) { return kOps[op].name; }

} // namespace goss::bench
