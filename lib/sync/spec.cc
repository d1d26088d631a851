#include "sync/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace goss::sync {

namespace {

Status wrong(std::string_view name, const std::string& what) {
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("synchronizer '{}': {}", name, what));
}

bool isWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

} // namespace

Result<Spec> parseSpec(std::string_view text) {
  const std::size_t colon = text.find(':');
  Spec spec{std::string(text.substr(0, colon)), {}};
  if (!isWord(spec.name)) {
    return wrong(text, "it must begin with a method's name, such as diloco:h=50");
  }
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (colon != std::string_view::npos && rest.empty()) {
    return wrong(text, "nothing follows the colon");
  }
  while (!rest.empty()) {
    const std::size_t equals = rest.find('=');
    const std::string_view key = rest.substr(0, equals);
    if (equals == std::string_view::npos || !isWord(key)) {
      return wrong(text, fmt::format("'{}' is not key=value", rest));
    }
    const std::size_t end = key == "codec" ? std::string_view::npos : rest.find(',', equals);
    const std::string_view value =
        rest.substr(equals + 1, end == std::string_view::npos ? std::string_view::npos : end - equals - 1);
    const bool twice = std::any_of(spec.parameters.begin(), spec.parameters.end(),
                                   [&](const SpecParameter& p) { return p.key == key; });
    if (value.empty() || twice) {
      return wrong(text, fmt::format("'{}' {}", key, twice ? "is given twice" : "has no value"));
    }
    spec.parameters.push_back({std::string(key), std::string(value)});
    if (end != std::string_view::npos && end + 1 == rest.size()) {
      return wrong(text, "nothing follows the last comma");
    }
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return spec;
}

SpecReader::SpecReader(const Spec& spec, std::span<const ParameterInfo> known)
    : spec_(spec), known_(known), canonical_(spec.name) {}

std::string_view SpecReader::take(std::string_view key) {
  for (const SpecParameter& parameter : spec_.parameters) {
    if (parameter.key == key) {
      return parameter.value;
    }
  }
  for (const ParameterInfo& info : known_) {
    if (info.key == key) {
      return info.fallback;
    }
  }
  refuse(fmt::format("its table has no parameter '{}'", key));
  return "0";
}

void SpecReader::note(std::string_view key, std::string_view value) {
  canonical_ += fmt::format("{}{}={}", first_ ? ":" : ",", key, value);
  first_ = false;
}

double SpecReader::number(std::string_view key, Range allowed) {
  const std::string_view text = take(key);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    refuse(fmt::format("{}={} is not a number", key, text));
  } else if (value < allowed.low || value > allowed.high) {
    refuse(fmt::format("{}={} is not between {} and {}", key, text, allowed.low, allowed.high));
  }
  note(key, fmt::format("{}", value));
  return value;
}

std::uint64_t SpecReader::integer(std::string_view key, Range allowed) {
  const std::string_view text = take(key);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    refuse(fmt::format("{}={} is not a whole number", key, text));
  } else if (static_cast<double>(value) < allowed.low || static_cast<double>(value) > allowed.high) {
    refuse(fmt::format("{}={} is not between {:.0f} and {:.0f}", key, text, allowed.low, allowed.high));
  }
  note(key, fmt::format("{}", value));
  return value;
}

std::string SpecReader::text(std::string_view key) {
  const std::string value(take(key));
  note(key, value);
  return value;
}

bool SpecReader::choice(std::string_view key, std::string_view other) {
  const std::string_view value = take(key);
  if (value == other) {
    note(key, value);
    return true;
  }
  for (const ParameterInfo& info : known_) {
    if (info.key == key && info.fallback != value) {
      refuse(fmt::format("{}={} is neither {} nor {}", key, value, info.fallback, other));
    }
  }
  return false;
}

bool SpecReader::knows(std::string_view key) const {
  return std::any_of(known_.begin(), known_.end(), [&](const ParameterInfo& info) { return info.key == key; });
}

void SpecReader::refuse(const std::string& reason) {
  if (flaw_.empty()) {
    flaw_ = reason;
  }
}

Status SpecReader::finish() const {
  if (!flaw_.empty()) {
    return wrong(spec_.name, flaw_);
  }
  for (const SpecParameter& parameter : spec_.parameters) {
    const bool is_known =
        std::any_of(known_.begin(), known_.end(), [&](const ParameterInfo& info) { return info.key == parameter.key; });
    if (!is_known) {
      std::string keys;
      for (const ParameterInfo& info : known_) {
        keys += fmt::format("{}{}", keys.empty() ? "" : ", ", info.key);
      }
      return wrong(spec_.name, fmt::format("unknown parameter '{}'; it has: {}", parameter.key, keys));
    }
  }
  return Status::ok();
}

} // namespace goss::sync
