/// goss-tune: measures once what messages and sums cost on this machine or cluster, and writes the tuning file that the
/// planner reads (GOSS_TUNING). docs/benchmarks.md describes its use, docs/formats.md the file.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/suite/goss_engine.h"
#include "bench/suite/runner.h"
#include "bench/tune/limits.h"
#include "bench/tune/notebook.h"
#include "tools/commandline/command_line.h"

namespace {

using goss::bench::GossEngine;
using goss::bench::Notebook;
using goss::bench::nowUs;
using Json = nlohmann::ordered_json;

constexpr std::size_t kBulkBytes = 1 << 20;
constexpr std::size_t kCpuBytes = 16 << 20;
constexpr int kBulkMessages = 8;
constexpr int kSmallMessages = 64;
constexpr int kRounds = 9;
constexpr double kMaxRound_s = 1; ///< Limit of a round or of one repetition.

struct Settings {
  std::string output = "gossamer-tuning.json";
  double seconds = 60;
  bool limits = false;
};

/// A rank exchanges with one partner, all pairs at the same time: so the prices include what pairs share.
struct Pair {
  GossEngine& engine;
  int partner;
  bool first;
};

/// Measures the links of one level (between hosts, or on one host). All ranks do the same number of repetitions,
/// because they decide by times on which they have agreed.
class Level {
 public:
  /// `more_levels`: levels that are measured after this one, and share the time that is left.
  Level(Notebook& notes, std::string name, const Pair& pair, int more_levels)
      : notes_(notes), name_(std::move(name)), pair_(pair), figures_left_(kFigures * (1 + more_levels)) {}
  void measure();

 private:
  /// Seconds for the next figure, the same on all ranks.
  double nextShare();
  /// Seconds that the slowest rank needs for `round`.
  template <typename Round>
  double timed(int repeats, const Round& round);
  /// The median over up to kRounds of so many repeats or fewer, as the time allows.
  template <typename Round>
  double secondsOf(int most_repeats, const Round& round);
  void exchange(std::size_t bytes, int messages);

  static constexpr int kFigures = 3;

  Notebook& notes_;
  const std::string name_;
  const Pair pair_;
  int figures_left_;
  std::string figure_;
  const std::vector<unsigned char> out_ = std::vector<unsigned char>(kBulkBytes);
  std::vector<unsigned char> in_ = std::vector<unsigned char>(kBulkBytes * kBulkMessages);
};

double Level::nextShare() {
  // The rest of the time is a reserve for measurements that take longer than their first repetition.
  constexpr double kSpent = 0.7;
  double share_s = kSpent * notes_.left_s() / figures_left_--;
  pair_.engine.combine(&share_s, 1, GOSS_MIN);
  return share_s;
}

template <typename Round>
double Level::timed(int repeats, const Round& round) {
  pair_.engine.barrier();
  const double start = nowUs();
  for (int repeat = 0; repeat < repeats; ++repeat)
    round();
  double seconds = (nowUs() - start) / repeats * 1e-6;
  pair_.engine.combine(&seconds, 1, GOSS_MAX);
  return seconds;
}

template <typename Round>
double Level::secondsOf(int most_repeats, const Round& round) {
  double left_s = nextShare();
  std::vector<double> times;
  int repeats = 1; // The first repetition shows how long one takes.
  for (int i = 0; i <= kRounds; ++i) {
    notes_.say(fmt::format("{} {}, round {} of {}", name_, figure_, std::max(i, 1), kRounds));
    times.push_back(timed(repeats, round));
    left_s -= times.back() * repeats;
    const double round_s = std::min(left_s / kRounds, kMaxRound_s);
    if (i == 0) repeats = static_cast<int>(std::clamp(round_s / times[0], 1.0, double(most_repeats)));
    if (left_s < times.back() * repeats) break;
  }
  if (times.size() > 1) times.erase(times.begin());
  return goss::bench::median(times);
}

void Level::exchange(std::size_t bytes, int messages) {
  for (int i = 0; i < messages; ++i)
    pair_.engine.startRecv(in_.data() + static_cast<std::size_t>(i) % kBulkMessages * bytes, bytes, pair_.partner);
  for (int i = 0; i < messages; ++i)
    pair_.engine.startSend(out_.data(), bytes, pair_.partner);
  pair_.engine.waitAll();
}

void Level::measure() {
  GossEngine& engine = pair_.engine;
  figure_ = "latency";
  const double round_trip_s = secondsOf(500, [&] {
    if (pair_.first) engine.send(out_.data(), 8, pair_.partner);
    engine.recv(in_.data(), 8, pair_.partner);
    if (!pair_.first) engine.send(out_.data(), 8, pair_.partner);
  });
  notes_.noteLink(name_, "latency_s", round_trip_s / 2);
  figure_ = "overhead";
  const double small_s = secondsOf(20, [&] { exchange(8, kSmallMessages); }) / kSmallMessages;
  notes_.noteLink(name_, "overhead_s", small_s);
  figure_ = "bandwidth";
  notes_.say(fmt::format("{} {}", name_, figure_));
  const double one_s = timed(1, [&] { exchange(kBulkBytes, 1); });
  double fitting = notes_.left_s() / 4 / one_s;
  engine.combine(&fitting, 1, GOSS_MIN);
  const int messages = static_cast<int>(std::clamp(fitting, 1.0, double(kBulkMessages)));
  const double bulk_s = secondsOf(4, [&] { exchange(kBulkBytes, messages); }) / messages;
  notes_.noteLink(name_, "bandwidth_bytes_per_s", static_cast<double>(kBulkBytes) / bulk_s);
}

Pair pairUp(GossEngine& engine) {
  const int half = engine.size() / 2;
  if (engine.size() % 2 != 0) throw std::runtime_error("goss-tune needs an even number of ranks");
  const bool first = engine.rank() < half;
  return {engine, first ? engine.rank() + half : engine.rank() - half, first};
}

goss_comm_t makeComm(int rank, int ranks, const goss_unique_id* id, const char* transport) {
  goss_config config;
  goss::bench::check(goss_config_init(&config), "goss_config_init");
  config.rank = rank;
  config.ranks = ranks;
  config.unique_id = id;
  if (transport != nullptr) config.transport = transport;
  config.measure = "off"; // It measures itself.
  goss_comm_t comm = nullptr;
  goss::bench::check(goss_comm_create(&config, &comm), "goss_comm_create");
  return comm;
}

/// Collective over `world`: another communicator over the same ranks and one transport.
void measureForced(GossEngine& world, const char* transport, Notebook& notes, int more_levels) {
  goss_unique_id id{};
  if (world.rank() == 0) goss::bench::check(goss_unique_id_create(&id), "goss_unique_id_create");
  goss::bench::CollectiveCall call;
  call.collective = goss::bench::Collective::broadcast;
  call.send = call.recv = &id;
  call.count = sizeof id;
  call.dtype = GOSS_UINT8;
  world.run(call);
  GossEngine engine(makeComm(world.rank(), world.size(), &id, transport), "");
  Level(notes, transport, pairUp(engine), more_levels).measure();
}

/// Collective. It does not compare names of transports, because a secured link has the same name on one host and
/// between two.
bool isOnSeveralHosts(GossEngine& world) {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  const auto number = static_cast<double>(std::hash<std::string_view>{}(name.data()) >> 11); // Exact in a double.
  std::array<double, 2> ends{number, -number};
  world.combine(ends.data(), ends.size(), GOSS_MAX);
  return ends[0] != -ends[1];
}

void measureLinks(GossEngine& world, Notebook& notes) {
  const Pair pair = pairUp(world);
  const char* name = "";
  goss::bench::check(goss_comm_transport(world.comm(), pair.partner, &name), "goss_comm_transport");
  // A pair on one host has shared memory. The farthest pair decides, and all ranks must decide alike.
  const bool secured = std::getenv("GOSS_TLS") != nullptr;
  double apart = !secured && std::string_view(name) == "tcp" ? 1 : 0;
  world.combine(&apart, 1, GOSS_MAX);
  if (apart > 0 || (secured && isOnSeveralHosts(world))) return Level(notes, "network", pair, 0).measure();
  if (secured) return measureForced(world, "tls", notes, 0); // Nothing may be sent unencrypted now.
  measureForced(world, "shm", notes, 1);
  measureForced(world, "tcp", notes, 0);
}

void measureAll(GossEngine& world, Notebook& notes) {
  if (world.rank() == 0) {
    notes.say("sums and copies of one core");
    notes.noteCpu("reduce_bytes_per_s", goss::bench::reduceRate(kCpuBytes) * 1e9);
    notes.noteCpu("copy_bytes_per_s", goss::bench::copyRate(kCpuBytes) * 1e9);
  }
  measureLinks(world, notes);
}

void tune(const std::function<goss_comm_t()>& meet, const Settings& settings) {
  Notebook notes(settings.output, settings.seconds);
  notes.say("meeting the other ranks");
  GossEngine world(meet(), "");
  notes.begin(world.rank(), world.size());
  try {
    measureAll(world, notes);
  } catch (const std::exception&) {
    notes.write();
    if (world.rank() != 0 && notes.left_s() < 1) return; // Rank 0 ended when its time was over.
    throw;
  }
  notes.write();
  world.barrier();
}

/// Runs without a launcher: this process and a child are the two ranks.
int tuneAlone(const Settings& settings) {
  goss_unique_id id;
  goss::bench::check(goss_unique_id_create(&id), "goss_unique_id_create");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot start a second process");
  int status = 0;
  try {
    tune([&] { return makeComm(child == 0 ? 1 : 0, 2, &id, nullptr); }, settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-tune: {}\n", error.what());
    status = 1;
  }
  if (child == 0) ::_exit(status);
  int of_child = 0;
  ::waitpid(child, &of_child, 0);
  return status != 0 || of_child != 0;
}

/// Prints the limits with which scripts/performance compares, in us by bytes; the planner does not use them.
void printLimits() {
  Json limits;
  constexpr std::size_t kFirst = 4 << 10;
  constexpr std::size_t kLast = std::size_t{256} << 20;
  for (std::size_t bytes = kFirst; bytes <= kLast; bytes *= 4)
    limits["loopback"][std::to_string(bytes)] = goss::bench::rounded(goss::bench::loopbackExchangeUs(bytes));
  for (std::size_t bytes = kFirst; bytes <= kLast; bytes *= 4)
    limits["memory"][std::to_string(bytes)] = goss::bench::rounded(goss::bench::twoCoreSumUs(bytes));
  fmt::print("{}\n", limits.dump(2));
}

} // namespace

int main(int argc, char** argv) {
  goss::CommandLine line{
      "Measures what messages and sums cost here and writes the file that GOSS_TUNING names.\n"
      "Start it alone on one machine, or with mpirun, half of the ranks on each of two hosts. With GOSS_TLS set it\n"
      "measures secured links alone."};
  Settings settings;
  line.option("-o,--output", settings.output, "The file; levels that it has already and that are not measured stay");
  line.option("-s,--seconds", settings.seconds, "Ends after so many, with what it has measured by then")
      .range(1.0, 86400.0)
      .showDefault();
  line.flag("--limits", settings.limits, "Prints what plain sums and plain sockets reach here instead, as JSON");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  try {
    if (settings.limits) {
      printLimits();
      return 0;
    }
    const bool launched = std::getenv("WORLD_SIZE") != nullptr || std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
    if (!launched) return tuneAlone(settings);
    tune([] { return makeComm(-1, -1, nullptr, nullptr); }, settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-tune: {}\n", error.what());
    return 1;
  }
  return 0;
}
