#include "bench/sim/sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/invalid.h"

namespace goss::bench::sim {

namespace {

using schedule::Links;

Status invalid(const std::string& text) { return base::invalid("the sites: " + text); }

/// Lets the reader of link files read "KEY VALUE ..." behind `line`, so that keys, units and errors are the same.
Result<Links> readLinks(const std::string& base, const std::string& line) {
  return Links::parse(fmt::format("gossamer-links 1\nbase {}\n{}\n", base, line), 2);
}

/// A time with a unit, as a link file has it.
Result<double> secondsOf(const std::string& text) {
  const Result<Links> links = readLinks("wan", "default latency " + text);
  if (!links.isOk()) return links.status();
  return links.value().price(0, 1).latency_s;
}

Result<JitteryPrice> readPrice(const nlohmann::json& object, JitteryPrice price) {
  if (!object.is_object()) return invalid("prices must be an object, such as {\"latency\": \"20ms\"}");
  std::string line;
  for (const auto& [key, value] : object.items()) {
    if (key == "from" || key == "to" || key == "base") continue;
    if (!value.is_string()) return invalid(fmt::format("'{}' must be text, such as \"20ms\"", key));
    const auto text = value.get<std::string>();
    if (key == "jitter") {
      const Result<double> seconds = secondsOf(text);
      if (!seconds.isOk()) return invalid(seconds.status().text());
      price.jitter_s = seconds.value();
    } else {
      line += fmt::format(" {} {}", key, text);
    }
  }
  const auto names = Links::builtIn(object.value("base", "lan10g"), 2);
  if (!names.isOk()) return invalid(names.status().text());
  if (object.contains("base")) price.price = names.value().price(0, 1);
  if (line.empty()) return price;
  // What the line does not name keeps its value, which two other bases show.
  const Result<Links> one = readLinks("lan10g", "default" + line);
  const Result<Links> other = readLinks("wan", "default" + line);
  if (!one.isOk()) return invalid(one.status().text());
  const auto take = [&](double schedule::LinkPrice::*member) {
    const double a = one.value().price(0, 1).*member;
    const double b = other.value().price(0, 1).*member;
    if (a == b) price.price.*member = a;
  };
  take(&schedule::LinkPrice::latency_s);
  take(&schedule::LinkPrice::bandwidth_bytes_per_s);
  take(&schedule::LinkPrice::overhead_s);
  if (object.contains("eager")) take(&schedule::LinkPrice::eager_bytes);
  if (object.contains("sender")) take(&schedule::LinkPrice::sender_bytes_per_s);
  return price;
}

Result<schedule::NodePrice> readPort(const nlohmann::json& site) {
  std::string line;
  for (const char* key : {"up", "down"})
    if (site.contains(key)) line += fmt::format(" {} {}", key, site[key].get<std::string>());
  const Result<Links> links = readLinks("lan10g", "node 0-1" + line);
  if (!links.isOk()) return invalid(links.status().text());
  return links.value().node(links.value().nodeOf(0));
}

/// object[key], a whole number from `least` to `most`; `otherwise` where there is none.
Result<int> readWhole(const nlohmann::json& object, const char* key, int least, int most, int otherwise) {
  if (!object.contains(key)) return otherwise;
  const nlohmann::json& value = object[key];
  const double number = value.is_number_integer() ? value.get<double>() : -1;
  if (number >= least && number <= most) return static_cast<int>(number);
  return invalid(fmt::format("\"{}\" is {}, and must be a whole number from {} to {}", key, value.dump(), least, most));
}

/// Entries of "sites" with equal ports.
struct Entry {
  int copies = 1;
  int ranks = -1; ///< Ranks of each copy; -1: a share of what the others leave.
  schedule::NodePrice port;
};

Result<Entry> readEntry(const nlohmann::json& site, int ranks) {
  if (!site.is_object()) return invalid("each of \"sites\" must be an object, such as {\"ranks\": 50}");
  for (const auto& [key, value] : site.items())
    if (key != "count" && key != "ranks" && key != "up" && key != "down")
      return invalid(fmt::format("a site has no '{}'; use count, ranks, up, down", key));
  const Result<int> copies = readWhole(site, "count", 1, std::min(ranks, Sites::kMaxSites), 1);
  if (!copies.isOk()) return copies.status();
  const Result<int> each = readWhole(site, "ranks", 1, ranks, -1);
  if (!each.isOk()) return each.status();
  const Result<schedule::NodePrice> port = readPort(site);
  if (!port.isOk()) return port.status();
  return Entry{copies.value(), each.value(), port.value()};
}

} // namespace

Sites::Sites(int ranks) : site_of_rank_(static_cast<std::size_t>(ranks)), ports_(1) {
  within_.price = Links::builtIn("lan10g", 2).value().price(0, 1);
  between_.price = Links::builtIn("wan", 2).value().price(0, 1);
}

Status Sites::place(const nlohmann::json& list) {
  if (!list.is_array()) return invalid("\"sites\" must be a list");
  ports_.clear();
  std::vector<int> counts; // by site; -1: a share of the rest
  std::int64_t rest = ranks();
  int sharing = 0;
  for (const nlohmann::json& site : list) {
    const Result<Entry> entry = readEntry(site, ranks());
    if (!entry.isOk()) return entry.status();
    const auto& [copies, each, port] = entry.value();
    counts.insert(counts.end(), static_cast<std::size_t>(copies), each);
    ports_.insert(ports_.end(), static_cast<std::size_t>(copies), port);
    each < 0 ? sharing += copies : rest -= std::int64_t{copies} * each;
    if (counts.size() > kMaxSites) return invalid(fmt::format("there are more than {}", kMaxSites));
  }
  if (rest < sharing || (rest > 0 && sharing == 0) || counts.empty())
    return invalid(fmt::format("they do not hold {} ranks, with one in each at least", ranks()));
  auto next = site_of_rank_.begin();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::int64_t count = counts[i];
    if (count < 0) {
      count = rest / sharing;
      rest -= count;
      --sharing;
    }
    next = std::fill_n(next, count, static_cast<int>(i));
  }
  return Status::ok();
}

Status Sites::readPair(const nlohmann::json& pair) {
  if (!pair.is_object() || !pair.contains("from") || !pair.contains("to"))
    return invalid("each of \"pairs\" must be an object with from and to");
  const Result<JitteryPrice> read = readPrice(pair, between_);
  if (!read.isOk()) return read.status();
  const Result<int> from = readWhole(pair, "from", 0, count() - 1, 0);
  if (!from.isOk()) return from.status();
  const Result<int> to = readWhole(pair, "to", 0, count() - 1, 0);
  if (!to.isOk()) return to.status();
  if (from.value() == to.value()) return invalid(fmt::format("a pair is from site {} to itself", to.value()));
  pairs_[std::minmax(from.value(), to.value())] = read.value();
  return Status::ok();
}

Result<Sites> Sites::parse(std::string_view text, int ranks) try {
  const nlohmann::json json = nlohmann::json::parse(text);
  if (!json.is_object()) return invalid("the file must hold an object");
  Sites sites(ranks);
  for (const auto& [key, value] : json.items())
    if (key != "within" && key != "between" && key != "sites" && key != "pairs")
      return invalid(fmt::format("there is no '{}'; use within, between, sites, pairs", key));
  for (const auto& [key, price] : {std::pair("within", &sites.within_), {"between", &sites.between_}}) {
    if (!json.contains(key)) continue;
    const Result<JitteryPrice> read = readPrice(json[key], *price);
    if (!read.isOk()) return read.status();
    *price = read.value();
  }
  if (json.contains("sites"))
    if (Status status = sites.place(json["sites"]); !status.isOk()) return status;
  const nlohmann::json pairs = json.value("pairs", nlohmann::json::array());
  if (!pairs.is_array()) return invalid("\"pairs\" must be a list");
  for (const nlohmann::json& pair : pairs)
    if (Status status = sites.readPair(pair); !status.isOk()) return status;
  return sites;
} catch (const nlohmann::json::exception& error) {
  return invalid(error.what());
}

const JitteryPrice& Sites::between(int one, int other) const {
  const auto found = pairs_.find(std::minmax(one, other));
  return found == pairs_.end() ? between_ : found->second;
}

} // namespace goss::bench::sim
