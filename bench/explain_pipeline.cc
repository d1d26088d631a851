#include "bench/explain_pipeline.h"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "gossamer/pipeline.h"
#include "tools/commandline/command_line.h"

namespace {

struct Arguments {
  std::string schedule = "1f1b";
  std::string read_file;
  std::string write_file;
  std::string svg_file;
  int stages = 4;
  int micro_batches = 8;
  int batches = 1;
  int chunks = 2;
  bool recompute = false;
  bool json = false;
  bool compute_only = false;
  goss_pipeline_costs costs = GOSS_PIPELINE_COSTS_INIT;
};

using Pipeline = std::unique_ptr<goss_pipeline, goss_status (*)(goss_pipeline_t)>;

/// Throws what the library says about a failed call.
void check(goss_status status) {
  if (status != GOSS_SUCCESS) throw std::runtime_error(goss_last_error());
}

std::string taken(char* text) {
  const std::unique_ptr<char, void (*)(void*)> owner(text, goss_free);
  return owner.get();
}

void writeFile(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw std::runtime_error(fmt::format("cannot write {}", path));
}

Pipeline makePipeline(const Arguments& arguments) {
  goss_pipeline_t pipeline = nullptr;
  if (!arguments.read_file.empty()) {
    std::ostringstream text;
    text << std::ifstream(arguments.read_file).rdbuf();
    check(goss_pipeline_read(text.str().c_str(), &pipeline));
  } else {
    goss_pipeline_request request = GOSS_PIPELINE_REQUEST_INIT;
    request.name = arguments.schedule.c_str();
    request.ranks = arguments.stages;
    request.micro_batches = arguments.micro_batches;
    request.batches = arguments.batches;
    request.chunks = arguments.chunks;
    request.recompute = arguments.recompute ? 1 : 0;
    check(goss_pipeline_generate(&request, &pipeline));
  }
  return {pipeline, goss_pipeline_destroy};
}

void printSummary(const nlohmann::json& answer) {
  double busy = 0;
  for (const auto& value : answer["busy_s"])
    busy = std::max(busy, value.get<double>());
  const double makespan = answer["makespan_s"];
  fmt::print("\nmakespan {:g} s, of which a rank computes {:g} s ({:.1f} %); bubble {:g} s\n", makespan, busy,
             makespan > 0 ? 100 * busy / makespan : 0.0, answer["bubble_s"].get<double>());
  fmt::print("{:<6} {:>12} {:>12} {:>14} {:>12} {:>10}\n", "rank", "busy (s)", "idle (s)", "activations", "peak bytes",
             "versions");
  for (std::size_t rank = 0; rank < answer["busy_s"].size(); ++rank) {
    fmt::print("{:<6} {:>12g} {:>12g} {:>14} {:>12g} {:>10}\n", rank, answer["busy_s"][rank].get<double>(),
               answer["span_s"][rank].get<double>() - answer["busy_s"][rank].get<double>(),
               answer["peak_activations"][rank].get<int>(), answer["peak_bytes"][rank].get<double>(),
               answer["live_versions"][rank].get<int>());
  }
  for (const auto& link : answer["links"]) {
    if (link["bytes"].get<double>() > 0) {
      fmt::print("link {} -> {}: {:g} bytes\n", link["from"].get<int>(), link["to"].get<int>(),
                 link["bytes"].get<double>());
    }
  }
}

void explain(const Arguments& arguments) {
  const Pipeline pipeline = makePipeline(arguments);
  check(goss_pipeline_check(pipeline.get(), 0, 0));
  char* text = nullptr;
  if (!arguments.write_file.empty()) {
    check(goss_pipeline_write(pipeline.get(), arguments.compute_only ? 0 : 1, &text));
    writeFile(arguments.write_file, taken(text));
  }
  if (!arguments.svg_file.empty()) {
    check(goss_pipeline_draw(pipeline.get(), &arguments.costs, 1, &text));
    writeFile(arguments.svg_file, taken(text));
  }
  check(goss_pipeline_simulate(pipeline.get(), &arguments.costs, &text));
  const std::string json = taken(text);
  if (arguments.json) {
    fmt::print("{}\n", json);
    return;
  }
  check(goss_pipeline_draw(pipeline.get(), &arguments.costs, 0, &text));
  fmt::print("{}", taken(text));
  printSummary(nlohmann::json::parse(json));
}

void addOptions(goss::CommandLine& line, Arguments& arguments) {
  std::string names;
  for (std::size_t i = 0; goss_pipeline_name(i) != nullptr; ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", goss_pipeline_name(i));
  line.option("--schedule,-s", arguments.schedule, names);
  line.option("--stages,-p", arguments.stages, "Ranks of the pipeline");
  line.option("--micro-batches,-m", arguments.micro_batches, "Micro-batches of a batch");
  line.option("--batches", arguments.batches, "Batches that follow one another");
  line.option("--chunks", arguments.chunks, "Stages a rank of the interleaved schedule");
  line.flag("--recompute", arguments.recompute, "Forwards keep their input only");
  line.option("--read", arguments.read_file, "Explain this CSV file instead").existingFile();
  line.option("--write", arguments.write_file, "Write the schedule as CSV");
  line.flag("--compute-only", arguments.compute_only, "... without messages and steps, as PyTorch loads it");
  line.option("--svg", arguments.svg_file, "Draw the timeline into this file");
  line.flag("--json", arguments.json, "Print the simulator's answer as JSON");
  line.option("--forward", arguments.costs.forward_s, "Seconds of F on one stage");
  line.option("--input", arguments.costs.backward_input_s, "Seconds of I; B takes I and W");
  line.option("--weight", arguments.costs.backward_weight_s, "Seconds of W");
  line.option("--recompute-time", arguments.costs.recompute_s, "Seconds of R");
  line.option("--latency", arguments.costs.latency_s, "Seconds of a link");
  line.option("--bandwidth", arguments.costs.bandwidth_bytes_per_s, "Bytes a second of a link; 0: without limit");
  line.option("--boundary-bytes", arguments.costs.boundary_bytes, "Bytes of a message between stages");
  line.option("--activation-bytes", arguments.costs.activation_bytes, "Bytes that a micro-batch holds on a stage");
}

} // namespace

int explainPipeline(int argc, char** argv) {
  Arguments arguments;
  goss::CommandLine line("Draws and prices a pipeline schedule.", "goss-explain pipeline");
  line.showDefaults();
  addOptions(line, arguments);
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  try {
    explain(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-explain: {}\n", error.what());
    return 1;
  }
  return 0;
}
