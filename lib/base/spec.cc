#include "base/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace goss::base {

namespace {

Status wrong(const Spec& spec, const std::string& what) {
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("{} '{}': {}", spec.kind, spec.text, what));
}

bool isWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

} // namespace

Result<Spec> parseSpec(std::string_view text, const SpecGrammar& grammar) {
  const std::size_t colon = text.find(':');
  Spec spec{grammar.kind, std::string(text), std::string(text.substr(0, colon)), {}};
  if (!isWord(spec.name)) {
    return wrong(spec, fmt::format("it must begin with a name, such as {}", grammar.example));
  }
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (colon != std::string_view::npos && rest.empty()) {
    return wrong(spec, "nothing follows the colon");
  }
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find_first_of(grammar.separators));
    const std::size_t equals = part.find('=');
    const bool is_bare = equals == std::string_view::npos && spec.parameters.empty() && !grammar.bare.empty();
    const std::string_view key = is_bare ? grammar.bare : part.substr(0, equals);
    if ((equals == std::string_view::npos && !is_bare) || !isWord(key)) {
      return wrong(spec, fmt::format("'{}' is not key=value", part));
    }
    const std::string_view taken = key == grammar.last ? rest : part;
    const std::string_view value = is_bare ? part : taken.substr(equals + 1);
    const bool twice = std::any_of(spec.parameters.begin(), spec.parameters.end(),
                                   [&](const SpecParameter& p) { return p.key == key; });
    if (value.empty() || twice) {
      return wrong(spec, fmt::format("'{}' {}", key, twice ? "is given twice" : "has no value"));
    }
    spec.parameters.push_back({std::string(key), std::string(value)});
    if (taken.size() + 1 == rest.size()) {
      return wrong(spec, fmt::format("nothing follows the last '{}'", rest.back()));
    }
    rest.remove_prefix(std::min(rest.size(), taken.size() + 1));
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
  std::string value(take(key));
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

bool SpecReader::has(std::string_view key) const {
  return std::any_of(spec_.parameters.begin(), spec_.parameters.end(),
                     [&](const SpecParameter& parameter) { return parameter.key == key; });
}

void SpecReader::refuse(const std::string& reason) {
  if (flaw_.empty()) {
    flaw_ = reason;
  }
}

Status SpecReader::finish() const {
  if (!flaw_.empty()) {
    return wrong(spec_, flaw_);
  }
  for (const SpecParameter& parameter : spec_.parameters) {
    const bool is_known =
        std::any_of(known_.begin(), known_.end(), [&](const ParameterInfo& info) { return info.key == parameter.key; });
    if (!is_known) {
      std::string keys;
      for (const ParameterInfo& info : known_) {
        keys += fmt::format("{}{}", keys.empty() ? "" : ", ", info.key);
      }
      return wrong(spec_, fmt::format("unknown parameter '{}'; it has: {}", parameter.key, keys));
    }
  }
  return Status::ok();
}

} // namespace goss::base
