/// Latency of the collectives: blocking, persistent, and non-blocking beside a computation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench/suite/collective_table.h"
#include "bench/suite/compute.h"
#include "bench/suite/families.h"
#include "bench/suite/runner.h"

namespace goss::bench {

namespace {

/// One size of one collective, ready to run.
struct Case {
  const CollectiveSpec& spec;
  std::size_t bytes = 0;
  Shape shape;
  CollectiveCall call;
  std::vector<CollectiveCall> calls; ///< With --overlap: the same call with different buffers, `call` first.
};

const CollectiveSpec* findSpec(const std::string& name) {
  const auto specs = collectiveSpecs();
  const auto found =
      std::find_if(specs.begin(), specs.end(), [&](const CollectiveSpec& spec) { return name == spec.name; });
  return found == specs.end() ? nullptr : &*found;
}

/// The buffers of the largest size; smaller sizes use their beginning.
struct Buffers {
  Memory send;
  Memory recv;
};

Case makeCase(const Rank& rank, const CollectiveSpec& spec, std::size_t bytes, const std::vector<Buffers>& buffers) {
  Case one{spec, bytes, {}, {}, {}};
  const goss_dtype dtype = dtypeNamed(rank.options.dtype);
  one.shape = shapeOf(spec, bytes / goss_dtype_size(dtype), rank.goss.rank(), rank.goss.size());
  one.call.collective = spec.collective;
  one.call.count = one.shape.count;
  one.call.even = one.shape.even;
  one.call.dtype = dtype;
  one.call.op = opNamed(rank.options.op);
  one.call.root = rank.options.root;
  // A broadcast has one buffer in MPI; so here the root's receive buffer is its send buffer too.
  const bool same = rank.options.in_place || spec.collective == Collective::broadcast;
  for (const Buffers& pair : buffers) {
    one.call.recv = pair.recv.get();
    one.call.send = same ? pair.recv.get() : pair.send.get();
    one.calls.push_back(one.call);
  }
  one.call = one.calls.front();
  return one;
}

/// Fills with normally distributed values: a sparsifier that finds only ties would do other work. The period is one
/// that no block length divides.
void fillNormal(goss_dtype dtype, int rank, unsigned char* memory, std::size_t bytes) {
  constexpr std::size_t kPeriodElems = 1048573; // A prime.
  const std::size_t width = goss_dtype_size(dtype);
  const auto limit = static_cast<double>(exactLimit(dtype));
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) + 1);
  std::normal_distribution<double> normal(0, limit / 8);
  const std::size_t period = std::min(bytes, kPeriodElems * width);
  for (std::size_t at = 0; at + width <= period; at += width) {
    const std::uint64_t bits = encodeWhole(dtype, std::llround(std::clamp(normal(random), -limit, limit)));
    std::memcpy(memory + at, &bits, width); // Little-endian, as all machines on which Gossamer runs.
  }
  for (std::size_t at = period; at < bytes; at += period)
    std::memcpy(memory + at, memory, std::min(period, bytes - at));
}

/// Allocates as many pairs as calls may be in flight.
std::vector<Buffers> allocateBuffers(Rank& rank, std::size_t bytes) {
  std::vector<Buffers> all;
  for (int i = 0; i <= rank.options.overlap; ++i) {
    all.push_back({allocate(rank, bytes), allocate(rank, bytes)});
    if (rank.options.codec.empty()) continue;
    const goss_dtype dtype = dtypeNamed(rank.options.dtype);
    unsigned char* send = all.back().send.get();
    if (rank.options.device.empty()) {
      fillNormal(dtype, rank.goss.rank(), send, bytes);
    } else {
      std::vector<unsigned char> values(bytes);
      fillNormal(dtype, rank.goss.rank(), values.data(), bytes);
      rank.goss.copy(send, values.data(), bytes);
    }
  }
  return all;
}

/// Runs the form that the user chose once, to its end. Persistent operations have been prepared.
void runOnce(const Rank& rank, Engine& engine, const CollectiveCall& call) {
  switch (rank.options.mode) {
    case Mode::blocking:
      engine.run(call);
      break;
    case Mode::nonblocking:
      engine.begin(call);
      engine.wait();
      break;
    case Mode::persistent:
      engine.start();
      engine.wait();
      break;
  }
}

/// A call's buffers where the host writes patterns and looks at results: they themselves, or, of those on a GPU,
/// copies.
class HostBuffers {
 public:
  HostBuffers(Rank& rank, const Case& one) : rank_(rank), one_(one), width_(goss_dtype_size(one.call.dtype)) {
    recv = one.call.recv;
    send = const_cast<void*>(one.call.send);
    if (rank.options.device.empty()) return;
    recv_copy_.resize(recvBytes());
    send_copy_.resize(one.shape.send * width_);
    recv = recv_copy_.data();
    send = one.call.send == one.call.recv ? recv : send_copy_.data();
  }
  [[nodiscard]] std::size_t recvBytes() const { return std::max(one_.shape.recv, one_.shape.send) * width_; }
  void bringToDevice() {
    if (rank_.options.device.empty()) return;
    rank_.goss.copy(one_.call.recv, recv, recvBytes());
    if (send != recv) rank_.goss.copy(const_cast<void*>(one_.call.send), send, send_copy_.size());
  }
  void fetchResult() {
    if (!rank_.options.device.empty()) rank_.goss.copy(recv, one_.call.recv, recvBytes());
  }

  void* recv = nullptr;
  void* send = nullptr;

 private:
  Rank& rank_;
  const Case& one_;
  const std::size_t width_;
  std::vector<unsigned char> recv_copy_;
  std::vector<unsigned char> send_copy_;
};

/// Runs the collective on fresh patterns; returns the number of wrong elements of all ranks.
std::uint64_t validate(Rank& rank, const Case& one) {
  std::size_t wrong = 0;
  HostBuffers host(rank, one);
  CollectiveCall seen = one.call;
  seen.recv = host.recv;
  for (int round = 0; round < rank.options.validation_rounds; ++round) {
    const Pattern pattern(one.call.dtype, one.call.op, one.spec.reduces ? rank.goss.size() : 1, round);
    std::memset(host.recv, 0x5a, host.recvBytes());
    const bool sends = one.spec.send != Extent::all || !one.spec.rooted || rank.goss.rank() == rank.options.root;
    if (sends && (one.spec.collective != Collective::broadcast || rank.goss.rank() == rank.options.root)) {
      pattern.fill(host.send, rank.goss.rank(), 0, one.shape.send);
    }
    host.bringToDevice();
    runOnce(rank, rank.goss, one.call);
    host.fetchResult();
    wrong += wrongElements(seen, one.shape, pattern, rank.goss.rank(), rank.goss.size());
  }
  return totalWrong(rank, wrong);
}

void addBandwidth(const Rank& rank, const Case& one, double us, std::uint64_t wrong, std::vector<Field>& fields) {
  const double algbw =
      us > 0 ? static_cast<double>(countedBytes(one.spec, one.bytes, rank.goss.size())) / us * 1e-3 : 0;
  const bool shown = rank.options.busbw;
  fields.push_back({shown ? "algbw(GB/s)" : "", "algbw", algbw, 14});
  fields.push_back({shown ? "busbw(GB/s)" : "", "busbw", algbw * busFactor(one.spec, rank.goss.size()), 14});
  if (shown) {
    fields.push_back({"#wrong", "wrong", wrong, 10});
  }
}

/// Adds the bytes that rank 0 sends in one call, compressed and uncompressed.
void addWireBytes(Rank& rank, const Case& one, std::vector<Field>& fields) {
  const auto sent = [&](Engine& engine) {
    const std::uint64_t before = engine.wireBytes();
    runOnce(rank, engine, one.call);
    return engine.wireBytes() - before;
  };
  const std::uint64_t ours = sent(rank.goss);
  const std::uint64_t plain = sent(*rank.peer);
  fields.push_back({"", "codec", rank.options.codec});
  fields.push_back({"Bytes sent", "wire_bytes", ours, 14});
  fields.push_back({"uncompressed", "peer_wire_bytes", plain, 14});
  fields.push_back({"Ratio", "wire_ratio", ours > 0 ? static_cast<double>(plain) / static_cast<double>(ours) : 0, 10});
}

void latencyRow(Rank& rank, const Case& one, const Repeats& repeats) {
  std::uint64_t wrong = 0;
  if (rank.options.validate) {
    wrong = validate(rank, one);
  }
  if (rank.peer != nullptr) {
    rank.peer->settle(one.call);
  }
  const Sample taken = sample(rank, [&](Engine& engine, std::vector<double>* each) {
    if (rank.options.overlap > 0) return steadyUs(engine, repeats, one.calls);
    return meanUs(
        rank, engine, repeats, [&] { runOnce(rank, engine, one.call); }, each);
  });
  const bool full = rank.options.full;
  std::vector<Field> fields = {
      {"Avg Latency(us)", "us", taken.ours.mean},
      {full ? "Min Latency(us)" : "", "min_us", taken.ours.min},
      {full ? "Max Latency(us)" : "", "max_us", taken.ours.max},
      {full ? "Iterations" : "", "iterations", static_cast<std::uint64_t>(repeats.iterations), 12}};
  addValidation(rank, fields, wrong);
  addTails(rank, taken.each, false, fields);
  if (one.spec.collective != Collective::barrier) {
    addBandwidth(rank, one, taken.ours.mean, wrong, fields);
  }
  addPeer(rank, fields, {"Latency(us)", "us", taken.peer, taken.peer / taken.ours.mean});
  if (!rank.options.codec.empty()) addWireBytes(rank, one, fields);
  rank.report.row(one.spec.collective == Collective::barrier ? std::nullopt : std::optional(one.bytes), fields);
}

/// OSU's overlap: how much of the pure communication time is hidden behind a computation of the same length.
void overlapRow(Rank& rank, const Case& one, const Repeats& repeats) {
  std::uint64_t wrong = 0;
  if (rank.options.validate) {
    wrong = validate(rank, one);
  }
  const Statistics pure =
      overRanks(rank.goss, meanUs(rank, rank.goss, repeats, [&] { runOnce(rank, rank.goss, one.call); }));
  const Computation computation(pure.mean);
  double init = 0, compute = 0, test = 0, wait = 0;
  int calls = 0;
  std::vector<double> each;
  const auto beside = [&] {
    const double start = nowUs();
    rank.goss.begin(one.call);
    const double begun = nowUs();
    const double tested = computation.run(rank.options.test_calls, [&] { (void)rank.goss.test(); });
    const double computed = nowUs();
    rank.goss.wait();
    if (++calls > repeats.warmup) {
      init += begun - start;
      compute += computed - begun - tested;
      test += tested;
      wait += nowUs() - computed;
    }
  };
  const double overall_mean = meanUs(rank, rank.goss, repeats, beside, rank.options.tails ? &each : nullptr);
  if (rank.options.tails) rank.goss.combine(each.data(), each.size(), GOSS_AVG);
  const auto mean = [&](double total) { return overRanks(rank.goss, total / repeats.iterations).mean; };
  const double overall = overRanks(rank.goss, overall_mean).mean;
  const double computed = mean(compute);
  const double overlap = std::max(0.0, 100.0 - 100.0 * (overall - computed) / pure.mean);
  const auto title = [&](const char* text) { return std::string(rank.options.full ? text : ""); };
  std::vector<Field> fields = {{"Overall(us)", "us", overall},
                               {"Compute(us)", "compute_us", computed},
                               {title("Coll. Init(us)"), "init_us", mean(init)},
                               {title("MPI_Test(us)"), "test_us", mean(test)},
                               {title("MPI_Wait(us)"), "wait_us", mean(wait)},
                               {"Pure Comm.(us)", "pure_us", pure.mean},
                               {title("Min Comm.(us)"), "min_us", pure.min},
                               {title("Max Comm.(us)"), "max_us", pure.max},
                               {"Overlap(%)", "overlap", overlap}};
  addValidation(rank, fields, wrong);
  addTails(rank, std::move(each), false, fields);
  rank.report.row(one.spec.collective == Collective::barrier ? std::nullopt : std::optional(one.bytes), fields);
}

void runCase(Rank& rank, const Case& one) {
  if (rank.options.mode == Mode::persistent) {
    rank.goss.prepare(one.call);
  }
  const Repeats repeats =
      repeatsFor(rank, one.bytes, kCollectiveRepeats, [&](Engine& engine) { runOnce(rank, engine, one.call); });
  if (rank.options.mode == Mode::nonblocking) {
    overlapRow(rank, one, repeats);
  } else {
    latencyRow(rank, one, repeats);
  }
  if (rank.options.mode == Mode::persistent) {
    rank.goss.release();
  }
}

void printHeader(Rank& rank, const CollectiveSpec& spec) {
  const bool nonblocking = rank.options.mode == Mode::nonblocking;
  std::vector<std::string> lines = {fmt::format("Gossamer {}{} Latency Test v{}.{}.{}",
                                                nonblocking                             ? "Non-blocking "
                                                : rank.options.mode == Mode::persistent ? "Persistent "
                                                                                        : "",
                                                spec.title, GOSS_VERSION_MAJOR, GOSS_VERSION_MINOR,
                                                GOSS_VERSION_PATCH)};
  if (rank.options.overlap > 0) {
    lines.push_back(
        fmt::format("Time per call in the steady state; each starts before the one {} earlier is waited for.",
                    rank.options.overlap));
  }
  if (nonblocking) {
    lines.emplace_back("Overall = Coll. Init + Compute + MPI_Test + MPI_Wait");
    lines.emplace_back("");
  }
  if (!rank.options.device.empty()) {
    lines.push_back(fmt::format("Buffers in memory of GPUs ({}).", rank.options.device));
  }
  if (spec.collective != Collective::barrier) {
    lines.push_back(fmt::format("Datatype: {}.", dtypeName(dtypeNamed(rank.options.dtype))));
  }
  if (rank.peer != nullptr) {
    lines.push_back(fmt::format("Medians of {} alternating rounds; ratio = {} / Gossamer.", rank.options.rounds,
                                rank.peer->name()));
  }
  rank.report.header(lines);
}

void refuseWrongOptions(const Rank& rank, const CollectiveSpec& spec) {
  if (rank.options.in_place && !spec.takes_in_place) {
    throw std::invalid_argument(fmt::format("{} has no form with one buffer; leave out --in-place", spec.name));
  }
  if (rank.options.tails && rank.options.overlap > 0) {
    throw std::invalid_argument("-z is about the times of single calls; leave out --overlap");
  }
  if (!rank.options.compare.empty() && rank.options.overlap > 0) {
    throw std::invalid_argument("--compare is for one call at a time; leave out --overlap");
  }
  if (rank.peer != nullptr && (rank.options.mode != Mode::blocking || rank.options.in_place)) {
    throw std::invalid_argument(
        "--compare is for blocking calls with two buffers; leave out --nonblocking, --persistent, --in-place");
  }
}

} // namespace

std::vector<std::string> collectiveNames() {
  std::vector<std::string> names;
  for (const CollectiveSpec& spec : collectiveSpecs()) {
    names.emplace_back(spec.name);
  }
  return names;
}

bool runCollective(Rank& rank) {
  const CollectiveSpec* spec = findSpec(rank.options.benchmark);
  if (spec == nullptr) {
    return false;
  }
  refuseWrongOptions(rank, *spec);
  printHeader(rank, *spec);
  if (spec->collective == Collective::barrier) {
    runCase(rank, makeCase(rank, *spec, 0, allocateBuffers(rank, 0)));
    return true;
  }
  const std::size_t width = goss_dtype_size(dtypeNamed(rank.options.dtype));
  std::vector<std::size_t> sizes =
      messageSizes(rank.options.sizes, std::max<std::size_t>(4, width), std::size_t{4} << 20, rank.options.step);
  const auto tooLarge = [&](std::size_t bytes) {
    return countedBytes(*spec, bytes, rank.goss.size()) > rank.options.memory_limit;
  };
  if (std::erase_if(sizes, tooLarge) != 0) {
    rank.report.comment(
        fmt::format("Larger sizes are left out; see --mem-limit ({} bytes).", rank.options.memory_limit));
  }
  // Sizes below one element cannot be measured; OSU starts at one element too.
  std::erase_if(sizes, [width](std::size_t bytes) { return bytes < width; });
  if (sizes.empty()) {
    throw std::invalid_argument("no message size is left between one element and --mem-limit; see -m");
  }
  const std::size_t most = countedBytes(*spec, sizes.back(), rank.goss.size());
  const std::vector<Buffers> buffers = allocateBuffers(rank, most);
  for (const std::size_t bytes : sizes) {
    Case one = makeCase(rank, *spec, bytes, buffers);
    one.call.counts = one.shape.counts.data();
    for (CollectiveCall& call : one.calls)
      call.counts = one.call.counts;
    runCase(rank, one);
    if (rank.failed) {
      return true;
    }
  }
  return true;
}

} // namespace goss::bench
