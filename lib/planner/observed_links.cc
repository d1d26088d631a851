#include "planner/observed_links.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/median.h"
#include "base/wire.h"

namespace goss {

namespace {

/// Flows of fewer bytes show the delay of a path rather than its rate, and are ignored.
constexpr std::uint64_t kMinBytes = 256 << 10;
/// A line that carries at most this factor of its fastest path is shared by all of its paths.
constexpr double kShared = 1.3;
/// Where paths differ by this factor, lines whose paths do not share them are as fast as all paths together.
constexpr double kDiffer = 1.5;
/// Figures within this factor of their median count as equal; so do rates of lines within the next, because several
/// flows do not always fill one.
constexpr double kAlike = 1.3;
constexpr double kAlikeLines = 1.5;
constexpr double kMaxIdle = 1.15;
constexpr double kUnit = 1000; ///< Bytes a second in which rates travel.

/// The rate of a flow. Its last bytes are acknowledged one round trip later, in which the path may be idle.
double rateOf(const ObservedFlow& flow, double round_trip_s) {
  if (flow.bytes < kMinBytes || flow.busy_s <= 0) return 0;
  return static_cast<double>(flow.bytes) / std::max(flow.busy_s - round_trip_s, flow.busy_s / 2);
}

std::uint32_t encoded(double rate) {
  if (rate <= 0) return 0;
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(rate / kUnit)) - 2));
  const double digits = std::max(1.0, std::round(rate / kUnit / unit) * unit);
  return static_cast<std::uint32_t>(std::min<double>(digits, std::numeric_limits<std::uint32_t>::max()));
}

} // namespace

ObservedLinks::ObservedLinks(int size)
    : size_(size),
      pairs_(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)),
      up_(static_cast<std::size_t>(size)),
      down_(up_.size()) {}

void ObservedLinks::Rate::observe(double rate) {
  if (rate <= 0) return;
  bytes_per_s = old ? rate : std::max(bytes_per_s, rate);
  old = false;
}

void ObservedLinks::age() {
  for (std::vector<Rate>* rates : {&pairs_, &up_, &down_})
    for (Rate& rate : *rates)
      rate.old = true;
}

void ObservedLinks::add(const std::vector<ObservedFlow>& flows, const schedule::Links& before) {
  for (int from = 0; from < size_; ++from) {
    for (int to = 0; to < size_; ++to)
      pairs_[pairIndex(from, to)].observe(rateOf(flows[pairIndex(from, to)], 2 * before.price(from, to).latency_s));
  }
  for (int rank = 0; rank < size_; ++rank) {
    addLine(flows, rank, true);
    addLine(flows, rank, false);
  }
}

void ObservedLinks::addLine(const std::vector<ObservedFlow>& flows, int rank, bool up) {
  double bytes = 0;
  double busy_s = 0;
  int busy = 0;
  for (int peer = 0; peer < size_; ++peer) {
    const ObservedFlow& flow = flows[up ? pairIndex(rank, peer) : pairIndex(peer, rank)];
    if (peer == rank || flow.bytes < kMinBytes) continue;
    bytes += static_cast<double>(flow.bytes);
    busy_s = std::max(busy_s, flow.busy_s);
    ++busy;
  }
  if (busy > 1 && busy_s > 0) (up ? up_ : down_)[static_cast<std::size_t>(rank)].observe(bytes / busy_s);
}

double ObservedLinks::fastestOf(int rank, bool up) const {
  double fastest = 0;
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank)
      fastest = std::max(fastest, pairs_[up ? pairIndex(rank, peer) : pairIndex(peer, rank)].bytes_per_s);
  return fastest;
}

double ObservedLinks::sumOf(int rank, bool up) const {
  double sum = 0;
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank) sum += pairs_[up ? pairIndex(rank, peer) : pairIndex(peer, rank)].bytes_per_s;
  return sum;
}

/// The rate of a line that the paths of `rank` share; 0: they do not, or it is not known.
double ObservedLinks::sharedLine(int rank, bool up) const {
  const double together = (up ? up_ : down_)[static_cast<std::size_t>(rank)].bytes_per_s;
  const double fastest = fastestOf(rank, up);
  return together > 0 && together <= kShared * fastest ? std::max(together, fastest) : 0;
}

bool ObservedLinks::differ() const {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (int from = 0; from < size_; ++from) {
    for (int to = 0; to < size_; ++to) {
      if (from == to) continue;
      least = std::min(least, pairs_[pairIndex(from, to)].bytes_per_s);
      most = std::max(most, pairs_[pairIndex(from, to)].bytes_per_s);
    }
  }
  return most >= kDiffer * least;
}

/// The rates of all paths and lines. `pairs` is empty if the rate of a path is not known.
ObservedLinks::Rates ObservedLinks::rates() const {
  Rates rates;
  for (int rank = 0; rank < size_; ++rank) {
    rates.ups.push_back(sharedLine(rank, true));
    rates.downs.push_back(sharedLine(rank, false));
  }
  rates.pairs.resize(pairs_.size());
  for (int from = 0; from < size_; ++from) {
    for (int to = 0; to < size_; ++to) {
      if (from == to) continue;
      const double rate = pairs_[pairIndex(from, to)].bytes_per_s;
      if (rate <= 0) return {};
      // A path that is used alone would fill the lines that it shares.
      const double line =
          std::min(rates.ups[static_cast<std::size_t>(from)], rates.downs[static_cast<std::size_t>(to)]);
      rates.pairs[pairIndex(from, to)] = std::max(rate, line);
    }
  }
  return rates;
}

/// False: the ranks are not alike, and the rates stay as they are.
bool ObservedLinks::evenOut(Rates& rates, const schedule::Links& before) {
  const int size = before.size();
  std::vector<double> latencies;
  std::vector<double> paths;
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      if (from == to) continue;
      if (before.nodeOf(from) == before.nodeOf(to)) return false;
      latencies.push_back(before.price(from, to).latency_s);
      paths.push_back(
          rates.pairs[static_cast<std::size_t>(from) * static_cast<std::size_t>(size) + static_cast<std::size_t>(to)]);
    }
  }
  if (!base::areNearMedian(latencies, kAlike)) return false;
  std::vector<double> lines = rates.ups;
  lines.insert(lines.end(), rates.downs.begin(), rates.downs.end());
  const bool shared = std::all_of(lines.begin(), lines.end(), [](double line) { return line > 0; });
  const bool own = std::all_of(lines.begin(), lines.end(), [](double line) { return line <= 0; });
  if (shared ? !base::areNearMedian(lines, kAlikeLines) : !own || !base::areNearMedian(paths, kAlike)) return false;
  // Every line was idle at times, and most so where a rate is low; a rate far above the others is an error.
  const double rate = shared
                          ? std::min(*std::max_element(lines.begin(), lines.end()), kMaxIdle * base::upperMedian(lines))
                          : base::upperMedian(paths);
  std::fill(rates.pairs.begin(), rates.pairs.end(), rate);
  for (std::vector<double>* ends : {&rates.ups, &rates.downs})
    std::fill(ends->begin(), ends->end(), shared ? rate : 0);
  return true;
}

std::string ObservedLinks::encode(const schedule::Links& before) const {
  Rates all = rates();
  if (all.pairs.empty()) return "";
  const bool own_paths = !evenOut(all, before) && differ();
  base::WireWriter writer;
  for (int from = 0; from < size_; ++from)
    for (int to = 0; to < size_; ++to)
      if (from != to) writer.integer(encoded(all.pairs[pairIndex(from, to)]));
  for (int rank = 0; rank < size_; ++rank) {
    for (const bool up : {true, false}) {
      const double shared = (up ? all.ups : all.downs)[static_cast<std::size_t>(rank)];
      writer.integer(encoded(shared > 0 || !own_paths ? shared : sumOf(rank, up)));
    }
  }
  return writer.take();
}

std::string ObservedLinks::encodePrices(const schedule::Links& prices) {
  base::WireWriter writer;
  for (int from = 0; from < prices.size(); ++from)
    for (int to = 0; to < prices.size(); ++to)
      if (from != to) writer.integer(encoded(prices.price(from, to).bandwidth_bytes_per_s));
  for (int rank = 0; rank < prices.size(); ++rank) {
    const schedule::NodePrice& node = prices.node(prices.nodeOf(rank));
    writer.integer(encoded(node.up_bytes_per_s)).integer(encoded(node.down_bytes_per_s));
  }
  return writer.take();
}

std::optional<schedule::Links> ObservedLinks::decode(std::string_view bytes, const schedule::Links& before) {
  base::WireReader reader(bytes);
  schedule::Links links = before;
  for (int from = 0; from < before.size(); ++from) {
    for (int to = 0; to < before.size(); ++to) {
      if (from == to) continue;
      schedule::LinkPrice price = before.price(from, to);
      price.bandwidth_bytes_per_s = kUnit * reader.integer<std::uint32_t>();
      if (price.bandwidth_bytes_per_s <= 0) return std::nullopt;
      links.setPrice(from, to, price);
    }
  }
  for (int rank = 0; rank < before.size(); ++rank) {
    schedule::NodePrice node;
    node.up_bytes_per_s = kUnit * reader.integer<std::uint32_t>();
    node.down_bytes_per_s = kUnit * reader.integer<std::uint32_t>();
    bool alone = true;
    for (int other = 0; other < before.size(); ++other)
      alone = alone && (other == rank || before.nodeOf(other) != before.nodeOf(rank));
    if (alone) links.setNode(std::vector{rank}, node);
  }
  if (!reader.complete()) return std::nullopt;
  return links;
}

} // namespace goss
