/// goss-memory-limits: what two cores can do with memory that both reach, the floor under an all-reduce of two ranks on
/// one host. Prints the median time of each way to do the work, in microseconds.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/kernels.h"
#include "platform/memory/shared_pages.h"
#include "platform/memory/streaming_copy.h"
#include "tools/commandline/command_line.h"

namespace {

using Clock = std::chrono::steady_clock;
using goss::platform::copyStreaming;
using goss::platform::SharedPages;

struct Options {
  std::vector<std::size_t> sizes = {16u << 20, 32u << 20, 64u << 20, 128u << 20, 256u << 20};
  int repeats = 15;
};

/// The vectors and results of two ranks, in memory as goss_mem_alloc would return it.
struct Vectors {
  std::byte* in[2];
  std::byte* out[2];
  std::size_t bytes;
};

/// A barrier of two threads, which spin, as ranks that wait do.
class Meeting {
 public:
  void arrive() {
    const int turn = turn_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1) == 1) {
      arrived_.store(0);
      turn_.store(turn + 1, std::memory_order_release);
    }
    while (turn_.load(std::memory_order_acquire) == turn) {
    }
  }

 private:
  std::atomic<int> arrived_{0};
  std::atomic<int> turn_{0};
};

using Work = std::function<void(int rank, const Vectors& vectors, Meeting& meeting)>;

double median_us(const Work& work, const Vectors& vectors, int repeats) {
  Meeting meeting;
  std::vector<double> times_us;
  const auto body = [&](int rank) {
    for (int repeat = 0; repeat <= repeats; ++repeat) {
      meeting.arrive();
      const auto start = Clock::now();
      work(rank, vectors, meeting);
      meeting.arrive();
      const double time_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      if (rank == 0 && repeat > 0) times_us.push_back(time_us); // The first run is the warm-up.
    }
  };
  std::thread other(body, 1);
  body(0);
  other.join();
  std::sort(times_us.begin(), times_us.end());
  return times_us[times_us.size() / 2];
}

/// Each rank adds its half and writes the result to both: the fewest bytes that any way can move.
void addForBoth(int rank, const Vectors& v, Meeting&) {
  constexpr std::size_t kBlockBytes = 16u << 10;
  alignas(64) std::byte block[kBlockBytes];
  const std::size_t first = static_cast<std::size_t>(rank) * v.bytes / 2;
  for (std::size_t at = first; at < first + v.bytes / 2; at += kBlockBytes) {
    const std::size_t step = std::min(kBlockBytes, first + v.bytes / 2 - at);
    goss::kernels::reduce(GOSS_FLOAT32, GOSS_SUM, block, v.in[0] + at, v.in[1] + at, step / sizeof(float));
    copyStreaming(v.out[0] + at, block, step);
    copyStreaming(v.out[1] + at, block, step);
  }
}

/// Each rank adds its half and copies the other half's result: the work of a direct exchange.
void addThenCopy(int rank, const Vectors& v, Meeting& meeting) {
  const std::size_t half = v.bytes / 2;
  const std::size_t mine = static_cast<std::size_t>(rank) * half;
  const std::size_t theirs = half - mine;
  goss::kernels::reduceStreaming(GOSS_FLOAT32, GOSS_SUM, v.out[rank] + mine, v.in[0] + mine, v.in[1] + mine,
                                 half / sizeof(float));
  meeting.arrive();
  copyStreaming(v.out[rank] + theirs, v.out[1 - rank] + theirs, half);
}

/// As addThenCopy, with plain stores, which read a cache line before they write it.
void addThenCopyPlainly(int rank, const Vectors& v, Meeting& meeting) {
  const std::size_t half = v.bytes / 2;
  const std::size_t mine = static_cast<std::size_t>(rank) * half;
  const std::size_t theirs = half - mine;
  goss::kernels::reduce(GOSS_FLOAT32, GOSS_SUM, v.out[rank] + mine, v.in[0] + mine, v.in[1] + mine,
                        half / sizeof(float));
  meeting.arrive();
  std::copy_n(v.out[1 - rank] + theirs, half, v.out[rank] + theirs);
}

void row(const Options& options, const char* name, const Vectors& vectors, const Work& work) {
  fmt::print("{:<28}", name);
  for (const std::size_t bytes : options.sizes) {
    Vectors part = vectors;
    part.bytes = bytes;
    fmt::print("{:>13.1f}", median_us(work, part, options.repeats));
    std::fflush(stdout);
  }
  fmt::print("\n");
}

int run(const Options& options) {
  const std::size_t most = *std::max_element(options.sizes.begin(), options.sizes.end());
  std::vector<SharedPages> pages;
  for (int i = 0; i < 4; ++i) {
    goss::Result<SharedPages> made = SharedPages::create(most);
    if (!made.isOk()) {
      fmt::print(stderr, "goss-memory-limits: {}\n", made.status().text());
      return 1;
    }
    pages.push_back(made.take());
  }
  const Vectors vectors{{pages[0].data(), pages[1].data()}, {pages[2].data(), pages[3].data()}, most};
  fmt::print("# All-reduce of two float32 vectors by two cores that reach both, us\n{:<28}", "# bytes");
  for (const std::size_t bytes : options.sizes)
    fmt::print("{:>13}", bytes);
  fmt::print("\n");
  row(options, "limit: add, write to both", vectors, addForBoth);
  row(options, "add half, copy other half", vectors, addThenCopy);
  row(options, "same, stores through caches", vectors, addThenCopyPlainly);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  goss::CommandLine line{
      "What two cores can do with memory that both reach: the floor under an all-reduce on one host"};
  line.option("--sizes", options.sizes, "Bytes of a vector").delimiter(',').range(1ul << 16, 1ul << 30);
  line.option("--repeats", options.repeats, "Runs per figure; the median is printed").range(1, 1000);
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  return run(options);
}
