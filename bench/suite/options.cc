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
  const auto bytes =
      line.option("--stepbytes", options.step.bytes, "Sizes grow by this many bytes instead (nccl-tests' -i)")
          .byteCount();
  line.option("--stepfactor", options.step.factor, "Sizes grow by this factor instead (nccl-tests' -f)")
      .range(2, 1 << 20)
      .excludes(bytes);
  line.option("-i,--iterations", options.iterations, "Timed iterations of every size (default: OSU's, by size)")
      .range(1, 1000000000);
  line.option("-x,--warmup", options.warmup, "Untimed iterations before (default: OSU's, by size)")
      .range(0, 1000000000);
  line.option("--time-limit", options.time_limit_s, "Seconds per size; fewer iterations are run to keep to it")
      .range(0.0, 1e6);
  line.option("-M,--mem-limit", options.memory_limit, "Bytes of the largest buffer of a rank");
  const auto memory = line.option("--memory", options.memory, "ordinary, or registered: buffers from goss_mem_alloc")
                          .oneOf({"ordinary", "registered"});
  line.option("--device", options.device, "cuda: buffers of collectives lie in memory of each rank's current GPU")
      .oneOf({"cuda"})
      .excludes(memory);
  line.option("-W,--window-size", options.window, "Messages in flight in bandwidth tests").range(1, 10000);
}

void addMeaning(CommandLine& line, Options& options, std::vector<std::string>& dtypes) {
  line.option("-T,--type,--dtype", dtypes, "Element types: float32, bfloat16, mpi_char, ..., or all").delimiter(',');
  line.option("--op", options.op, "sum, prod, min, max, avg, premul_sum, band, bor, bxor, land, lor, lxor");
  line.option("-k,--root-rank", options.root, "Root of rooted collectives").nonNegative();
  line.flag("-l,--in-place", options.in_place, "Send and receive buffers are the same");
  line.flag("-f,--full", options.full, "More columns: minimum, maximum, iterations");
  line.flag("-z,--tail-lat", options.tails, "More columns: percentiles 50, 90 and 99 of the calls' times");
  line.flag("-c,--validation", options.validate, "Checks results against exact expected values");
  line.option("-u,--validation-rounds", options.validation_rounds, "Checked runs of every size").range(1, 1000);
  line.flag("--busbw", options.busbw, "Columns of nccl-tests: algbw, busbw, #wrong (implies -c)");
  line.option("--json", options.files.json, "Writes one JSON object a line to this file");
  line.option("--csv", options.files.csv, "Writes a table of comma-separated values to this file");
  line.option("--plot", options.files.plot, "Draws latency and bandwidth to this SVG file");
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

std::vector<Options> runsOf(const Options& options, const BenchmarkNames& names,
                            const std::vector<std::string>& benchmarks, std::vector<std::string> dtypes) {
  if (dtypes == std::vector<std::string>{"all"}) {
    dtypes.clear();
    for (const Name& dtype : kDtypes)
      dtypes.emplace_back(dtype.name);
  }
  std::vector<Options> runs;
  const auto add = [&](const std::string& benchmark, const std::string& dtype) {
    runs.push_back(options);
    runs.back().benchmark = benchmark;
    runs.back().dtype = dtype;
  };
  for (const std::string& benchmark : benchmarks == std::vector<std::string>{"all"} ? names.collectives : benchmarks) {
    if (std::ranges::find(names.messages, benchmark) != names.messages.end() || benchmark == "barrier") {
      add(benchmark, dtypes.front());
    } else {
      for (const std::string& dtype : dtypes)
        add(benchmark, dtype);
    }
  }
  return runs;
}

} // namespace

int parseOptions(int argc, char** argv, const BenchmarkNames& names, std::vector<Options>& runs) {
  Options options;
  std::vector<std::string> benchmarks;
  std::vector<std::string> dtypes = {options.dtype};
  std::vector<std::string> known = names.collectives;
  known.insert(known.end(), names.messages.begin(), names.messages.end());
  known.emplace_back("all");
  CommandLine line{
      "Latency and bandwidth of Gossamer's operations, by the conventions of the OSU micro-benchmarks.\n"
      "Start it with mpirun, with torchrun-style variables, or with --threads N.\n"
      "'goss-bench codec --help' is about the compressors' speed, 'goss-bench gossip --help' about how fast gossip "
      "brings "
      "ranks together, 'goss-bench compare --help' about files of two runs."};
  line.option("benchmark", benchmarks, "What to measure: one or more, or all, which are the collectives")
      .required()
      .oneOf(known)
      .delimiter(',');
  addSizes(line, options);
  addMeaning(line, options, dtypes);
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
  runs = runsOf(options, names, benchmarks, dtypes);
  return -1;
}

std::vector<std::size_t> messageSizes(const std::string& text, std::size_t smallest, std::size_t largest,
                                      SizeStep step) {
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
  const auto next = [&](std::size_t size) {
    if (step.bytes > 0) return size + step.bytes;
    return size == 0 ? 1 : size * static_cast<std::size_t>(step.factor);
  };
  for (std::size_t size = smallest; size <= largest; size = next(size)) {
    sizes.push_back(size);
  }
  return sizes;
}

goss_dtype dtypeNamed(const std::string& name) { return static_cast<goss_dtype>(find(kDtypes, name, "element type")); }
goss_op opNamed(const std::string& name) { return static_cast<goss_op>(find(kOps, name, "reduction")); }
const char* dtypeName(goss_dtype dtype) { return kDtypes[dtype].name; }
const char* opName(goss_op op) { return kOps[op].name; }

} // namespace goss::bench
