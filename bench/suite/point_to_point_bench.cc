/// Latency and bandwidth between pairs of ranks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bench/suite/families.h"
#include "bench/suite/pattern.h"
#include "bench/suite/runner.h"

namespace goss::bench {

namespace {

/// One size on one rank. Ranks without a partner only take part in barriers and sums.
struct Exchange {
  int self = 0;
  int partner = -1;
  bool first = false; ///< The sender; in a two-way exchange the rank that begins.
  int pairs = 1;
  std::size_t bytes = 0;
  int window = 1;
  unsigned char* send = nullptr;
  unsigned char* recv = nullptr;
};

using Round = void (*)(Engine& engine, const Exchange& exchange);

/// Sends a message, and receives one of the same size in return.
void pingPong(Engine& engine, const Exchange& e) {
  if (e.first) {
    engine.send(e.send, e.bytes, e.partner);
    engine.recv(e.recv, e.bytes, e.partner);
  } else {
    engine.recv(e.recv, e.bytes, e.partner);
    engine.send(e.send, e.bytes, e.partner);
  }
}

/// Sends a window of messages one way, then receives a short answer.
void windowOneWay(Engine& engine, const Exchange& e) {
  std::array<unsigned char, 4> answer{};
  for (int i = 0; i < e.window; ++i) {
    if (e.first) {
      engine.startSend(e.send, e.bytes, e.partner);
    } else {
      engine.startRecv(e.recv, e.bytes, e.partner);
    }
  }
  engine.waitAll();
  if (e.first) {
    engine.recv(answer.data(), answer.size(), e.partner);
  } else {
    engine.send(answer.data(), answer.size(), e.partner);
  }
}

/// Sends a window of messages each way at once.
void windowBothWays(Engine& engine, const Exchange& e) {
  for (int i = 0; i < e.window; ++i) {
    engine.startRecv(e.recv, e.bytes, e.partner);
  }
  for (int i = 0; i < e.window; ++i) {
    engine.startSend(e.send, e.bytes, e.partner);
  }
  engine.waitAll();
}

enum class Figure { latency, bandwidth, messageRate };

struct PairSpec {
  const char* name;
  const char* title;
  Round round;
  Figure figure;
  int messages_each_way; ///< Directions counted in the bandwidth.
  bool all_pairs;        ///< Rank i with rank i + n/2, all at once; otherwise rank 0 with rank 1 alone.
  RepeatDefaults repeats;
};

constexpr std::array<PairSpec, 4> kSpecs = {{
    {"latency", "Latency Test", pingPong, Figure::latency, 1, false, kLatencyRepeats},
    {"bw", "Bandwidth Test", windowOneWay, Figure::bandwidth, 1, false, kBandwidthRepeats},
    {"bibw", "Bi-Directional Bandwidth Test", windowBothWays, Figure::bandwidth, 2, false, kBandwidthRepeats},
    {"mbw_mr", "Multiple Bandwidth / Message Rate Test", windowOneWay, Figure::messageRate, 1, true, kBandwidthRepeats},
}};

Exchange makeExchange(const Rank& rank, const PairSpec& spec) {
  Exchange e;
  e.self = rank.goss.rank();
  e.window = spec.figure == Figure::latency ? 1 : rank.options.window;
  e.pairs = spec.all_pairs ? rank.goss.size() / 2 : 1;
  if (e.self < 2 * e.pairs) {
    e.first = e.self < e.pairs;
    e.partner = e.first ? e.self + e.pairs : e.self - e.pairs;
  }
  return e;
}

/// Mean microseconds of a round over the senders; 0 on the ranks that do not send. If `each` is not null, the function
/// appends to it the microseconds of every round, 0 on the ranks that do not send.
double roundUs(Engine& engine, const PairSpec& spec, const Exchange& e, const Repeats& repeats,
               std::vector<double>* each) {
  engine.barrier();
  double start = nowUs();
  for (int i = 0; i < repeats.warmup + repeats.iterations; ++i) {
    start = i == repeats.warmup ? nowUs() : start;
    const double begun = each != nullptr ? nowUs() : 0;
    if (e.partner >= 0) spec.round(engine, e);
    if (each != nullptr && i >= repeats.warmup) each->push_back(e.first ? nowUs() - begun : 0);
  }
  const double elapsed = nowUs() - start;
  engine.barrier();
  return e.first ? elapsed / repeats.iterations : 0;
}

std::uint64_t validate(Rank& rank, const Exchange& e) {
  std::size_t wrong = 0;
  for (int round = 0; e.partner >= 0 && round < rank.options.validation_rounds; ++round) {
    const Pattern pattern(GOSS_INT8, GOSS_SUM, 1, round);
    pattern.fill(e.send, e.self, 0, e.bytes);
    std::memset(e.recv, 0x5a, e.bytes);
    pingPong(rank.goss, e);
    wrong += pattern.wrong(e.recv, e.partner, e.partner + 1, 0, e.bytes);
  }
  return totalWrong(rank, wrong);
}

void runSize(Rank& rank, const PairSpec& spec, const Exchange& e) {
  const std::uint64_t wrong = rank.options.validate ? validate(rank, e) : 0;
  const Repeats repeats = repeatsFor(rank, e.bytes, spec.repeats, [&](Engine& engine) {
    if (e.partner >= 0) {
      spec.round(engine, e);
    }
  });
  const Sample taken =
      sample(rank, [&](Engine& engine, std::vector<double>* each) { return roundUs(engine, spec, e, repeats, each); });
  // The mean over ranks counts zeros for ranks that do not send.
  const double us = taken.ours.mean * rank.goss.size() / e.pairs;
  const double peer_us = taken.peer * rank.goss.size() / e.pairs;
  const double messages = static_cast<double>(e.window) * e.pairs * spec.messages_each_way;
  const auto megabytes = [&](double round_us) {
    return round_us > 0 ? messages * static_cast<double>(e.bytes) / round_us : 0;
  };
  const bool latency = spec.figure == Figure::latency;
  std::vector<Field> fields;
  if (latency) {
    fields.push_back({"Avg Latency(us)", "us", us / 2});
  } else {
    fields.push_back({spec.figure == Figure::messageRate ? "MB/s" : "Bandwidth (MB/s)", "mb_per_s", megabytes(us)});
    fields.push_back({spec.figure == Figure::messageRate ? "Messages/s" : "", "messages_per_s", messages / us * 1e6});
    fields.push_back({"", "us", us});
  }
  fields.push_back(
      {rank.options.full ? "Iterations" : "", "iterations", static_cast<std::uint64_t>(repeats.iterations), 12});
  addValidation(rank, fields, wrong);
  std::vector<double> each = taken.each;
  for (double& figure : each) {
    const double round_us = figure * rank.goss.size() / e.pairs;
    figure = latency ? round_us / 2 : megabytes(round_us);
  }
  addTails(rank, std::move(each), !latency, fields);
  if (latency) {
    addPeer(rank, fields, {"Latency(us)", "us", peer_us / 2, peer_us / us});
  } else {
    addPeer(rank, fields, {"MB/s", "mb_per_s", megabytes(peer_us), peer_us / us});
  }
  rank.report.row(e.bytes, fields);
}

} // namespace

std::vector<std::string> pointToPointNames() {
  std::vector<std::string> names;
  for (const PairSpec& spec : kSpecs) {
    names.emplace_back(spec.name);
  }
  return names;
}

bool runPointToPoint(Rank& rank) {
  const auto found =
      std::find_if(kSpecs.begin(), kSpecs.end(), [&](const PairSpec& s) { return rank.options.benchmark == s.name; });
  if (found == kSpecs.end()) {
    return false;
  }
  if (rank.goss.size() < 2) {
    throw std::invalid_argument(
        fmt::format("{} needs at least two ranks; start it with mpirun -np 2 or --threads 2", found->name));
  }
  if (rank.options.mode != Mode::blocking) {
    throw std::invalid_argument(fmt::format("{} has one form; leave out --nonblocking and --persistent", found->name));
  }
  if (!rank.options.device.empty()) {
    throw std::invalid_argument(fmt::format("{} sends from memory of the host; leave out --device", found->name));
  }
  rank.report.header(
      {fmt::format("Gossamer {} v{}.{}.{}", found->title, GOSS_VERSION_MAJOR, GOSS_VERSION_MINOR, GOSS_VERSION_PATCH)});
  Exchange e = makeExchange(rank, *found);
  if (found->all_pairs) {
    rank.report.comment(fmt::format("[ pairs: {} ] [ window size: {} ]", e.pairs, e.window));
  }
  rank.report.comment(fmt::format("Datatype: {}.", dtypeName(GOSS_INT8)));
  const std::vector<std::size_t> sizes = messageSizes(rank.options.sizes, 1, std::size_t{4} << 20, rank.options.step);
  const Memory send = allocate(rank, sizes.back());
  const Memory recv = allocate(rank, sizes.back());
  e.send = send.get();
  e.recv = recv.get();
  for (const std::size_t bytes : sizes) {
    e.bytes = bytes;
    runSize(rank, *found, e);
    if (rank.failed) {
      return true;
    }
  }
  return true;
}

} // namespace goss::bench
