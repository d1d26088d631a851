#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "schedule/links.h"

namespace goss::schedule {

namespace {

constexpr std::string_view kHeader = "gossamer-links 1";
constexpr double kMaxSeconds = 1e6;
constexpr double kMaxBytes = 1e18;

/// A value in this unit is number * factor / divisor: a division by a power of ten rounds as the literal 25e-6 does.
struct Unit {
  std::string_view name;
  double factor;
  double divisor = 1;
};

constexpr std::array kTimeUnits = {Unit{"ns", 1, 1e9}, Unit{"us", 1, 1e6}, Unit{"ms", 1, 1e3}, Unit{"s", 1}};
constexpr std::array kByteUnits = {
    Unit{"B", 1},        Unit{"KB", 1e3},        Unit{"MB", 1e6},          Unit{"GB", 1e9},
    Unit{"KiB", 1024.0}, Unit{"MiB", 1048576.0}, Unit{"GiB", 1073741824.0}};
constexpr std::array kRateUnits = {
    Unit{"B/s", 1},        Unit{"KB/s", 1e3},        Unit{"MB/s", 1e6},           Unit{"GB/s", 1e9},
    Unit{"KiB/s", 1024.0}, Unit{"MiB/s", 1048576.0}, Unit{"GiB/s", 1073741824.0}, Unit{"Kbit/s", 125.0},
    Unit{"Mbit/s", 125e3}, Unit{"Gbit/s", 125e6}};

/// The keys that one line set for pairs; other keys keep their values.
struct PriceChange {
  std::optional<double> latency_s;
  std::optional<double> bandwidth_bytes_per_s;
  std::optional<double> overhead_s;
  std::optional<double> eager_bytes;
  std::optional<double> sender_bytes_per_s;

  [[nodiscard]] LinkPrice appliedTo(LinkPrice price) const {
    price.latency_s = latency_s.value_or(price.latency_s);
    price.bandwidth_bytes_per_s = bandwidth_bytes_per_s.value_or(price.bandwidth_bytes_per_s);
    price.overhead_s = overhead_s.value_or(price.overhead_s);
    price.eager_bytes = eager_bytes.value_or(price.eager_bytes);
    price.sender_bytes_per_s = sender_bytes_per_s.value_or(price.sender_bytes_per_s);
    return price;
  }
};

using Words = std::vector<std::string_view>;

Words splitWords(std::string_view line) {
  line = line.substr(0, line.find('#'));
  Words words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

/// Reads one file, line by line. Every function returns an empty text on success, else the reason.
class Parser {
 public:
  explicit Parser(int size) : links_(size), node_line_(static_cast<std::size_t>(size), 0) {}

  Result<Links> parse(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const Words words = splitWords(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      ++line_;
      if (words.empty()) continue;
      if (const std::string reason = parseLine(words); !reason.empty()) return refuse(reason);
    }
    if (!header_seen_) {
      ++line_;
      return refuse(fmt::format("the file must begin with the line '{}'", kHeader));
    }
    return links_;
  }

 private:
  [[nodiscard]] Status refuse(const std::string& reason) const {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("link file, line {}: {}", line_, reason));
  }

  std::string parseLine(const Words& words) {
    if (!header_seen_) {
      if (fmt::format("{}", fmt::join(words, " ")) != kHeader) {
        return fmt::format("the file must begin with the line '{}'", kHeader);
      }
      header_seen_ = true;
      return {};
    }
    const std::string_view word = words[0];
    const Words rest(words.begin() + 1, words.end());
    if (word == "base") return parseBase(rest);
    settings_seen_ = true;
    if (word == "default") return parseDefault(rest);
    if (word == "reduce" || word == "copy") return parseCpu(word, rest);
    if (word == "node") return parseNode(rest);
    if (word == "nodes") return parseNodes(rest);
    if (word == "within-node") return parseWithinNode(rest);
    if (word == "pair") return parsePair(rest);
    return fmt::format("'{}' is not one of base, default, reduce, copy, node, nodes, within-node, pair", word);
  }

  std::string parseBase(const Words& words) {
    if (words.size() != 1) return "write: base NAME";
    if (settings_seen_) return "base must come before all other settings";
    settings_seen_ = true;
    Result<Links> built_in = Links::builtIn(words[0], links_.size());
    if (!built_in.isOk()) return built_in.status().text();
    links_ = built_in.take();
    return {};
  }

  std::string parseDefault(const Words& words) {
    PriceChange change;
    if (std::string reason = parseChange(words, change); !reason.empty()) return reason;
    if (pairs_seen_) return "default must come before within-node and pair, which it would undo";
    links_.setAll(change.appliedTo(links_.size() > 1 ? links_.price(0, 1) : links_.price(0, 0)));
    return {};
  }

  std::string parseCpu(std::string_view word, const Words& words) {
    CpuPrice cpu = links_.cpu();
    double& rate = word == "reduce" ? cpu.reduce_bytes_per_s : cpu.copy_bytes_per_s;
    if (words.size() != 1) return fmt::format("write: {} BANDWIDTH", word);
    if (std::string reason = parseRate(words[0], rate); !reason.empty()) return reason;
    links_.setCpu(cpu);
    return {};
  }

  std::string parseNode(const Words& words) {
    if (words.empty()) return "write: node RANKS [up BANDWIDTH] [down BANDWIDTH]";
    std::vector<int> ranks;
    NodePrice price;
    if (std::string reason = parseRanks(words[0], ranks); !reason.empty()) return reason;
    if (std::string reason = parsePorts(Words(words.begin() + 1, words.end()), price); !reason.empty()) return reason;
    return setNode(ranks, price);
  }

  std::string parseNodes(const Words& words) {
    int group = 0;
    NodePrice price;
    if (words.size() < 2 || words[0] != "of" || !parseWhole(words[1], group) || group < 1) {
      return "write: nodes of COUNT [up BANDWIDTH] [down BANDWIDTH], with COUNT >= 1";
    }
    if (std::string reason = parsePorts(Words(words.begin() + 2, words.end()), price); !reason.empty()) return reason;
    for (int first = 0; first < links_.size(); first += std::min(group, links_.size() - first)) {
      std::vector<int> ranks;
      for (int rank = first; rank < links_.size() && rank - first < group; ++rank)
        ranks.push_back(rank);
      if (std::string reason = setNode(ranks, price); !reason.empty()) return reason;
    }
    return {};
  }

  std::string setNode(const std::vector<int>& ranks, const NodePrice& price) {
    for (const int rank : ranks) {
      int& line = node_line_[static_cast<std::size_t>(rank)];
      if (line != 0) return fmt::format("rank {} is on the node of line {} already", rank, line);
      line = line_;
    }
    links_.setNode(ranks, price);
    return {};
  }

  std::string parseWithinNode(const Words& words) {
    PriceChange change;
    if (std::string reason = parseChange(words, change); !reason.empty()) return reason;
    pairs_seen_ = true;
    for (int from = 0; from < links_.size(); ++from) {
      for (int to = 0; to < links_.size(); ++to) {
        if (from != to && links_.nodeOf(from) == links_.nodeOf(to)) {
          links_.setPrice(from, to, change.appliedTo(links_.price(from, to)));
        }
      }
    }
    return {};
  }

  std::string parsePair(const Words& words) {
    const bool both = words.size() > 1 && words[1] == "<->";
    if (words.size() < 3 || (words[1] != "->" && !both)) return "write: pair RANKS -> RANKS KEY VALUE ... (or <->)";
    std::vector<int> from_ranks;
    std::vector<int> to_ranks;
    PriceChange change;
    if (std::string reason = parseRanks(words[0], from_ranks); !reason.empty()) return reason;
    if (std::string reason = parseRanks(words[2], to_ranks); !reason.empty()) return reason;
    if (std::string reason = parseChange(Words(words.begin() + 3, words.end()), change); !reason.empty()) return reason;
    if (from_ranks.size() == 1 && from_ranks == to_ranks) {
      return fmt::format("rank {} has no link to itself", from_ranks[0]);
    }
    pairs_seen_ = true;
    for (const int from : from_ranks) {
      for (const int to : to_ranks) {
        if (from == to) continue;
        links_.setPrice(from, to, change.appliedTo(links_.price(from, to)));
        if (both) links_.setPrice(to, from, change.appliedTo(links_.price(to, from)));
      }
    }
    return {};
  }

  static std::string parseChange(const Words& words, PriceChange& change) {
    if (words.empty() || words.size() % 2 != 0) {
      return "give KEY VALUE pairs of latency, bandwidth, overhead, eager and sender";
    }
    for (std::size_t i = 0; i < words.size(); i += 2) {
      std::optional<double>* field = nullptr;
      if (words[i] == "latency") field = &change.latency_s;
      if (words[i] == "bandwidth") field = &change.bandwidth_bytes_per_s;
      if (words[i] == "overhead") field = &change.overhead_s;
      if (words[i] == "eager") field = &change.eager_bytes;
      if (words[i] == "sender") field = &change.sender_bytes_per_s;
      if (field == nullptr)
        return fmt::format("'{}' is not one of latency, bandwidth, overhead, eager, sender", words[i]);
      if (field->has_value()) return fmt::format("{} is given twice", words[i]);
      double value = 0;
      std::string reason;
      if (field == &change.bandwidth_bytes_per_s || field == &change.sender_bytes_per_s) {
        reason = parseRate(words[i + 1], value);
      } else if (field == &change.eager_bytes) {
        reason = parseNumber(words[i + 1], kByteUnits, {0, kMaxBytes}, value);
      } else {
        reason = parseNumber(words[i + 1], kTimeUnits, {0, kMaxSeconds}, value);
      }
      if (!reason.empty()) return reason;
      *field = value;
    }
    return {};
  }

  static std::string parsePorts(const Words& words, NodePrice& price) {
    if (words.size() % 2 != 0) return "a node takes [up BANDWIDTH] [down BANDWIDTH]";
    for (std::size_t i = 0; i < words.size(); i += 2) {
      if (words[i] != "up" && words[i] != "down") return fmt::format("'{}' is not one of up, down", words[i]);
      double& rate = words[i] == "up" ? price.up_bytes_per_s : price.down_bytes_per_s;
      if (rate != 0) return fmt::format("{} is given twice", words[i]);
      if (std::string reason = parseRate(words[i + 1], rate); !reason.empty()) return reason;
    }
    return {};
  }

  static std::string parseRate(std::string_view word, double& value) {
    return parseNumber(word, kRateUnits, {1, kMaxBytes}, value);
  }

  struct Bounds {
    double least;
    double most;
  };

  /// Parses a decimal number with its unit, without a space: 25us.
  static std::string parseNumber(std::string_view word, std::span<const Unit> units, Bounds bounds, double& value) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), number, std::chars_format::general);
    const std::string_view suffix(end, static_cast<std::size_t>(word.data() + word.size() - end));
    const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == suffix; });
    if (error != std::errc() || !std::isfinite(number) || unit == units.end()) {
      std::vector<std::string_view> names;
      for (const Unit& u : units)
        names.push_back(u.name);
      return fmt::format("'{}' is not a number followed by one of {}", word, fmt::join(names, ", "));
    }
    value = number * unit->factor / unit->divisor;
    if (!(value >= bounds.least && value <= bounds.most)) {
      return fmt::format("'{}' is outside {:g} to {:g} (in {})", word, bounds.least, bounds.most,
                         std::find_if(units.begin(), units.end(), [](const Unit& u) {
                           return u.factor == 1 && u.divisor == 1;
                         })->name);
    }
    return {};
  }

  static bool parseWhole(std::string_view word, int& value) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() && value >= 0;
  }

  /// Parses `*`, or a list of ranks and ranges such as 0-3,8.
  std::string parseRanks(std::string_view word, std::vector<int>& ranks) const {
    if (word == "*") {
      for (int rank = 0; rank < links_.size(); ++rank)
        ranks.push_back(rank);
      return {};
    }
    std::string_view left = word;
    while (true) {
      const std::size_t comma = std::min(left.find(','), left.size());
      const std::string_view part = left.substr(0, comma);
      const std::size_t dash = std::min(part.find('-'), part.size());
      int first = 0;
      int last = 0;
      const bool read = parseWhole(part.substr(0, dash), first) &&
                        parseWhole(dash < part.size() ? part.substr(dash + 1) : part, last);
      if (!read || last < first) return fmt::format("'{}' is not a list of ranks such as *, 5 or 0-3,8", word);
      if (last >= links_.size()) return fmt::format("rank {} does not exist: there are {} ranks", last, links_.size());
      for (int rank = first; rank <= last; ++rank) {
        if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end())
          return fmt::format("rank {} is given twice", rank);
        ranks.push_back(rank);
      }
      if (comma == left.size()) return {};
      left.remove_prefix(comma + 1);
    }
  }

  Links links_;
  std::vector<int> node_line_; ///< By rank: the line that put it on a node, or 0.
  int line_ = 0;
  bool header_seen_ = false;
  bool settings_seen_ = false;
  bool pairs_seen_ = false;
};

} // namespace

Result<Links> Links::parse(std::string_view text, int size) {
  if (size < 1)
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("links need at least 1 rank, not {}", size));
  return Parser(size).parse(text);
}

} // namespace goss::schedule
