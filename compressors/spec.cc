#include "compressors/spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>

namespace goss::compressors {

namespace {

Status wrong(const std::string& text) { return Status::error(GOSS_ERR_INVALID_ARGUMENT, text); }

bool isWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// Calls `use` with each part between separators, also with empty parts.
template <typename Function>
Status forParts(std::string_view text, char separator, Function use) {
  for (;;) {
    const std::size_t end = text.find(separator);
    if (Status status = use(text.substr(0, end)); !status.isOk() || end == std::string_view::npos) {
      return status;
    }
    text.remove_prefix(end + 1);
  }
}

Status parseParameter(std::string_view spec, std::string_view text, Stage& stage) {
  const std::size_t equals = text.find('=');
  const std::string_view key = text.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  if (!isWord(key) || value.empty() || value.find_first_of(":=") != std::string_view::npos) {
    return wrong(fmt::format("codec '{}': '{}' is no parameter; write key=value", spec, text));
  }
  const auto same = [key](const Parameter& other) { return other.key == key; };
  if (std::any_of(stage.parameters.begin(), stage.parameters.end(), same)) {
    return wrong(fmt::format("codec '{}': '{}' is given twice", spec, key));
  }
  stage.parameters.push_back({std::string(key), std::string(value)});
  return Status::ok();
}

/// Joins text(entry) of all entries with commas.
template <typename Entries, typename Function>
std::string listed(const Entries& entries, Function text) {
  std::string all;
  for (const auto& entry : entries) {
    all += (all.empty() ? "" : ", ") + text(entry);
  }
  return all;
}

} // namespace

Result<std::vector<Stage>> parseSpec(std::string_view text) {
  std::vector<Stage> stages;
  Status status = forParts(text, '+', [&](std::string_view part) {
    const std::size_t colon = part.find(':');
    Stage stage{std::string(part.substr(0, colon)), {}};
    if (!isWord(stage.name)) {
      return wrong(fmt::format("codec '{}': '{}' is no stage; write name or name:key=value,...", text, part));
    }
    Status read = Status::ok();
    if (colon != std::string_view::npos) {
      read = forParts(part.substr(colon + 1), ',',
                      [&](std::string_view parameter) { return parseParameter(text, parameter, stage); });
    }
    stages.push_back(std::move(stage));
    return read;
  });
  if (!status.isOk()) {
    return status;
  }
  return stages;
}

const std::string* StageReader::take(std::string_view key, std::string values) {
  known_.push_back({key, std::move(values)});
  for (const Parameter& parameter : stage_.parameters) {
    if (parameter.key == key) {
      return &parameter.value;
    }
  }
  return nullptr;
}

void StageReader::refuse(const std::string& reason) {
  if (flaw_.empty()) {
    flaw_ = reason;
  }
}

double StageReader::number(std::string_view key, double otherwise, Range allowed) {
  const std::string* text = take(key, fmt::format("{}", otherwise));
  if (text == nullptr) {
    return otherwise;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || !(value >= allowed.low && value <= allowed.high)) {
    refuse(fmt::format("{}={} is no number from {} to {}", key, *text, allowed.low, allowed.high));
    return otherwise;
  }
  return value;
}

std::uint64_t StageReader::integer(std::string_view key, std::uint64_t otherwise, Range allowed) {
  const double value = number(key, static_cast<double>(otherwise), allowed);
  const auto whole = static_cast<std::uint64_t>(value);
  if (static_cast<double>(whole) != value) {
    refuse(fmt::format("{}={} is no whole number", key, value));
  }
  return whole;
}

std::size_t StageReader::block(std::string_view key, std::size_t otherwise, Range allowed) {
  const std::uint64_t value = integer(key, otherwise, allowed);
  known_.back().values += fmt::format(" ({} to {})", allowed.low, allowed.high);
  if (!std::has_single_bit(value)) {
    refuse(fmt::format("{}={} is no power of two", key, value));
    return otherwise;
  }
  return value;
}

std::size_t StageReader::choice(std::string_view key, const std::vector<std::string_view>& choices) {
  const std::string* text = take(key, fmt::format("{}", fmt::join(choices, "|")));
  if (text == nullptr) {
    return 0;
  }
  const auto found = std::find(choices.begin(), choices.end(), *text);
  if (found == choices.end()) {
    refuse(fmt::format("{}={} is none of: {}", key, *text, fmt::join(choices, ", ")));
    return 0;
  }
  return static_cast<std::size_t>(found - choices.begin());
}

std::string StageReader::parameters() const {
  return listed(known_, [](const Known& known) { return fmt::format("{}={}", known.key, known.values); });
}

Status StageReader::finish() const {
  if (!flaw_.empty()) {
    return wrong(fmt::format("codec stage '{}': {}", stage_.name, flaw_));
  }
  for (const Parameter& parameter : stage_.parameters) {
    const auto same = [&](const Known& known) { return known.key == parameter.key; };
    if (std::none_of(known_.begin(), known_.end(), same)) {
      return wrong(fmt::format("codec stage '{}' has no parameter '{}'; it has: {}", stage_.name, parameter.key,
                               listed(known_, [](const Known& known) { return std::string(known.key); })));
    }
  }
  return Status::ok();
}

} // namespace goss::compressors
