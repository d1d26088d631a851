#include "bench/links/link_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

namespace goss::bench {

namespace {

std::vector<std::string_view> wordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

/// The number at the beginning of a word, whatever unit follows; 0 where there is none.
double numberOf(std::string_view word) {
  double number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

int rankOf(std::string_view word) {
  int rank = -1;
  std::from_chars(word.data(), word.data() + word.size(), rank);
  return rank;
}

/// goss_comm_measure_links writes microseconds and megabytes per second.
constexpr double kTimeUnit_s = 1e-6;
constexpr double kRateUnit = 1e6;

std::string timeText(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.3g} us", seconds * 1e6) : fmt::format("{:.3g} ms", seconds * 1e3);
}
std::string rateText(double bytes_per_s) {
  return bytes_per_s < 1e9 ? fmt::format("{:.3g} MB/s", bytes_per_s / 1e6)
                           : fmt::format("{:.3g} GB/s", bytes_per_s / 1e9);
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char character : text) {
    if (character == '&') safe += "&amp;";
    if (character == '<') safe += "&lt;";
    if (character != '&' && character != '<') safe += character;
  }
  return safe;
}

} // namespace

LinkMap::LinkMap(std::string_view text, std::vector<std::string> names) : names_(std::move(names)) {
  links_.resize(names_.size() * names_.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    const auto words = wordsOf(whole);
    if (whole.starts_with("# The line ") || whole.starts_with("# The round trip "))
      remarks_.emplace_back(whole.substr(2));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    if (words[0] == "pair") readPair(words);
    if (words[0] == "node") readNode(words);
    if (words[0] == "#") readRemark(words);
  }
}

const LinkMap::Link& LinkMap::link(int from, int to) const {
  return links_[static_cast<std::size_t>(from) * names_.size() + static_cast<std::size_t>(to)];
}

LinkMap::Link* LinkMap::find(std::string_view from, std::string_view to) {
  const int one = rankOf(from);
  const int other = rankOf(to);
  if (one < 0 || other < 0 || one >= size() || other >= size()) return nullptr;
  return &links_[static_cast<std::size_t>(one) * names_.size() + static_cast<std::size_t>(other)];
}

/// pair FROM -> TO latency TIME bandwidth RATE ...
void LinkMap::readPair(const std::vector<std::string_view>& words) {
  Link* link = words.size() >= 8 ? find(words[1], words[3]) : nullptr;
  if (link == nullptr) return;
  link->latency_s = kTimeUnit_s * numberOf(words[5]);
  link->bytes_per_s = kRateUnit * numberOf(words[7]);
}

/// node RANK,RANK up RATE down RATE; either rate may be missing
void LinkMap::readNode(const std::vector<std::string_view>& words) {
  if (words.size() < 2) return;
  Line line;
  for (std::string_view ranks = words[1]; !ranks.empty();) {
    const std::size_t end = std::min(ranks.find(','), ranks.size());
    line.ranks.push_back(rankOf(ranks.substr(0, end)));
    ranks.remove_prefix(std::min(end + 1, ranks.size()));
  }
  for (std::size_t i = 2; i + 1 < words.size(); i += 2)
    (words[i] == "up" ? line.up_bytes_per_s : line.down_bytes_per_s) = kRateUnit * numberOf(words[i + 1]);
  lines_.push_back(std::move(line));
}

/// # The rate from rank A to rank B varied by N % ...
/// # The link between rank A and rank B is relayed by ...
void LinkMap::readRemark(const std::vector<std::string_view>& words) {
  Link* link = words.size() >= 12 ? find(words[5], words[8]) : nullptr;
  if (link == nullptr) return;
  if (words[9] == "varied") link->varied_percent = static_cast<int>(numberOf(words[11]));
  if (words[10] == "relayed") link->relayed = find(words[8], words[5])->relayed = true;
}

std::string LinkMap::table() const {
  constexpr std::size_t kCell = 20;
  std::string text = fmt::format("{:<22}", "round trip, rate to");
  for (int to = 0; to < size(); ++to)
    text += fmt::format("{:>{}}", fmt::format("rank {}", to), kCell);
  text += '\n';
  std::string notes;
  for (int from = 0; from < size(); ++from) {
    text += fmt::format("{:<22}", fmt::format("from {} ({:.12})", from, names_[static_cast<std::size_t>(from)]));
    for (int to = 0; to < size(); ++to) {
      const Link& at = link(from, to);
      if (at.varied_percent > 0)
        notes += fmt::format("* From {} to {} the rate varied by {} %: measure again when the network is idle.\n", from,
                             to, at.varied_percent);
      if (at.relayed && from < to) notes += fmt::format("~ {} and {} cannot reach each other: relayed.\n", from, to);
      const bool known = from != to && at.bytes_per_s > 0;
      text += fmt::format("{:>{}}",
                          known ? fmt::format("{}, {}{}{}", timeText(2 * at.latency_s), rateText(at.bytes_per_s),
                                              at.varied_percent > 0 ? "*" : "", at.relayed ? "~" : "")
                                : "-",
                          kCell);
    }
    text += '\n';
  }
  text += notes;
  for (const std::string& remark : remarks_)
    text += remark + '\n';
  for (const Line& line : lines_)
    text += fmt::format("All links of rank{} {} together: up at most {}, down at most {}\n",
                        line.ranks.size() > 1 ? "s" : "", fmt::join(line.ranks, ", "),
                        line.up_bytes_per_s > 0 ? rateText(line.up_bytes_per_s) : "?",
                        line.down_bytes_per_s > 0 ? rateText(line.down_bytes_per_s) : "?");
  return text;
}

std::string LinkMap::svg() const {
  const double radius = std::max(180.0, 38.0 * size());
  const double middle = radius + 130;
  const auto place = [&](int rank) {
    const double angle = 2 * std::numbers::pi * rank / size() - std::numbers::pi / 2;
    return std::pair(middle + radius * std::cos(angle), middle + radius * std::sin(angle));
  };
  double most = 1;
  for (const Link& at : links_)
    most = std::max(most, at.bytes_per_s);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {0:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      2 * middle);
  std::string labels;
  for (int one = 0; one < size(); ++one) {
    for (int other = one + 1; other < size(); ++other) {
      const Link& there = link(one, other);
      const Link& back = link(other, one);
      if (there.bytes_per_s <= 0 && back.bytes_per_s <= 0) continue;
      const auto [x1, y1] = place(one);
      const auto [x2, y2] = place(other);
      const double width = 1 + 7 * std::sqrt(std::min(there.bytes_per_s, back.bytes_per_s) / most);
      text += fmt::format(
          "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#1f6fb2\" "
          "stroke-opacity=\"0.45\" stroke-width=\"{:.1f}\"/>\n",
          x1, y1, x2, y2, width);
      // Not in the middle, where the labels of a circle's diameters would lie on each other.
      const double x = x1 + 0.38 * (x2 - x1);
      const double y = y1 + 0.38 * (y2 - y1);
      labels += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x, y,
                            timeText(there.latency_s + back.latency_s));
      labels += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}-{} {}, {}-{} {}</text>\n", x,
                            y + 13, one, other, rateText(there.bytes_per_s), other, one, rateText(back.bytes_per_s));
    }
  }
  text += labels;
  for (int rank = 0; rank < size(); ++rank) {
    const auto [x, y] = place(rank);
    text += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"17\" fill=\"#d1495b\"/>\n<text x=\"{:.1f}\" "
        "y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#ffffff\">{}</text>\n<text x=\"{:.1f}\" "
        "y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
        x, y, x, y + 4, rank, x, y + 31, escaped(names_[static_cast<std::size_t>(rank)]));
  }
  return text + "</svg>\n";
}

} // namespace goss::bench
