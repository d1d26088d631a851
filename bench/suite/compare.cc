#include "bench/suite/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/suite/plot.h"
#include "bench/suite/records.h"
#include "bench/suite/report.h"
#include "tools/commandline/command_line.h"

namespace goss::bench {

namespace {

struct Arguments {
  std::string files[2];
  std::string plot_file;
  std::string csv_file;
};

/// The benchmark that a row belongs to, for people.
std::string titleOf(const Record& record) {
  return fmt::format("{} {} {} {}", record.text("mode"), record.text("bench"), record.text("dtype"), record.text("op"));
}

/// A row's benchmark and size.
std::string keyOf(const Record& record) {
  return fmt::format("{}, {} bytes", titleOf(record), record.number("bytes").value_or(0));
}

std::map<std::string, const Record*> byKey(const std::string& file, const std::vector<Record>& records) {
  std::map<std::string, const Record*> found;
  for (const Record& record : records) {
    if (!record.number("us").has_value())
      throw std::runtime_error(fmt::format("{}: a row has no time, 'us'; give files of goss-bench --json", file));
    if (!found.emplace(keyOf(record), &record).second)
      throw std::runtime_error(fmt::format("{} has two rows of {}; give files of one run each", file, keyOf(record)));
  }
  return found;
}

void compare(const Arguments& arguments) {
  const std::vector<Record> runs[2] = {readRecords(arguments.files[0]), readRecords(arguments.files[1])};
  auto others = byKey(arguments.files[1], runs[1]);
  (void)byKey(arguments.files[0], runs[0]);
  Report report(true, {"", arguments.csv_file, ""});
  std::string title;
  double logarithms = 0;
  int rows = 0;
  std::size_t alone = 0;
  for (const Record& record : runs[0]) {
    const auto other = others.extract(keyOf(record));
    if (other.empty()) {
      ++alone;
      continue;
    }
    if (titleOf(record) != title) {
      title = titleOf(record);
      report.setContext({{"", "benchmark", title}});
      report.header({title, fmt::format("Ratio = time of {} / time of {}", arguments.files[1], arguments.files[0])});
    }
    const double a = *record.number("us");
    const double b = *other.mapped()->number("us");
    const auto bytes = record.number("bytes");
    report.row(bytes ? std::optional(static_cast<std::size_t>(*bytes)) : std::nullopt,
               {{"A (us)", "a_us", a}, {"B (us)", "b_us", b}, {"Ratio", "ratio", b / a, 10}});
    logarithms += std::log(b / a);
    ++rows;
  }
  if (rows == 0) throw std::runtime_error("the files have no benchmark, element type and size in common");
  report.header({fmt::format("Geometric mean of {} ratios: {:.3f}", rows, std::exp(logarithms / rows))});
  if (alone + others.size() > 0)
    report.comment(fmt::format("{} rows are in the first file alone, {} in the second alone", alone, others.size()));
  report.finish();
  if (!arguments.plot_file.empty()) {
    const auto name = [&](int i) { return std::filesystem::path(arguments.files[i]).stem().string(); };
    writeFile(arguments.plot_file, plot({{name(0), runs[0]}, {name(1), runs[1]}}), "--plot");
  }
}

} // namespace

int runCompare(int argc, char** argv) {
  Arguments arguments;
  CommandLine line(
      "Compares two files of goss-bench --json: times of equal benchmarks, types and sizes, and their ratios.",
      "goss-bench compare");
  line.option("A", arguments.files[0], "The first file; a ratio above 1 means that it is the faster one").required();
  line.option("B", arguments.files[1], "The second file").required();
  line.option("--plot", arguments.plot_file, "Draws latency and bandwidth of both to this SVG file");
  line.option("--csv", arguments.csv_file, "Writes the table to this file");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  try {
    compare(arguments);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-bench compare: {}\n", error.what());
    return 1;
  }
}

} // namespace goss::bench
