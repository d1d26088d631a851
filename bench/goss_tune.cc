/// goss-tune: measures once what messages and sums cost on this machine or cluster, and writes the tuning file that the
/// planner reads (GOSS_TUNING). docs/benchmarks.md describes its use, docs/formats.md the file.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/suite/goss_engine.h"
#include "bench/suite/runner.h"
#include "bench/tune/limits.h"

namespace {

using goss::bench::GossEngine;
using goss::bench::nowUs;
using Json = nlohmann::ordered_json;

constexpr std::size_t kBulkBytes = 1 << 20;
constexpr std::size_t kCpuBytes = 16 << 20;
constexpr int kBulkMessages = 8;
constexpr int kSmallMessages = 64;
constexpr int kRounds = 9;

struct Settings {
  std::string output = "gossamer-tuning.json";
  bool limits = false;
};

/// A rank exchanges with one partner, all pairs at the same time: what they share is in the price.
struct Pair {
  GossEngine& engine;
  int partner;
  bool first;
};

/// The median over rounds of what the slowest rank needs for `round`, in seconds.
template <typename Round>
double secondsOf(const Pair& pair, int repeats, const Round& round) {
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    pair.engine.barrier();
    const double start = nowUs();
    for (int repeat = 0; repeat < repeats; ++repeat)
      round();
    double seconds = (nowUs() - start) / repeats * 1e-6;
    pair.engine.combine(&seconds, 1, GOSS_MAX);
    times.push_back(seconds);
  }
  return goss::bench::median(times);
}

/// A number with three digits: more would be noise in the file.
double rounded(double value) { return std::stod(fmt::format("{:.3g}", value)); }

Json measureLink(const Pair& pair) {
  const std::vector<unsigned char> out(kBulkBytes);
  std::vector<unsigned char> in(kBulkBytes * kBulkMessages);
  GossEngine& engine = pair.engine;
  const double round_trip_s = secondsOf(pair, 500, [&] {
    if (pair.first) engine.send(out.data(), 8, pair.partner);
    engine.recv(in.data(), 8, pair.partner);
    if (!pair.first) engine.send(out.data(), 8, pair.partner);
  });
  const auto exchange = [&](std::size_t bytes, int messages) {
    for (int i = 0; i < messages; ++i)
      engine.startRecv(in.data() + static_cast<std::size_t>(i) % kBulkMessages * bytes, bytes, pair.partner);
    for (int i = 0; i < messages; ++i)
      engine.startSend(out.data(), bytes, pair.partner);
    engine.waitAll();
  };
  const double small_s = secondsOf(pair, 20, [&] { exchange(8, kSmallMessages); }) / kSmallMessages;
  const double bulk_s = secondsOf(pair, 4, [&] { exchange(kBulkBytes, kBulkMessages); }) / kBulkMessages;
  return {{"latency_s", rounded(round_trip_s / 2)},
          {"bandwidth_bytes_per_s", rounded(static_cast<double>(kBulkBytes) / bulk_s)},
          {"overhead_s", rounded(small_s)}};
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
  goss_comm_t comm = nullptr;
  goss::bench::check(goss_comm_create(&config, &comm), "goss_comm_create");
  return comm;
}

/// Collective over `world`: another communicator over the same ranks and one transport.
Json measureForced(GossEngine& world, const char* transport) {
  goss_unique_id id{};
  if (world.rank() == 0) goss::bench::check(goss_unique_id_create(&id), "goss_unique_id_create");
  goss::bench::CollectiveCall call;
  call.collective = goss::bench::Collective::broadcast;
  call.send = call.recv = &id;
  call.count = sizeof id;
  call.dtype = GOSS_UINT8;
  world.run(call);
  GossEngine engine(makeComm(world.rank(), world.size(), &id, transport), "");
  return measureLink(pairUp(engine));
}

/// Collective. Not by the names of transports: that of a secured link is the same on one host and between two.
bool isOnSeveralHosts(GossEngine& world) {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  const auto number = static_cast<double>(std::hash<std::string_view>{}(name.data()) >> 11); // Exact in a double.
  std::array<double, 2> ends{number, -number};
  world.combine(ends.data(), ends.size(), GOSS_MAX);
  return ends[0] != -ends[1];
}

Json measureLinks(GossEngine& world) {
  const Pair pair = pairUp(world);
  const char* name = "";
  goss::bench::check(goss_comm_transport(world.comm(), pair.partner, &name), "goss_comm_transport");
  // A pair that shares a host has shared memory; the farthest pairs decide, and all must decide alike.
  const bool secured = std::getenv("GOSS_TLS") != nullptr;
  double apart = !secured && std::string_view(name) == "tcp" ? 1 : 0;
  world.combine(&apart, 1, GOSS_MAX);
  if (apart > 0 || (secured && isOnSeveralHosts(world))) return {{"network", measureLink(pair)}};
  if (secured) return {{"tls", measureForced(world, "tls")}}; // Nothing may be sent in clear now.
  return {{"shm", measureForced(world, "shm")}, {"tcp", measureForced(world, "tcp")}};
}

std::string now() {
  std::array<char, 32> text{};
  const std::time_t seconds = std::time(nullptr);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", std::gmtime(&seconds));
  return text.data();
}

/// Levels that the file has from another run are kept: a cluster is measured between hosts, then on one.
void write(const std::string& path, const Json& links, int ranks) {
  Json file = Json::object();
  if (std::ifstream old(path); old) {
    file = Json::parse(old, nullptr, false);
    if (!file.is_object() || file.value("gossamer_tuning", 0) != 1) {
      throw std::runtime_error(fmt::format("{} is there and is no tuning file; name another with -o", path));
    }
  }
  file["gossamer_tuning"] = 1;
  file["measured"] = fmt::format("{}, {} ranks, goss-tune {}.{}.{}", now(), ranks, GOSS_VERSION_MAJOR,
                                 GOSS_VERSION_MINOR, GOSS_VERSION_PATCH);
  file["cpu"] = {{"reduce_bytes_per_s", rounded(goss::bench::reduceRate(kCpuBytes) * 1e9)},
                 {"copy_bytes_per_s", rounded(goss::bench::copyRate(kCpuBytes) * 1e9)}};
  for (const auto& [level, price] : links.items())
    file["links"][level] = price;
  std::ofstream out(path);
  out << file.dump(2) << '\n';
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write {}; name another file with -o", path));
  fmt::print("{}\nwrote {}; use it with GOSS_TUNING={}\n", file.dump(2), path, path);
}

void tune(goss_comm_t comm, const Settings& settings) {
  GossEngine world(comm, "");
  const Json links = measureLinks(world);
  if (world.rank() == 0) write(settings.output, links, world.size());
  world.barrier();
}

/// Without a launcher: this process and a child.
int tuneAlone(const Settings& settings) {
  goss_unique_id id;
  goss::bench::check(goss_unique_id_create(&id), "goss_unique_id_create");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot start a second process");
  int status = 0;
  try {
    tune(makeComm(child == 0 ? 1 : 0, 2, &id, nullptr), settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-tune: {}\n", error.what());
    status = 1;
  }
  if (child == 0) ::_exit(status);
  int of_child = 0;
  ::waitpid(child, &of_child, 0);
  return status != 0 || of_child != 0;
}

/// Not for the planner: what scripts/performance compares with, in us by bytes.
void printLimits() {
  Json limits;
  constexpr std::size_t kFirst = 4 << 10;
  constexpr std::size_t kLast = std::size_t{256} << 20;
  for (std::size_t bytes = kFirst; bytes <= kLast; bytes *= 4)
    limits["loopback"][std::to_string(bytes)] = rounded(goss::bench::loopbackExchangeUs(bytes));
  for (std::size_t bytes = kFirst; bytes <= kLast; bytes *= 4)
    limits["memory"][std::to_string(bytes)] = rounded(goss::bench::twoCoreSumUs(bytes));
  fmt::print("{}\n", limits.dump(2));
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Measures what messages and sums cost here and writes the file that GOSS_TUNING names.\n"
      "Start it alone on one machine, or with mpirun, half of the ranks on each of two hosts. With GOSS_TLS set it\n"
      "measures secured links alone."};
  Settings settings;
  app.add_option("-o,--output", settings.output, "The file; levels that it has already and that are not measured stay");
  app.add_flag("--limits", settings.limits, "Prints what plain sums and plain sockets reach here instead, as JSON");
  CLI11_PARSE(app, argc, argv);
  try {
    if (settings.limits) {
      printLimits();
      return 0;
    }
    const bool launched = std::getenv("WORLD_SIZE") != nullptr || std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
    if (!launched) return tuneAlone(settings);
    tune(makeComm(-1, -1, nullptr, nullptr), settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-tune: {}\n", error.what());
    return 1;
  }
  return 0;
}
