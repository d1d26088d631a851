#include "bench/suite/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "bench/suite/common_start.h"

namespace goss::bench {

namespace {

constexpr std::size_t kLargeMessage = 8192;
constexpr int kFirstCalls = 20;
constexpr double kWarmUs = 20e3;

/// Both sides run a while before the first size: the first thousands of short messages touch new memory, and the first
/// size would be charged for that.
void warmUp(Rank& rank, const Once& once) {
  if (std::exchange(rank.warm, true)) return;
  for (Engine* engine : {static_cast<Engine*>(&rank.goss), rank.peer}) {
    const double start = nowUs();
    for (double elapsed = 0; engine != nullptr && elapsed < kWarmUs;) {
      for (int i = 0; i < kFirstCalls; ++i)
        once(*engine);
      elapsed = nowUs() - start;
      rank.goss.combine(&elapsed, 1, GOSS_MAX);
    }
  }
}

} // namespace

Repeats repeatsFor(Rank& rank, std::size_t bytes, const RepeatDefaults& defaults, const Once& once) {
  const Options& options = rank.options;
  if (bytes <= kLargeMessage) warmUp(rank, once);
  Repeats repeats = bytes > kLargeMessage ? defaults.large : defaults.small;
  repeats.iterations = options.iterations > 0 ? options.iterations : repeats.iterations;
  repeats.warmup = options.warmup >= 0 ? options.warmup : repeats.warmup;
  if (options.time_limit_s > 0) {
    // The first call plans and connects, and the first short calls are slow; the later ones tell how many repetitions
    // fit.
    for (int i = 0; i < (bytes > kLargeMessage ? 1 : kFirstCalls); ++i)
      once(rank.goss);
    const double start = nowUs();
    once(rank.goss);
    once(rank.goss);
    double each = (nowUs() - start) / 2;
    rank.goss.combine(&each, 1, GOSS_MAX);
    const double fit = std::max(1.0, std::min(options.time_limit_s * 1e6 / std::max(each, 1e-3), 1e9));
    repeats.warmup = std::min(repeats.warmup, static_cast<int>(fit / 10));
    repeats.iterations = std::min(repeats.iterations, static_cast<int>(fit));
  }
  return repeats;
}

double meanUs(Rank& rank, Engine& engine, const Repeats& repeats, const std::function<void()>& operation,
              std::vector<double>* each) {
  double total = 0;
  engine.barrier();
  for (int i = 0; i < repeats.warmup + repeats.iterations; ++i) {
    const double start = rank.together != nullptr ? rank.together->await() : nowUs();
    operation();
    const double elapsed = nowUs() - start;
    if (i >= repeats.warmup) {
      total += elapsed;
      if (each != nullptr) each->push_back(elapsed);
    }
    engine.barrier();
  }
  return total / repeats.iterations;
}

double steadyUs(Engine& engine, const Repeats& repeats, std::span<const CollectiveCall> calls) {
  const int overlap = static_cast<int>(calls.size()) - 1;
  const int last = repeats.warmup + repeats.iterations;
  engine.barrier();
  double start = nowUs();
  double end = start;
  for (int ended = -overlap; ended < last + overlap;) {
    const int begun = ended + overlap;
    if (begun < last + overlap) engine.begin(calls[static_cast<std::size_t>(begun) % calls.size()]);
    if (++ended <= 0) continue;
    engine.wait();
    if (ended == repeats.warmup) start = nowUs();
    if (ended == last) end = nowUs();
  }
  engine.barrier();
  return (end - start) / repeats.iterations;
}

Statistics overRanks(GossEngine& engine, double value) {
  // One maximum gives both extremes: the minimum is the negated maximum of the negated values.
  double ends[2] = {value, -value};
  double sum = value;
  engine.combine(ends, 2, GOSS_MAX);
  engine.combine(&sum, 1, GOSS_SUM);
  return {sum / engine.size(), -ends[1], ends[0]};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Sample sample(Rank& rank, const Measure& measure) {
  Sample taken;
  std::vector<double>* each = rank.options.tails ? &taken.each : nullptr;
  std::vector<double> mean, min, max, peer;
  for (int round = 0; round < (rank.peer == nullptr ? 1 : rank.options.rounds); ++round) {
    const Statistics ours = overRanks(rank.goss, measure(rank.goss, each));
    mean.push_back(ours.mean);
    min.push_back(ours.min);
    max.push_back(ours.max);
    if (rank.peer != nullptr) peer.push_back(overRanks(rank.goss, measure(*rank.peer, nullptr)).mean);
  }
  taken.ours = {median(mean), median(min), median(max)};
  if (!peer.empty()) taken.peer = median(peer);
  if (each != nullptr) rank.goss.combine(each->data(), each->size(), GOSS_AVG);
  return taken;
}

double percentile(const std::vector<double>& ascending, int percent) {
  const std::size_t rank = (ascending.size() * static_cast<std::size_t>(percent) + 99) / 100;
  return ascending[std::max<std::size_t>(rank, 1) - 1];
}

void addTails(const Rank& rank, std::vector<double> figures, bool bandwidth, std::vector<Field>& fields) {
  if (!rank.options.tails) return;
  std::ranges::sort(figures);
  for (const int percent : {50, 90, 99}) {
    fields.push_back({fmt::format("P{} Tail {}", percent, bandwidth ? "BW(MB/s)" : "Lat(us)"),
                      fmt::format("p{}_{}", percent, bandwidth ? "mb_per_s" : "us"), percentile(figures, percent)});
  }
}

Memory allocate(Rank& rank, std::size_t bytes) {
  if (rank.options.memory == "registered") {
    GossEngine& engine = rank.goss;
    return {static_cast<unsigned char*>(engine.allocate(bytes)),
            [&engine](unsigned char* memory) { engine.deallocate(memory); }};
  }
  constexpr std::size_t kPage = 4096;
  const std::size_t whole = (bytes / kPage + 1) * kPage;
  if (!rank.options.device.empty()) {
    GossEngine& engine = rank.goss;
    Memory memory(static_cast<unsigned char*>(engine.allocateOnDevice(whole)),
                  [&engine](unsigned char* one) { engine.deallocate(one); });
    const std::vector<unsigned char> zeros(whole);
    engine.copy(memory.get(), zeros.data(), whole);
    return memory;
  }
  Memory memory(static_cast<unsigned char*>(std::aligned_alloc(kPage, whole)), &std::free);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  std::memset(memory.get(), 0, whole);
  return memory;
}

void addPeer(const Rank& rank, std::vector<Field>& fields, const PeerFigure& figure) {
  if (rank.peer != nullptr) {
    fields.push_back(
        {"", "peer", std::string(rank.options.compare.empty() ? rank.peer->name() : rank.options.compare)});
    fields.push_back({"", "peer_version", rank.peer->version()});
    if (const std::string variant = rank.peer->variant(); !variant.empty()) {
      fields.push_back({"", "peer_variant", variant});
    }
    fields.push_back(
        {fmt::format("{} {}", rank.peer->name(), figure.unit), fmt::format("peer_{}", figure.key), figure.value});
    fields.push_back({"Ratio", "ratio", figure.ratio, 10});
  }
}

std::uint64_t totalWrong(Rank& rank, std::size_t wrong) {
  auto total = static_cast<double>(wrong);
  rank.goss.combine(&total, 1, GOSS_SUM);
  rank.failed = rank.failed || total > 0;
  return static_cast<std::uint64_t>(std::llround(total));
}

void addValidation(Rank& rank, std::vector<Field>& fields, std::uint64_t wrong) {
  if (rank.options.validate) {
    fields.push_back({"Validation", "validation", std::string(wrong == 0 ? "Pass" : "Fail")});
    fields.push_back({"", "wrong", wrong});
  }
}

} // namespace goss::bench
