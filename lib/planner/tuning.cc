#include "planner/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "gossamer/transport_names.h"

namespace goss {

namespace {

using Json = nlohmann::json;
using schedule::LinkPrice;

constexpr int kVersion = 1;

/// Bounds of a number, so that a damaged file cannot lead to nonsensical plans; every real network lies far inside of
/// them.
struct Range {
  double min;
  double max;
  const char* unit;
};
constexpr Range kSeconds{0, 100, "seconds"};
constexpr Range kRate{1e3, 1e15, "bytes per second"};
constexpr Range kBytes{0, 1e18, "bytes"};

struct Link {
  std::string_view name;     ///< In a tuning file.
  std::string_view built_in; ///< The built-in prices of Links that hold where no file names others.
  LinkPrice Tuning::*price;
};
constexpr std::array kLinks{Link{transport_names::kLoopback, transport_names::kLoopback, &Tuning::loopback},
                            Link{transport_names::kShm, transport_names::kShm, &Tuning::shm},
                            Link{transport_names::kUcx, transport_names::kUcx, &Tuning::ucx},
                            Link{transport_names::kTcp, transport_names::kTcp, &Tuning::tcp},
                            Link{transport_names::kTls, transport_names::kTls, &Tuning::tls},
                            Link{"network", "lan10g", &Tuning::network}};
constexpr auto kNames = [] {
  std::array<std::string_view, kLinks.size()> names;
  std::transform(kLinks.begin(), kLinks.end(), names.begin(), [](const Link& link) { return link.name; });
  return names;
}();

Status refuse(const std::string& key, const std::string& reason) {
  return Status::error(
      GOSS_ERR_INVALID_ARGUMENT,
      fmt::format("tuning file: {} {}; run goss-tune again, or leave the file out (GOSS_TUNING)", key, reason));
}

Status readNumber(const Json& value, const std::string& key, const Range& range, double& into) {
  const double number = value.is_number() ? value.get<double>() : NAN;
  if (!(number >= range.min && number <= range.max)) { // also false for NaN
    return refuse(key, fmt::format("must be a number of {} from {:g} to {:g}", range.unit, range.min, range.max));
  }
  into = number;
  return Status::ok();
}

/// One key of an object and the variable for its number.
struct Field {
  const char* name;
  Range range;
  double* into;
};

template <std::size_t kCount>
Status readFields(const Json& object, const std::string& path, const std::array<Field, kCount>& fields) {
  if (!object.is_object()) return refuse(path, "must be an object");
  for (const auto& [name, value] : object.items()) {
    const Field* found = nullptr;
    for (const Field& field : fields)
      found = name == field.name ? &field : found;
    const std::string where = fmt::format("{}.{}", path, name);
    if (found == nullptr) return refuse(where, "is not known");
    if (Status status = readNumber(value, where, found->range, *found->into); !status.isOk()) return status;
  }
  return Status::ok();
}

Status readLink(const Json& object, const std::string& path, LinkPrice& price) {
  return readFields(
      object, path,
      std::array{Field{"latency_s", kSeconds, &price.latency_s},
                 Field{"bandwidth_bytes_per_s", kRate, &price.bandwidth_bytes_per_s},
                 Field{"overhead_s", kSeconds, &price.overhead_s}, Field{"eager_bytes", kBytes, &price.eager_bytes},
                 Field{"sender_bytes_per_s", kRate, &price.sender_bytes_per_s}});
}

Status readLinks(const Json& object, Tuning& tuning) {
  if (!object.is_object()) return refuse("links", "must be an object");
  for (const auto& [name, value] : object.items()) {
    const auto is = [&wanted = name](const Link& link) { return link.name == wanted; };
    const auto* known = std::find_if(kLinks.begin(), kLinks.end(), is);
    if (known == kLinks.end()) return refuse("links." + name, fmt::format("is not one of {}", fmt::join(kNames, ", ")));
    if (Status status = readLink(value, "links." + name, tuning.*known->price); !status.isOk()) return status;
  }
  return Status::ok();
}

} // namespace

Tuning Tuning::builtIn() {
  Tuning tuning;
  for (const Link& link : kLinks)
    tuning.*link.price = schedule::Links::builtIn(link.built_in, 2).value().price(0, 1);
  tuning.cpu = schedule::Links::builtIn(transport_names::kShm, 2).value().cpu();
  return tuning;
}

Result<Tuning> Tuning::parse(std::string_view text) {
  const Json file = Json::parse(text, nullptr, false);
  if (!file.is_object()) return refuse("the text", "is not a JSON object");
  const auto version = file.find("gossamer_tuning");
  if (version == file.end() || *version != kVersion) {
    return refuse("gossamer_tuning", fmt::format("must be {}, the version that this library reads", kVersion));
  }
  Tuning tuning = builtIn();
  for (const auto& [name, value] : file.items()) {
    Status status;
    if (name == "links") {
      status = readLinks(value, tuning);
    } else if (name == "cpu") {
      status = readFields(value, "cpu",
                          std::array{Field{"reduce_bytes_per_s", kRate, &tuning.cpu.reduce_bytes_per_s},
                                     Field{"copy_bytes_per_s", kRate, &tuning.cpu.copy_bytes_per_s}});
    } else if (name != "gossamer_tuning" && name != "measured") {
      status = refuse(name, "is not one of gossamer_tuning, measured, links, cpu");
    }
    if (!status.isOk()) return status;
  }
  return tuning;
}

} // namespace goss
