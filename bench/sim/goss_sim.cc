// goss-sim: what training over many ranks would take, by the library's own planner, synchronizers and agreement.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>

#include "bench/sim/report.h"
#include "bench/sim/sites.h"
#include "bench/sim/training.h"
#include "tools/commandline/command_line.h"

namespace {

using goss::bench::sim::Sites;
using goss::bench::sim::TrainingOptions;

struct Arguments {
  int ranks = 8;
  std::string sites_file;
  std::string step = "1s";
  std::string churn = "0/h";
  std::string silence = "10s";
  std::string stragglers = "0:1";
  std::string svg_file;
  bool json = false;
};

/// "2.5" and what follows; false: there is no number above or equal to 0.
bool readNumber(const std::string& text, double& number, std::string& rest) {
  try {
    std::size_t end = 0;
    number = std::stod(text, &end);
    rest = text.substr(end);
    return number >= 0 && number < 1e18;
  } catch (const std::exception&) {
    return false;
  }
}

/// Seconds of "20ms"; below 0: it is none.
double seconds(const std::string& text) {
  double number = 0;
  std::string unit;
  if (!readNumber(text, number, unit)) return -1;
  for (const auto& [name, factor] :
       {std::pair<std::string_view, double>{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}})
    if (unit == name) return number * factor;
  return -1;
}

std::string checkSeconds(const std::string& text) {
  return seconds(text) >= 0 ? "" : "needs a time such as 2s or 150ms";
}

/// A second, of "0.01/h"; below 0: it is no rate.
double rate(const std::string& text) {
  double number = 0;
  std::string unit;
  if (!readNumber(text, number, unit) || unit.size() < 2 || unit[0] != '/') return -1;
  const double span_s = seconds("1" + unit.substr(1));
  return span_s > 0 ? number / span_s : -1;
}

bool readStragglers(const std::string& text, TrainingOptions& options) {
  std::string rest;
  if (!readNumber(text, options.straggling, rest) || rest.empty() || rest[0] != ':') return false;
  std::string end;
  return readNumber(rest.substr(1), options.slowdown, end) && end.empty() && options.straggling <= 1 &&
         options.slowdown >= 1;
}

int fail(const std::string& text) {
  fmt::print(stderr, "goss-sim: {}\n", text);
  return 1;
}

goss::Result<Sites> readSites(const Arguments& arguments) {
  if (arguments.sites_file.empty()) return Sites(arguments.ranks);
  std::ifstream file(arguments.sites_file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return Sites::parse(text, arguments.ranks);
}

int simulate(const Arguments& arguments, TrainingOptions options) try {
  options.step_s = seconds(arguments.step);
  options.silence_s = seconds(arguments.silence);
  options.churn_per_s = rate(arguments.churn);
  readStragglers(arguments.stragglers, options);
  auto sites = readSites(arguments);
  if (!sites.isOk()) return fail(sites.status().text());
  const auto result = goss::bench::sim::train(sites.take(), options);
  if (!result.isOk()) return fail(result.status().text());
  const auto print = arguments.json ? goss::bench::sim::asJson : goss::bench::sim::asText;
  fmt::print("{}", print(options, arguments.ranks, result.value()));
  if (arguments.svg_file.empty()) return 0;
  std::ofstream svg(arguments.svg_file);
  svg << goss::bench::sim::asSvg(options, result.value());
  return svg.flush() ? 0 : fail("cannot write '" + arguments.svg_file + "'");
} catch (const std::bad_alloc&) {
  return fail(fmt::format("there is not enough memory for {} ranks; simulate fewer", arguments.ranks));
}

} // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  TrainingOptions options;
  goss::CommandLine line(
      "Simulates training over many ranks with the library's own planner, synchronizers and agreement\n"
      "(docs/scale.md says what is simulated). Equal arguments give equal results.");
  line.option("--ranks,-n", arguments.ranks, "Number of ranks").range(1, 100000).showDefault();
  line.option("--sites", arguments.sites_file, "JSON of sites and links (docs/scale.md); default: one site, lan10g")
      .existingFile();
  line.option("--sync", options.sync, "Synchronizer, such as diloco:h=100,codec=int4").showDefault();
  line.option("--parameters,-p", options.parameters, "Parameters of the model").range(1.0, 1e15).showDefault();
  line.option("--step", arguments.step, "Time in which a rank computes a step").check(checkSeconds).showDefault();
  line.option("--steps", options.steps, "Steps of each rank").range(1UL, 100000000UL).showDefault();
  line.option("--step-jitter", options.step_jitter, "Part of it by which a step may be longer")
      .range(0.0, 100.0)
      .showDefault();
  line.option("--stragglers", arguments.stragglers, "Part of the ranks that are slow, and how many times: 0.01:2")
      .check([](const std::string& text) {
        TrainingOptions read;
        return std::string(readStragglers(text, read) ? "" : "needs PART:TIMES, such as 0.01:2");
      })
      .showDefault();
  line.option("--churn", arguments.churn, "How often a rank dies, such as 0.01/h")
      .check([](const std::string& text) { return std::string(rate(text) >= 0 ? "" : "needs a rate such as 0.01/h"); })
      .showDefault();
  line.option("--silence", arguments.silence, "Time from a death until the others know it (GOSS_SILENCE_MS)")
      .check(checkSeconds)
      .showDefault();
  line.option("--checkpoint", options.checkpoint, "With churn, ranks go on from the last multiple of so many steps")
      .range(1UL, 100000000UL)
      .showDefault();
  line.option("--seed", options.seed, "Of jitter, stragglers and deaths").showDefault();
  line.option("--svg", arguments.svg_file, "Draws what the first 32 ranks do to this file");
  line.flag("--json", arguments.json, "Print JSON");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  return simulate(arguments, options);
}
