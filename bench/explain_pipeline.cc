#include "bench/explain_pipeline.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "gossamer/pipeline.h"

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

void addOptions(CLI::App& app, Arguments& arguments) {
  std::string names;
  for (std::size_t i = 0; goss_pipeline_name(i) != nullptr; ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", goss_pipeline_name(i));
  app.add_option("--schedule,-s", arguments.schedule, names);
  app.add_option("--stages,-p", arguments.stages, "Ranks of the pipeline");
  app.add_option("--micro-batches,-m", arguments.micro_batches, "Micro-batches of a batch");
  app.add_option("--batches", arguments.batches, "Batches that follow one another");
  app.add_option("--chunks", arguments.chunks, "Stages a rank of the interleaved schedule");
  app.add_flag("--recompute", arguments.recompute, "Forwards keep their input only");
  app.add_option("--read", arguments.read_file, "Explain this CSV file instead")->check(CLI::ExistingFile);
  app.add_option("--write", arguments.write_file, "Write the schedule as CSV");
  app.add_flag("--compute-only", arguments.compute_only, "... without messages and steps, as PyTorch loads it");
  app.add_option("--svg", arguments.svg_file, "Draw the timeline into this file");
  app.add_flag("--json", arguments.json, "Print the simulator's answer as JSON");
  app.add_option("--forward", arguments.costs.forward_s, "Seconds of F on one stage");
  app.add_option("--input", arguments.costs.backward_input_s, "Seconds of I; B takes I and W");
  app.add_option("--weight", arguments.costs.backward_weight_s, "Seconds of W");
  app.add_option("--recompute-time", arguments.costs.recompute_s, "Seconds of R");
  app.add_option("--latency", arguments.costs.latency_s, "Seconds of a link");
  app.add_option("--bandwidth", arguments.costs.bandwidth_bytes_per_s, "Bytes a second of a link; 0: without limit");
  app.add_option("--boundary-bytes", arguments.costs.boundary_bytes, "Bytes of a message between stages");
  app.add_option("--activation-bytes", arguments.costs.activation_bytes, "Bytes that a micro-batch holds on a stage");
}

} // namespace

int explainPipeline(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Draws and prices a pipeline schedule.", "goss-explain pipeline");
  app.option_defaults()->always_capture_default();
  addOptions(app, arguments);
  CLI11_PARSE(app, argc, argv);
  try {
    explain(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-explain: {}\n", error.what());
    return 1;
  }
  return 0;
}
