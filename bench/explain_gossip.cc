// goss-explain gossip: a topology's neighbours, its properties, and a drawing.
#include "bench/explain_gossip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "gossamer/gossip.h"
#include "tools/commandline/command_line.h"

namespace {

struct Arguments {
  std::string topology;
  int ranks = 16;
  std::string svg_file;
  bool json = false;
};

int fail(const char* reason) {
  fmt::print(stderr, "goss-explain: {}\n", reason);
  return 1;
}

/// Takes the library's text and frees it.
std::string take(char* text) {
  std::string copy = text;
  goss_free(text);
  return copy;
}

const char* yesOrNo(const nlohmann::json& answer) { return answer.get<bool>() ? "yes" : "no"; }

void printProperties(const nlohmann::json& all) {
  fmt::print("{} of {} ranks: period of {} rounds, {} to {} neighbours a round\n", all["spec"].get<std::string>(),
             all["ranks"].get<int>(), all["period"].get<std::uint64_t>(), all["min_degree"].get<int>(),
             all["max_degree"].get<int>());
  fmt::print("rows sum to 1: {}, columns: {}, symmetric: {}, connected over a period: {}\n",
             yesOrNo(all["row_stochastic"]), yesOrNo(all["column_stochastic"]), yesOrNo(all["symmetric"]),
             yesOrNo(all["connected"]));
  if (!all["spectral_gap"].is_null()) fmt::print("spectral gap a round: {:.6g}\n", all["spectral_gap"].get<double>());
  fmt::print("exact mean: {}\n", all["exact_after"].is_null()
                                     ? std::string("not within a period")
                                     : fmt::format("after {} rounds", all["exact_after"].get<std::uint64_t>()));
}

void printNeighbors(goss_topology_t topology, int ranks) {
  constexpr int kMaxRanks = 32;
  constexpr std::uint64_t kMaxRounds = 8;
  std::uint64_t period = 0;
  goss_topology_period(topology, &period);
  for (std::uint64_t round = 0; round < std::min(period, kMaxRounds) && ranks <= kMaxRanks; ++round) {
    fmt::print("\nround {}\n", round);
    for (int rank = 0; rank < ranks; ++rank) {
      goss_neighborhood neighborhood = GOSS_NEIGHBORHOOD_INIT;
      goss_topology_neighbors(topology, round, rank, &neighborhood);
      fmt::print("  {:>3} = {:.4g} own", rank, neighborhood.self_weight);
      for (std::size_t i = 0; i < neighborhood.source_count; ++i)
        fmt::print(" + {:.4g} of {}", neighborhood.sources[i].weight, neighborhood.sources[i].rank);
      fmt::print("\n");
    }
  }
}

int show(goss_topology_t topology, const Arguments& arguments) {
  char* text = nullptr;
  if (goss_topology_describe(topology, &text) != GOSS_SUCCESS) return fail(goss_last_error());
  const std::string json = take(text);
  if (arguments.json) {
    fmt::print("{}\n", json);
  } else {
    printProperties(nlohmann::json::parse(json));
    printNeighbors(topology, arguments.ranks);
  }
  if (arguments.svg_file.empty()) return 0;
  if (goss_topology_draw(topology, -1, &text) != GOSS_SUCCESS) return fail(goss_last_error());
  std::ofstream file(arguments.svg_file);
  file << take(text);
  return file.flush() ? 0 : fail(fmt::format("cannot write '{}'", arguments.svg_file).c_str());
}

} // namespace

int explainGossip(int argc, char** argv) {
  Arguments arguments;
  goss::CommandLine line("Shows a topology of gossip: neighbours, weights, and how fast ranks agree.");
  line.option("--topology,-t", arguments.topology, "ring, torus:4x4, one-peer-exponential, base:k=1, ... (gossip.h)")
      .required();
  line.option("--ranks,-n", arguments.ranks, "Number of ranks").showDefault();
  line.option("--svg", arguments.svg_file, "Draws the rounds of a period to this file");
  line.flag("--json", arguments.json, "Print the raw JSON");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  goss_topology_t topology = nullptr;
  if (goss_topology_create(arguments.topology.c_str(), arguments.ranks, &topology) != GOSS_SUCCESS)
    return fail(goss_last_error());
  const int status = show(topology, arguments);
  goss_topology_destroy(topology);
  return status;
}
