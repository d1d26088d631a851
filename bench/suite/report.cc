#include "bench/suite/report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "bench/suite/plot.h"

namespace goss::bench {

namespace {

constexpr int kSizeWidth = 10;

std::string valueText(const Field& field) {
  if (const auto* real = std::get_if<double>(&field.value)) {
    return fmt::format("{:.2f}", *real);
  }
  if (const auto* whole = std::get_if<std::uint64_t>(&field.value)) {
    return fmt::format("{}", *whole);
  }
  return std::get<std::string>(field.value);
}

} // namespace

Report::Report(bool enabled, ReportFiles files, std::FILE* out)
    : enabled_(enabled), files_(enabled ? std::move(files) : ReportFiles{}), out_(out), json_(nullptr, &std::fclose) {
  if (!files_.json.empty()) {
    json_.reset(std::fopen(files_.json.c_str(), "w"));
    if (json_ == nullptr) {
      throw std::runtime_error(
          fmt::format("cannot write {}: {}; choose another --json file", files_.json, std::strerror(errno)));
    }
  }
  // Creates the files now, so that a path that cannot be written fails before the measurement.
  if (!files_.csv.empty()) writeFile(files_.csv, "", "--csv");
  if (!files_.plot.empty()) writeFile(files_.plot, "", "--plot");
}

Report::~Report() = default;

void Report::header(const std::vector<std::string>& lines) {
  titled_ = false;
  if (enabled_) {
    fmt::print(out_, "\n");
  }
  for (const std::string& line : lines) {
    comment(line);
  }
}

void Report::comment(const std::string& line) {
  if (enabled_) {
    fmt::print(out_, "{}{}\n", line.empty() ? "" : "# ", line);
  }
}

void Report::row(std::optional<std::size_t> bytes, const std::vector<Field>& fields) {
  if (!enabled_) {
    return;
  }
  if (!titled_) {
    titled_ = true;
    printLine(bytes.has_value(), "# Size", fields, [](const Field& field) { return field.title; });
  }
  printLine(bytes.has_value(), bytes ? fmt::format("{}", *bytes) : "", fields, valueText);
  std::fflush(out_);
  record(bytes, fields);
}

/// As OSU: without a column of sizes the first column is as wide as its title after "# ".
void Report::printLine(bool sized, const std::string& size, const std::vector<Field>& fields,
                       const std::function<std::string(const Field&)>& textOf) {
  std::string line = sized ? fmt::format("{:<{}}", size, kSizeWidth) : "";
  for (const Field& field : fields) {
    if (field.title.empty()) continue;
    const std::string text = textOf(field);
    if (!sized && line.empty()) {
      line = fmt::format("{:>{}}", text == field.title ? "# " + text : text, field.title.size() + 2);
    } else {
      line += fmt::format("{:>{}}", text, field.width);
    }
  }
  fmt::print(out_, "{}\n", line);
}

void Report::record(std::optional<std::size_t> bytes, const std::vector<Field>& fields) {
  Record& record = records_.emplace_back();
  for (const Field& field : context_)
    record.add(field.key, field.value);
  if (bytes) record.add("bytes", static_cast<std::uint64_t>(*bytes));
  for (const Field& field : fields)
    record.add(field.key, field.value);
  if (json_ == nullptr) return;
  if (std::fputs((record.json() + '\n').c_str(), json_.get()) < 0 || std::fflush(json_.get()) != 0)
    throw std::runtime_error(fmt::format("cannot write {}: {}", files_.json, std::strerror(errno)));
}

void Report::finish() {
  if (!files_.csv.empty()) writeFile(files_.csv, csv(records_), "--csv");
  if (!files_.plot.empty()) writeFile(files_.plot, plot({{"", records_}}), "--plot");
}

} // namespace goss::bench
