#include "bench/sim/sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace goss::bench::sim {

namespace {

using schedule::Links;

Status invalid(const std::string& text) { return Status::error(GOSS_ERR_INVALID_ARGUMENT, "the sites: " + text); }

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

} // namespace

Sites::Sites(int ranks) : site_of_rank_(static_cast<std::size_t>(ranks)), ports_(1) {
  within_.price = Links::builtIn("lan10g", 2).value().price(0, 1);
  between_.price = Links::builtIn("wan", 2).value().price(0, 1);
}

Result<Sites> Sites::parse(std::string_view text, int ranks) try {
  const nlohmann::json json = nlohmann::json::parse(text);
  Sites sites(ranks);
  for (const auto& [key, value] : json.items())
    if (key != "within" && key != "between" && key != "sites" && key != "pairs")
      return invalid(fmt::format("there is no '{}'; use within, between, sites, pairs", key));
  if (json.contains("within")) {
    const Result<JitteryPrice> read = readPrice(json["within"], sites.within_);
    if (!read.isOk()) return read.status();
    sites.within_ = read.value();
  }
  if (json.contains("between")) {
    const Result<JitteryPrice> read = readPrice(json["between"], sites.between_);
    if (!read.isOk()) return read.status();
    sites.between_ = read.value();
  }
  if (json.contains("sites")) {
    sites.ports_.clear();
    std::vector<int> counts; // -1: a share of the rest
    int rest = ranks;
    int sharing = 0;
    for (const nlohmann::json& site : json["sites"]) {
      const Result<schedule::NodePrice> port = readPort(site);
      if (!port.isOk()) return port.status();
      const int count = site.contains("ranks") ? site["ranks"].get<int>() : -1;
      const int copies = site.value("count", 1);
      if (count == 0 || count < -1 || copies < 1) return invalid("\"ranks\" and \"count\" must be above 0");
      if (copies > ranks) return invalid("there are more sites than ranks");
      for (int i = 0; i < copies; ++i) {
        counts.push_back(count);
        sites.ports_.push_back(port.value());
        count < 0 ? ++sharing : rest -= count;
      }
    }
    if (rest < sharing || (rest > 0 && sharing == 0) || counts.empty())
      return invalid(fmt::format("they do not hold {} ranks, with one in each at least", ranks));
    int rank = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      int count = counts[i];
      if (count < 0) {
        count = rest / sharing;
        rest -= count;
        --sharing;
      }
      std::fill_n(sites.site_of_rank_.begin() + rank, count, static_cast<int>(i));
      rank += count;
    }
  }
  for (const nlohmann::json& pair : json.value("pairs", nlohmann::json::array())) {
    const Result<JitteryPrice> read = readPrice(pair, sites.between_);
    if (!read.isOk()) return read.status();
    const auto [low, high] = std::minmax({pair.at("from").get<int>(), pair.at("to").get<int>()});
    if (low < 0 || high >= sites.count() || low == high) return invalid("a pair must be of two of the sites");
    sites.pairs_[{low, high}] = read.value();
  }
  return sites;
} catch (const nlohmann::json::exception& error) {
  return invalid(error.what());
}

const JitteryPrice& Sites::between(int one, int other) const {
  const auto found = pairs_.find(std::minmax(one, other));
  return found == pairs_.end() ? between_ : found->second;
}

} // namespace goss::bench::sim
