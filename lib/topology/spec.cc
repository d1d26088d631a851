#include "topology/spec.h"

#include <fmt/format.h>

#include <charconv>

namespace goss::topology {

namespace {

/// The number that is all of `text`; false: there is none.
bool readNumber(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace

SpecReader::SpecReader(std::string_view spec) : spec_(spec), name_(spec.substr(0, spec.find(':'))) {
  std::string_view left = name_.size() < spec.size() ? spec.substr(name_.size() + 1) : std::string_view();
  while (!left.empty()) {
    const std::string_view part = left.substr(0, left.find_first_of(",;"));
    const std::size_t equals = part.find('=');
    Parameter& parameter = parameters_.emplace_back();
    if (equals != std::string_view::npos) parameter.key = part.substr(0, equals);
    parameter.value = equals == std::string_view::npos ? part : part.substr(equals + 1);
    left.remove_prefix(std::min(left.size(), part.size() + 1));
  }
}

SpecReader::Parameter* SpecReader::find(std::string_view key) {
  for (Parameter& parameter : parameters_) {
    if (parameter.key != key || parameter.is_read) continue;
    parameter.is_read = true;
    return &parameter;
  }
  return nullptr;
}

std::string SpecReader::rest() {
  parameters_.clear();
  return name_.size() < spec_.size() ? spec_.substr(name_.size() + 1) : std::string();
}

std::vector<int> SpecReader::dims() {
  constexpr std::int64_t kMost = 1 << 20;
  const Parameter* found = find("");
  std::vector<int> dims;
  std::string_view left = found != nullptr ? std::string_view(found->value) : std::string_view();
  while (!left.empty()) {
    const std::string_view part = left.substr(0, left.find('x'));
    std::int64_t length = 0;
    if (!readNumber(part, length) || length < 1 || length > kMost) {
      refuse(fmt::format("'{}' is no list of lengths such as 4x4", found->value));
      return {1};
    }
    dims.push_back(static_cast<int>(length));
    left.remove_prefix(std::min(left.size(), part.size() + 1));
  }
  return dims;
}

std::int64_t SpecReader::integer(std::string_view key, std::int64_t fallback) {
  const Parameter* found = find(key);
  std::int64_t number = fallback;
  if (found != nullptr && !readNumber(found->value, number)) {
    refuse(fmt::format("{}={} is no whole number", key, found->value));
    return fallback;
  }
  return number;
}

std::string SpecReader::word(std::string_view key, std::string_view fallback) {
  const Parameter* found = find(key);
  return found != nullptr ? found->value : std::string(fallback);
}

void SpecReader::refuse(const std::string& reason) {
  if (flaw_.empty()) flaw_ = reason;
}

Status SpecReader::finish() const {
  std::string flaw = flaw_;
  for (const Parameter& parameter : parameters_) {
    if (!flaw.empty() || parameter.is_read) continue;
    flaw = parameter.key.empty() ? fmt::format("'{}' has no meaning here", parameter.value)
                                 : fmt::format("it has no parameter '{}', or it stands twice", parameter.key);
  }
  if (flaw.empty()) return Status::ok();
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("topology '{}': {}", spec_, flaw));
}

} // namespace goss::topology
