#include "planner/followed_links.h"

#include <algorithm>

#include "base/median.h"

namespace goss {

namespace {

/// A flow that carried less in a stretch of calls tells of delays, not of rates.
constexpr std::uint64_t kMinBytes = 1 << 20;
/// A flow counts as slower or faster only if its rate has changed by these factors. Lost packets, other programs, and
/// lines that other flows of the plan leave free for a while change it by less.
constexpr double kSlower = 0.55;
constexpr double kFaster = 1.8;
/// A flow that gets less than this part of its share of lines has a path that is slower than its price.
constexpr double kFarSlower = 0.35;
/// A path is slower than it was measured at less than this part of that rate, and has it again at more.
constexpr double kAsMeasured = 0.8;

bool areAlike(double one, double other) { return one >= kAsMeasured * other && other >= kAsMeasured * one; }

/// The rate of a path whose flow has changed by `factor`. It does not become faster than it was measured unless a flow
/// is, because a flow also gets faster where others leave it a shared line.
double changed(double now, double measured, double factor, double carried) {
  const double next = now * factor;
  if (factor <= 1) return next;
  return std::max(now, std::min(next, std::max(measured, carried)));
}

} // namespace

FollowedLinks::FollowedLinks(const schedule::Links& measured)
    : size_(measured.size()),
      measured_(measured),
      pairs_(static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_)),
      up_(static_cast<std::size_t>(size_)),
      down_(up_.size()),
      usual_(pairs_.size()) {
  use(measured);
  is_first_plan_ = true;
  for (std::vector<Line>* lines : {&pairs_, &up_, &down_})
    for (Line& line : *lines)
      line.measured = line.now;
}

void FollowedLinks::use(const schedule::Links& prices) {
  for (int from = 0; from < size_; ++from) {
    for (int to = 0; to < size_; ++to)
      if (from != to) pairs_[pairIndex(from, to)].now = prices.price(from, to).bandwidth_bytes_per_s;
    const schedule::NodePrice& node = prices.node(prices.nodeOf(from));
    up_[static_cast<std::size_t>(from)].now = node.up_bytes_per_s;
    down_[static_cast<std::size_t>(from)].now = node.down_bytes_per_s;
  }
  forgetFlows();
}

FollowedLinks::Speed FollowedLinks::speedOf(const ObservedFlow& flow) {
  if (flow.bytes < kMinBytes || flow.busy_s <= 0) return {};
  return {static_cast<double>(flow.bytes) / flow.busy_s, flow.seen_bytes_per_s};
}

/// The factor by which the flow has become slower or faster; 1: it has not; nullopt: not known. Both measures must show
/// it: the carried rate also falls if the program has less to send at a time, and the rate that the system saw last may
/// be an outlier.
std::optional<double> FollowedLinks::factorOf(const Speed& now, const Speed& usual) {
  if (now.carried <= 0 || usual.carried <= 0) return std::nullopt;
  const double carried = now.carried / usual.carried;
  const double seen = now.seen > 0 && usual.seen > 0 ? now.seen / usual.seen : carried;
  const bool has_changed = std::max(carried, seen) <= kSlower || std::min(carried, seen) >= kFaster;
  return has_changed ? std::max(carried, seen) : 1;
}

void FollowedLinks::forgetFlows() {
  usual_.assign(usual_.size(), {});
  is_first_plan_ = false;
}

/// As factorOf(), for a flow without a usual speed: the flow is far slower than its share of the lines and of the path,
/// or faster than the price of the path.
std::optional<double> FollowedLinks::factorOfNew(const std::vector<Speed>& speeds, int from, int to) const {
  const Speed& speed = speeds[pairIndex(from, to)];
  const Line& path = pairs_[pairIndex(from, to)];
  if (speed.carried <= 0) return std::nullopt;
  if (path.now < kAsMeasured * path.measured && speed.carried > path.now) return speed.carried / path.now;
  double senders = 0;
  double receivers = 0;
  for (int rank = 0; rank < size_; ++rank) {
    senders += speeds[pairIndex(rank, to)].carried > 0 ? 1 : 0;
    receivers += speeds[pairIndex(from, rank)].carried > 0 ? 1 : 0;
  }
  double share = path.now;
  if (const double up = up_[static_cast<std::size_t>(from)].now; up > 0) share = std::min(share, up / receivers);
  if (const double down = down_[static_cast<std::size_t>(to)].now; down > 0) share = std::min(share, down / senders);
  const double most = std::max(speed.carried, speed.seen);
  return most <= kFarSlower * share ? std::optional(most / share) : std::nullopt;
}

/// Multiplies the rates of paths by these factors. Returns whether a rate has changed.
bool FollowedLinks::change(const std::vector<std::optional<double>>& factors, const std::vector<Speed>& speeds) {
  bool any = false;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const double before = pairs_[i].now;
    pairs_[i].now = changed(before, pairs_[i].measured, factors[i].value_or(1), speeds[i].carried);
    any = any || !areAlike(before, pairs_[i].now);
  }
  return any;
}

bool FollowedLinks::observe(const std::vector<ObservedFlow>& flows) {
  std::vector<Speed> speeds;
  for (const ObservedFlow& flow : flows)
    speeds.push_back(speedOf(flow));
  std::vector<std::optional<double>> factors(pairs_.size());
  hides_rates_ = false;
  for (int from = 0; from < size_; ++from) {
    for (int to = 0; to < size_; ++to) {
      const std::size_t i = pairIndex(from, to);
      factors[i] = factorOf(speeds[i], usual_[i]);
      hides_rates_ = hides_rates_ || (pairs_[i].now < kAsMeasured * pairs_[i].measured && speeds[i].carried <= 0);
      if (!factors[i].has_value() && !is_first_plan_) factors[i] = factorOfNew(speeds, from, to);
    }
  }
  spreadOverLines(factors);
  for (std::size_t i = 0; i < pairs_.size(); ++i)
    if (factors[i].value_or(1) != 1 || usual_[i].carried <= 0) usual_[i] = speeds[i];
  return change(factors, speeds);
}

void FollowedLinks::observeOthers(const std::vector<ObservedFlow>& flows) {
  std::vector<Speed> speeds;
  for (const ObservedFlow& flow : flows)
    speeds.push_back(speedOf(flow));
  std::vector<std::optional<double>> factors(pairs_.size());
  for (int from = 0; from < size_; ++from)
    for (int to = 0; to < size_; ++to)
      if (usual_[pairIndex(from, to)].carried <= 0) factors[pairIndex(from, to)] = factorOfNew(speeds, from, to);
  change(factors, speeds);
}

/// The median factor of the flows out of a rank, or into it, if at least `least` are known, and all of them have become
/// slower, or all faster.
std::optional<double> FollowedLinks::factorOfAll(const std::vector<std::optional<double>>& factors, int rank, bool up,
                                                 std::size_t least) const {
  std::vector<double> known;
  for (int peer = 0; peer < size_; ++peer) {
    const std::optional<double>& factor = factors[up ? pairIndex(rank, peer) : pairIndex(peer, rank)];
    if (peer != rank && factor.has_value()) known.push_back(*factor);
  }
  const bool slower = std::all_of(known.begin(), known.end(), [](double factor) { return factor < 1; });
  const bool faster = std::all_of(known.begin(), known.end(), [](double factor) { return factor > 1; });
  if (known.size() < std::max<std::size_t>(least, 1) || (!slower && !faster)) return std::nullopt;
  return base::upperMedian(known);
}

/// If all flows of a rank have changed, its line has changed, and with it the paths that carried nothing. A single flow
/// counts as all flows only if the rank's flows in the other direction have changed, too.
void FollowedLinks::spreadOverLines(std::vector<std::optional<double>>& factors) {
  const std::vector<std::optional<double>> own = factors;
  for (int rank = 0; rank < size_; ++rank) {
    const bool both = factorOfAll(own, rank, true, 1).has_value() && factorOfAll(own, rank, false, 1).has_value();
    for (const bool up : {true, false}) {
      const std::optional<double> all = factorOfAll(own, rank, up, both ? 1 : 2);
      if (!all.has_value()) continue;
      Line& line = (up ? up_ : down_)[static_cast<std::size_t>(rank)];
      line.now = changed(line.now, line.measured, *all, 0);
      for (int peer = 0; peer < size_; ++peer) {
        std::optional<double>& factor = factors[up ? pairIndex(rank, peer) : pairIndex(peer, rank)];
        if (peer != rank && !factor.has_value()) factor = all;
      }
    }
  }
}

schedule::Links FollowedLinks::prices(double factor) const {
  schedule::Links links = measured_;
  const auto rateOf = [factor](const Line& line) {
    return factor * (areAlike(line.now, line.measured) ? line.measured : line.now);
  };
  for (int from = 0; from < size_; ++from) {
    for (int to = 0; to < size_; ++to) {
      if (from == to) continue;
      schedule::LinkPrice price = measured_.price(from, to);
      price.bandwidth_bytes_per_s = rateOf(pairs_[pairIndex(from, to)]);
      links.setPrice(from, to, price);
    }
    const auto rank = static_cast<std::size_t>(from);
    links.setNode(std::vector{from}, {rateOf(up_[rank]), rateOf(down_[rank])});
  }
  return links;
}

std::string FollowedLinks::encode() const {
  const auto isAsMeasured = [](const Line& line) { return areAlike(line.now, line.measured); };
  const bool same = std::all_of(pairs_.begin(), pairs_.end(), isAsMeasured) &&
                    std::all_of(up_.begin(), up_.end(), isAsMeasured) &&
                    std::all_of(down_.begin(), down_.end(), isAsMeasured);
  return same ? "" : encodeTimes(1);
}

std::string FollowedLinks::encodeTimes(double factor) const { return ObservedLinks::encodePrices(prices(factor)); }

} // namespace goss
