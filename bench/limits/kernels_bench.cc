/// goss-kernels-bench: speed of lib/kernels on one core, beside memcpy. Prints GB/s, where the bytes are those of one
/// operand.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/convert.h"
#include "kernels/kernels.h"
#include "kernels/table.h"
#include "tools/commandline/command_line.h"

namespace {

using goss::kernels::Table;
using Clock = std::chrono::steady_clock;

constexpr std::array<const char*, GOSS_DTYPE_COUNT> kDtypeNames = {"i8",   "u8",  "i32", "u32",  "i64",  "u64", "f16",
                                                                   "bf16", "f32", "f64", "e4m3", "e5m2", "bool"};
constexpr std::array<const char*, GOSS_OP_COUNT> kOpNames = {"sum",  "prod", "min",  "max",  "avg", "premul",
                                                             "band", "bor",  "bxor", "land", "lor", "lxor"};

struct Options {
  std::vector<std::size_t> sizes = {4096, 65536, 1 << 20, 16 << 20, 64 << 20};
  std::size_t offset = 16;
  std::size_t b_offset = 16;
  int sample_ms = 20;
  int samples = 3;
  std::string isa;
  std::string filter;
};

struct Buffers {
  unsigned char* dst;
  unsigned char* a;
  unsigned char* b;
};

/// Best of `samples`, each at least `sample_ms` long, in GB/s. The first call is not timed: it touches the memory.
double gigabytesPerSecond(const Options& options, std::size_t bytes, const std::function<void()>& call) {
  call();
  double best = 0;
  for (int sample = 0; sample < options.samples; ++sample) {
    const auto start = Clock::now();
    const auto end = start + std::chrono::milliseconds(options.sample_ms);
    std::size_t calls = 0;
    auto now = start;
    while (now < end) {
      call();
      ++calls;
      now = Clock::now();
    }
    const double seconds = std::chrono::duration<double>(now - start).count();
    best = std::max(best, static_cast<double>(bytes * calls) / seconds * 1e-9);
  }
  return best;
}

class Report {
 public:
  explicit Report(const Options& options) : options_(options) {
    fmt::print("{:<18}", "# GB/s");
    for (const std::size_t bytes : options.sizes) {
      fmt::print("{:>11}", bytes);
    }
    fmt::print("\n");
  }
  /// `call` gets the number of bytes of one operand.
  void row(const std::string& name, const std::function<void(std::size_t)>& call) const {
    if (name.find(options_.filter) == std::string::npos) {
      return;
    }
    fmt::print("{:<18}", name);
    for (const std::size_t bytes : options_.sizes) {
      fmt::print("{:>11.2f}", gigabytesPerSecond(options_, bytes, [&] { call(bytes); }));
      std::fflush(stdout);
    }
    fmt::print("\n");
  }

 private:
  const Options& options_;
};

void reduceRows(const Report& report, const Table& table, const Buffers& buffers) {
  for (int dtype = 0; dtype < GOSS_DTYPE_COUNT; ++dtype) {
    const std::size_t width = goss::kernels::elementBytes(static_cast<goss_dtype>(dtype));
    for (std::size_t op = 0; op < kOpNames.size(); ++op) {
      const bool adds = op == GOSS_AVG || op == GOSS_PREMUL_SUM; // Like GOSS_SUM; their factors have rows of their own.
      if (adds || table.reduce[dtype][op] == nullptr) continue;
      report.row(fmt::format("{} {} a+=b", kDtypeNames[dtype], kOpNames[op]), [&, dtype, op](std::size_t bytes) {
        table.reduce[dtype][op](buffers.a, buffers.a, buffers.b, bytes / width);
      });
    }
    if (table.average[dtype] != nullptr) {
      report.row(fmt::format("{} avg", kDtypeNames[dtype]),
                 [&, dtype](std::size_t bytes) { table.average[dtype](buffers.dst, buffers.a, bytes / width, 4); });
    }
    if (table.scale[dtype] != nullptr) {
      report.row(fmt::format("{} scale", kDtypeNames[dtype]),
                 [&, dtype](std::size_t bytes) { table.scale[dtype](buffers.dst, buffers.a, bytes / width, 0.5); });
    }
    if (table.widen[dtype] != nullptr) { // the bytes are those of the float32 side
      report.row(fmt::format("{} to f32", kDtypeNames[dtype]),
                 [&, dtype](std::size_t bytes) { table.widen[dtype](buffers.dst, buffers.a, bytes / 4); });
      report.row(fmt::format("f32 to {}", kDtypeNames[dtype]),
                 [&, dtype](std::size_t bytes) { table.narrow[dtype](buffers.dst, buffers.a, bytes / 4); });
    }
  }
}

void run(const Options& options, const Table& table) {
  const std::size_t most = *std::max_element(options.sizes.begin(), options.sizes.end());
  // Blocks begin 16 bytes behind a cache line, as malloc returns large blocks; --offset 0 shows aligned buffers.
  const auto allocate = [most] {
    return std::unique_ptr<unsigned char, decltype(&std::free)>(
        static_cast<unsigned char*>(std::aligned_alloc(4096, (most + 8191) / 4096 * 4096)), &std::free);
  };
  const auto dst = allocate(), a = allocate(), b = allocate();
  // Bytes of 1 are small normal numbers in every floating format, and stay so under every operation but sums.
  std::memset(dst.get(), 0, most + options.offset);
  std::memset(a.get(), 0, most + options.offset);
  std::memset(b.get(), 0, most + options.offset);
  const Buffers buffers{dst.get() + options.offset, a.get() + options.offset, b.get() + options.b_offset};

  fmt::print("# instruction set: {}\n", table.isa);
  const Report report(options);
  report.row("memcpy", [&](std::size_t bytes) { std::memcpy(buffers.dst, buffers.a, bytes); });
  if (table.stream != nullptr) {
    report.row("streaming copy", [&](std::size_t bytes) { table.stream(buffers.dst, buffers.a, bytes); });
  }
  report.row("copy", [&](std::size_t bytes) { goss::kernels::copy(buffers.dst, buffers.a, bytes); });
  report.row("f32 sum c=a+b", [&](std::size_t bytes) {
    goss::kernels::reduce(GOSS_FLOAT32, GOSS_SUM, buffers.dst, buffers.a, buffers.b, bytes / 4);
  });
  reduceRows(report, table, buffers);
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  goss::CommandLine line{"Speed of the element-wise kernels on one core"};
  line.option("--sizes", options.sizes, "Bytes of one operand").delimiter(',').range(64ul, 1ul << 30);
  line.option("--offset", options.offset, "Bytes from a page's start to each buffer").range(0, 64);
  line.option("--b-offset", options.b_offset, "The same for the second operand").range(0, 64);
  line.option("--sample-ms", options.sample_ms, "Shortest time of one sample").range(1, 1000);
  line.option("--samples", options.samples, "Samples per figure; the best is printed").range(1, 100);
  line.option("--isa", options.isa, "default, avx2 or avx512; otherwise the widest");
  line.option("--filter", options.filter, "Only rows whose name contains this");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  const auto tables = goss::kernels::availableTables();
  const auto found =
      std::find_if(tables.begin(), tables.end(), [&](const Table& table) { return table.isa == options.isa; });
  if (found == tables.end() && !options.isa.empty()) {
    fmt::print(stderr, "This machine has no instruction set '{}'; run without --isa.\n", options.isa);
    return 1;
  }
  run(options, found == tables.end() ? tables.back() : *found);
  return 0;
}
