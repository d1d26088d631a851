#include "bench/suite/gossip.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/suite/goss_engine.h"
#include "bench/suite/plot.h"
#include "bench/suite/report.h"
#include "bench/suite/world.h"
#include "gossamer/gossip.h"
#include "tools/commandline/command_line.h"

namespace goss::bench {

namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  std::vector<std::string> topologies = {
      "ring", "exponential", "one-peer-exponential", "base:k=1", "shift-one", "grid", "hypercube",
      "star", "full",        "random-regular"};
  std::vector<std::string> codecs = {"none", "fp16", "int8", "int4"};
  int rounds = 16;
  int elements = 65536;
  Options world;
};

/// What has been spent until a round's end, from the first round on, and what is left.
struct Sample {
  int round = 0;
  double bytes = 0;    ///< Sent by a rank, mean over ranks.
  double seconds = 0;  ///< Sum of each round's slowest rank.
  double distance = 0; ///< How far the ranks' vectors are from their mean; 1: as far as at the start.
  double drift = 0;    ///< How far the mean is from that at the start, in the same units.
};

/// One rank's vector, which every topology and codec begins with anew.
class Gossip {
 public:
  Gossip(GossEngine& engine, const Arguments& arguments)
      : engine_(engine), arguments_(arguments), first_(static_cast<std::size_t>(arguments.elements)) {
    std::uint64_t state = static_cast<std::uint64_t>(engine.rank()) + 1;
    for (float& value : first_) { // a linear congruence: the same numbers everywhere
      state = state * 6364136223846793005u + 1442695040888963407u;
      value = static_cast<float>(state >> 40) * 0x1p-23F - 1;
    }
    mean_ = meanOf(first_);
    scale_ = apart(first_, mean_);
  }

  /// Throws std::invalid_argument where the topology or codec is not for these ranks, on all of them.
  std::vector<Sample> run(const std::string& spec, const std::string& codec) {
    goss_topology_t topology = nullptr;
    check(goss_topology_create(spec.c_str(), engine_.size(), &topology), "goss_topology_create");
    std::vector<Sample> samples;
    std::vector<float> x = first_;
    Sample now;
    try {
      while (now.round < arguments_.rounds) {
        mix(topology, codec, x, now);
        samples.push_back(now);
      }
    } catch (...) {
      goss_topology_destroy(topology);
      throw;
    }
    goss_topology_destroy(topology);
    return samples;
  }

 private:
  void mix(goss_topology_t topology, const std::string& codec, std::vector<float>& x, Sample& now) {
    goss_neighborhood neighborhood = GOSS_NEIGHBORHOOD_INIT;
    check(goss_topology_neighbors(topology, static_cast<std::uint64_t>(now.round), engine_.rank(), &neighborhood),
          "goss_topology_neighbors");
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = codec == "none" ? nullptr : codec.c_str();
    engine_.barrier();
    const std::uint64_t before = engine_.wireBytes();
    const auto start = Clock::now();
    check(goss_neighbor_all_reduce(engine_.comm(), x.data(), x.data(), x.size(), GOSS_FLOAT32, &neighborhood, &options,
                                   nullptr),
          "goss_neighbor_all_reduce");
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    auto bytes = static_cast<double>(engine_.wireBytes() - before);
    engine_.combine(&seconds, 1, GOSS_MAX);
    engine_.combine(&bytes, 1, GOSS_SUM);
    ++now.round;
    now.seconds += seconds;
    now.bytes += bytes / engine_.size();
    const std::vector<double> mean = meanOf(x);
    now.distance = apart(x, mean) / scale_;
    double squares = 0;
    for (std::size_t i = 0; i < mean.size(); ++i)
      squares += (mean[i] - mean_[i]) * (mean[i] - mean_[i]);
    now.drift = std::sqrt(squares * engine_.size()) / scale_;
  }

  [[nodiscard]] std::vector<double> meanOf(const std::vector<float>& x) {
    std::vector<double> mean(x.begin(), x.end());
    engine_.combine(mean.data(), mean.size(), GOSS_SUM);
    for (double& value : mean)
      value /= engine_.size();
    return mean;
  }
  /// The square root of the sum over ranks and elements of (x - mean)^2.
  [[nodiscard]] double apart(const std::vector<float>& x, const std::vector<double>& mean) {
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      squares += (static_cast<double>(x[i]) - mean[i]) * (static_cast<double>(x[i]) - mean[i]);
    engine_.combine(&squares, 1, GOSS_SUM);
    return std::sqrt(squares);
  }

  GossEngine& engine_;
  const Arguments& arguments_;
  std::vector<float> first_;
  std::vector<double> mean_;
  double scale_ = 1;
};

/// The first round that has left a tenth of the distance or less; null: none.
const Sample* tenth(const std::vector<Sample>& samples) {
  const auto found = std::ranges::find_if(samples, [](const Sample& sample) { return sample.distance <= 0.1; });
  return found == samples.end() ? nullptr : &*found;
}

void printRow(Report& report, const std::string& topology, const std::string& codec,
              const std::vector<Sample>& samples) {
  const auto small = [](double value) { return fmt::format("{:.2e}", value); };
  const auto until = [&](auto figure) {
    const Sample* sample = tenth(samples);
    return sample == nullptr ? std::string("-") : figure(*sample);
  };
  const Sample& last = samples.back();
  report.row(std::nullopt,
             {{"Topology", "topology", topology, 24},
              {"Codec", "codec", codec, 10},
              {"Distance", "distance", small(last.distance), 12},
              {"Drift of mean", "drift", small(last.drift), 15},
              {"KB a round", "kb_a_round", last.bytes / last.round / 1e3, 14},
              {"us a round", "us_a_round", last.seconds / last.round * 1e6, 14},
              {"1/10: rounds", "tenth_rounds", until([](const Sample& s) { return fmt::format("{}", s.round); }), 14},
              {"KB", "tenth_kb", until([](const Sample& s) { return fmt::format("{:.1f}", s.bytes / 1e3); }), 12},
              {"us", "tenth_us", until([](const Sample& s) { return fmt::format("{:.1f}", s.seconds * 1e6); }), 12}});
}

/// What the files hold: a record a round, and a row of panels a codec.
struct Files {
  std::vector<Record> records;
  std::vector<std::vector<Panel>> panels;

  void addCodec(const std::string& codec) {
    const std::string unit = "distance from the mean";
    panels.push_back({{"codec " + codec, unit, {}, "rounds", 2},
                      {"codec " + codec, unit, {}, "bytes"},
                      {"codec " + codec, unit, {}, "seconds", 10}});
  }
  void add(const std::string& topology, const std::string& codec, const std::vector<Sample>& samples) {
    for (const Sample& sample : samples) {
      Record& record = records.emplace_back();
      record.add("topology", topology);
      record.add("codec", codec);
      record.add("round", static_cast<std::uint64_t>(sample.round));
      record.add("bytes", sample.bytes);
      record.add("seconds", sample.seconds);
      record.add("distance", sample.distance);
      record.add("drift", sample.drift);
      panels.back()[0].add(topology, sample.round, sample.distance);
      panels.back()[1].add(topology, sample.bytes, sample.distance);
      panels.back()[2].add(topology, sample.seconds, sample.distance);
    }
  }
  void write(const ReportFiles& names) const {
    std::string lines;
    for (const Record& record : records)
      lines += record.json() + "\n";
    if (!names.json.empty()) writeFile(names.json, lines, "--json");
    if (!names.plot.empty()) writeFile(names.plot, draw(panels), "--plot");
  }
};

void measure(const Arguments& arguments, GossEngine& engine) {
  const bool writes = engine.rank() == 0;
  Report report(writes, {"", arguments.world.files.csv, ""});
  report.header({fmt::format("Gossip of {} float32 on {} ranks over {}, {} rounds", arguments.elements, engine.size(),
                             engine.transport(), arguments.rounds),
                 "Distance: of the ranks from their mean, of what it was. 1/10: until a tenth of it is left"});
  Files files;
  Gossip gossip(engine, arguments);
  for (const std::string& codec : arguments.codecs) {
    files.addCodec(codec);
    for (const std::string& topology : arguments.topologies) {
      try {
        const std::vector<Sample> samples = gossip.run(topology, codec);
        printRow(report, topology, codec, samples);
        files.add(topology, codec, samples);
      } catch (const std::invalid_argument& error) { // the same on all ranks
        report.comment(fmt::format("{} with {} is left out: {}", topology, codec, error.what()));
      }
    }
  }
  report.finish();
  if (writes) files.write(arguments.world.files);
}

int runRank(const Arguments& arguments, goss_comm_t comm) {
  GossEngine engine(comm, "");
  try {
    if (engine.size() < 2) throw std::runtime_error("gossip needs at least 2 ranks; start it with --threads or mpirun");
    measure(arguments, engine);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-bench gossip: rank {}: {}\n", engine.rank(), error.what());
    engine.abort("goss-bench failed on another rank");
    return 1;
  }
}

} // namespace

int runGossip(int argc, char** argv) {
  Arguments arguments;
  CommandLine line(
      "How far ranks are from their mean after a round, a byte and a second of gossip, for every topology and codec:\n"
      "weighted means over neighbours, compressed as they are (choco and others keep the mean). Start it as "
      "goss-bench.",
      "goss-bench gossip");
  line.showDefaults();
  line.option("--topology", arguments.topologies, "Topologies (gossamer/gossip.h); ';' stands for ',' inside of one")
      .delimiter(',');
  line.option("--codec", arguments.codecs, "Codecs; none: float32").delimiter(',');
  line.option("--rounds", arguments.rounds, "Rounds of each").range(1, 100000);
  line.option("-n,--elements", arguments.elements, "Elements of a rank's vector").range(1, 1 << 28);
  line.option("--threads", arguments.world.threads, "Ranks are this many threads of one process; 0: a launcher's")
      .range(0, 256);
  line.option("--transport", arguments.world.transport, "Forces a transport, as for the other benchmarks");
  line.option("--json", arguments.world.files.json, "Writes one JSON object a round to this file");
  line.option("--csv", arguments.world.files.csv, "Writes the table to this file");
  line.option("--plot", arguments.world.files.plot, "Draws distance over rounds, bytes and seconds to this SVG file");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  for (std::string& topology : arguments.topologies)
    std::ranges::replace(topology, ';', ',');
  try {
    return onEveryRank(arguments.world, [&](goss_comm_t comm) { return runRank(arguments, comm); });
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-bench gossip: {}\n", error.what());
    return 1;
  }
}

} // namespace goss::bench
