#include "bench/suite/report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

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

Report::Report(bool enabled, const std::string& json_file, std::FILE* out)
    : enabled_(enabled), out_(out), json_(nullptr, &std::fclose) {
  if (enabled && !json_file.empty()) {
    json_.reset(std::fopen(json_file.c_str(), "w"));
    if (json_ == nullptr) {
      throw std::runtime_error(
          fmt::format("cannot write {}: {}; choose another --json file", json_file, std::strerror(errno)));
    }
  }
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
    fmt::print(out_, "# {}\n", line);
  }
}

void Report::row(std::optional<std::size_t> bytes, const std::vector<Field>& fields) {
  if (!enabled_) {
    return;
  }
  if (!titled_) {
    titled_ = true;
    fmt::print(out_, "{:<{}}", bytes ? "# Size" : "#", kSizeWidth);
    for (const Field& field : fields) {
      if (!field.title.empty()) {
        fmt::print(out_, "{:>{}}", field.title, field.width);
      }
    }
    fmt::print(out_, "\n");
  }
  fmt::print(out_, "{:<{}}", bytes ? fmt::format("{}", *bytes) : "", kSizeWidth);
  for (const Field& field : fields) {
    if (!field.title.empty()) {
      fmt::print(out_, "{:>{}}", valueText(field), field.width);
    }
  }
  fmt::print(out_, "\n");
  std::fflush(out_);
  writeJson(bytes, fields);
}

void Report::writeJson(std::optional<std::size_t> bytes, const std::vector<Field>& fields) {
  if (json_ == nullptr) {
    return;
  }
  nlohmann::ordered_json object;
  const auto add = [&object](const Field& field) {
    std::visit([&](const auto& value) { object[field.key] = value; }, field.value);
  };
  for (const Field& field : context_) {
    add(field);
  }
  if (bytes) {
    object["bytes"] = *bytes;
  }
  for (const Field& field : fields) {
    add(field);
  }
  fmt::print(json_.get(), "{}\n", object.dump());
  std::fflush(json_.get());
}

} // namespace goss::bench
