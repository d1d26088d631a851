// goss-explain: which algorithm the library would take, what the others would cost, and why.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/explain_gossip.h"
#include "bench/explain_pipeline.h"
#include "bench/explain_topology.h"
#include "bench/explain_trials.h"
#include "gossamer/compression.h"
#include "gossamer/gossamer.h"
#include "tools/commandline/command_line.h"

namespace {

struct Arguments {
  std::string collective;
  int ranks = 4;
  std::size_t bytes = 1 << 20;
  std::string links_file;
  bool json = false;
  std::string codec;
};

std::string nameOf(const nlohmann::json& candidate) {
  std::string name = candidate["algorithm"];
  if (candidate.contains("group_size")) name += fmt::format(" (groups of {})", candidate["group_size"].get<int>());
  if (candidate.contains("order")) name += " (ordered)";
  if (candidate.contains("weights")) name += " (weighted)";
  if (candidate.contains("compressed")) name += " between nodes";
  if (candidate["extrapolated"].get<bool>()) name += " ~";
  return name;
}

/// Prints the candidates, cheapest first.
void printTable(const nlohmann::json& answer) {
  std::vector<nlohmann::json> candidates(answer["candidates"].begin(), answer["candidates"].end());
  std::stable_sort(candidates.begin(), candidates.end(), [](const nlohmann::json& a, const nlohmann::json& b) {
    return a["price_us"].get<double>() < b["price_us"].get<double>();
  });
  std::size_t width = 0;
  for (const auto& candidate : candidates)
    width = std::max(width, nameOf(candidate).size());
  if (answer.contains("codec")) {
    fmt::print("{}: payloads are {:.2f} % of float32\n", answer["codec"].get<std::string>(),
               100 * answer["payload_ratio"].get<double>());
    if (answer.contains("device_buffers"))
      fmt::print("GPU buffers are {}\n", answer["device_buffers"].get<std::string>());
  }
  fmt::print("{} of {} bytes over {} ranks\n", answer["collective"].get<std::string>(),
             answer["bytes"].get<std::size_t>(), answer["ranks"].get<int>());
  fmt::print("{:<{}} {:>14} {:>8} {:>9} {:>7} {:>9} {:>14}\n", "algorithm", width, "price (us)", "ratio", "fragments",
             "blocks", "messages", "bytes sent");
  for (const auto& candidate : candidates) {
    fmt::print("{:<{}} {:>14.2f} {:>8.2f} {:>9} {:>7} {:>9} {:>14}\n", nameOf(candidate), width,
               candidate["price_us"].get<double>(), candidate["ratio"].get<double>(),
               candidate["fragments"].get<unsigned>(), candidate["blocks"].get<unsigned>(),
               candidate["most_messages_sent"].get<std::uint64_t>(), candidate["most_bytes_sent"].get<std::uint64_t>());
  }
  fmt::print("\nchoice: {}\n", answer["why"].get<std::string>());
  for (const auto& phase : answer.value("phases", nlohmann::json::array())) {
    fmt::print("- {} of {} bytes: {}\n", phase["exchanges"].get<std::string>(), phase["bytes"].get<std::size_t>(),
               phase["why"].get<std::string>());
  }
}

int explain(const Arguments& arguments) {
  // The library reads the file, with the size limit that holds for every file that a setting names.
  if (!arguments.links_file.empty()) ::setenv("GOSS_LINKS", arguments.links_file.c_str(), 1);
  char* json = nullptr;
  const char* collective = arguments.collective.c_str();
  const goss_status status =
      arguments.codec.empty()
          ? goss_explain(collective, arguments.ranks, arguments.bytes, nullptr, &json)
          : goss_explain_codec(collective, arguments.ranks, arguments.bytes, arguments.codec.c_str(), nullptr, &json);
  if (status != GOSS_SUCCESS) {
    fmt::print(stderr, "goss-explain: {}\n", goss_last_error());
    return 1;
  }
  if (arguments.json) {
    fmt::print("{}\n", json);
  } else {
    printTable(nlohmann::json::parse(json));
  }
  goss_free(json);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "gossip") return explainGossip(argc - 1, argv + 1);
  if (argc > 1 && std::string(argv[1]) == "pipeline") return explainPipeline(argc - 1, argv + 1);
  if (argc > 1 && std::string(argv[1]) == "topology") return explainTopology(argc - 1, argv + 1);
  if (argc > 1 && std::string(argv[1]) == "trials") return explainTrials(argc - 1, argv + 1);
  Arguments arguments;
  goss::CommandLine line(
      "Prices every algorithm for a collective and says which one Gossamer takes, and why.\n"
      "'goss-explain pipeline --help' is about pipeline schedules, 'goss-explain topology' about this machine,\n"
      "'goss-explain gossip' about who averages with whom, 'goss-explain trials' about plans that a job has compared.");
  line.option("collective", arguments.collective,
              "allreduce, reduce, broadcast, allgather, reduce_scatter, alltoall, ...")
      .required();
  line.option("--codec", arguments.codec, "Compresses float32: int8, topk:ratio=0.01+int8, ...");
  line.option("--ranks,-n", arguments.ranks, "Number of ranks").showDefault();
  line.option("--bytes,-m", arguments.bytes, "Bytes of the vector, or of one rank's block; K, M and G are accepted")
      .byteCount()
      .showDefault();
  line.option("--links,-l", arguments.links_file, "Link prices (docs/formats.md); default: one host's shared memory")
      .existingFile();
  line.flag("--json", arguments.json, "Print the raw JSON");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  return explain(arguments);
}
