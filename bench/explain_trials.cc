// goss-explain trials: the text of goss_comm_trials as a table.
#include "bench/explain_trials.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/commandline/command_line.h"

namespace {

void printTable(const nlohmann::json& all) {
  fmt::print("{} plans tried, {} adopted{}\n", all.at("plans_tried").get<std::uint64_t>(),
             all.at("plans_adopted").get<std::uint64_t>(),
             all.at("compares").get<bool>() ? "" : "; plans are not compared here");
  for (const auto& kind : all.at("calls"))
    fmt::print("{} calls of {} bytes: {} runs{}\n", kind.at("started").get<std::uint64_t>(),
               kind.at("bytes").get<std::uint64_t>(), kind.at("algorithm").get<std::string>(),
               kind.at("settled").get<bool>() ? "" : ", plans are being compared");
  if (all.at("trials").empty()) return;
  fmt::print("\n{:>12} {:>8} {:<36} {:>12} {:<36} {:>12} {}\n", "bytes", "call", "tried", "took (s)", "in use",
             "took (s)", "adopted");
  for (const auto& trial : all.at("trials"))
    fmt::print("{:>12} {:>8} {:<36} {:>12.4f} {:<36} {:>12.4f} {}\n", trial.at("bytes").get<std::uint64_t>(),
               trial.at("call").get<std::uint64_t>(), trial.at("tried").get<std::string>(),
               trial.at("seconds").get<double>(), trial.at("against").get<std::string>(),
               trial.at("against_seconds").get<double>(), trial.at("adopted").get<bool>() ? "yes" : "no");
}

} // namespace

int explainTrials(int argc, char** argv) {
  std::string file;
  goss::CommandLine line(
      "Prints which plans of large all-reduces a job has compared over wide-area links (GOSS_MEASURE), what their "
      "calls\n"
      "took, and which were adopted.");
  line.option("file", file, "What goss_comm_trials, or Comm.trials() as JSON, said in the job")
      .existingFile()
      .required();
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  try {
    std::ifstream input(file);
    printTable(nlohmann::json::parse(input));
  } catch (const nlohmann::json::exception& error) {
    fmt::print(stderr, "goss-explain: {} holds no text of goss_comm_trials: {}\n", file, error.what());
    return 1;
  }
  return 0;
}
