#include "survey/link_measurement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/median.h"
#include "base/wide_area.h"
#include "survey/link_ping.h"
#include "survey/link_stream.h"

namespace goss {

namespace {

constexpr int kFirstPings = 4;
constexpr int kNearPings = 20;

constexpr std::int32_t kAloneTag = 2;
constexpr std::int32_t kTogetherTag = 3;
/// Duration of a stream between near ranks that runs alone.
constexpr double kNear_s = 0.06;
/// A stream between far ranks takes at least this many round trips alone, in which TCP may find its speed, and at most
/// twice as many. Streams of all ranks together take more, because TCP has found that speed, and loses some of it
/// again.
constexpr double kRoundTripsAlone = 13;
constexpr double kMinAlone_s = 0.2;
constexpr double kRoundTripsTogether = 16;
constexpr double kMinTogether_s = 0.3;

/// Links that together have at most this part of their rates alone, and are not much faster than the fastest alone,
/// share a line, which is full.
constexpr double kFullLine = 0.75;
constexpr double kSharedLine = 1.6;
/// Links whose rate together is more than this part of the sum of their rates alone do not share a line, or the line
/// does not limit them. The line does not limit them either where the fastest link alone has most of that rate. But
/// flows that are slow because of lost packets look the same, so both count only where some links of the communicator
/// are kDistinctBottlenecks times as fast as others.
constexpr double kOwnLines = 0.85;
constexpr double kNoOthers = 1.8;
constexpr double kDistinctBottlenecks = 3;
/// A path limits a flow if the lines of its two ranks would allow at least this many times the flow's rate.
constexpr double kLimitedByPath = 1.8;
/// Paths count as the limit if at least one flow in this many is that slow. Lost packets and short measurements alone
/// make up to a quarter of the flows that slow.
constexpr int kOneOfSoMany = 3;
/// A flow that fills its path overflows a queue there and sends a good part of its bytes again. A flow that sends a
/// part from kMinByChance to kMaxByChance again has lost packets by chance, and its path may carry more. Where half of
/// the flows have, lines count as equal if their fastest flows differ by kAlikeByChance at most.
constexpr double kMinByChance = 0.001;
constexpr double kMaxByChance = 0.02;
constexpr double kAlikeByChance = 2.5;
/// A port with this many times the sum of its links' rates does not limit them.
constexpr double kRoomyPort = 2;

/// A rate that varied by more than this part of it is named in a comment.
constexpr double kSteady = 0.3;
/// A long round trip that varied by more is named, too; short ones vary with the load of the processors.
constexpr double kSteadyRoundTrip = 0.3;

/// Figures within this factor of the median count as equal.
constexpr double kAlike = 1.3;
/// As kAlike, for rates of links together: connections that share a line do so unevenly.
constexpr double kAlikeTogether = 1.7;

int roundsOf(int size) { return size + size % 2 - 1; }

/// The rate that the sender's system has measured, or else the rate that the receiver has measured.
double rateOf(const SteadyRate& rate) { return rate.seen_bytes_per_s > 0 ? rate.seen_bytes_per_s : rate.bytes_per_s; }

Result<MeasuredLink> measure(Communicator& communicator, int peer, const RoundTrip& round_trip, double alone_s,
                             std::int64_t timeout_ms) {
  const double round_trip_s = round_trip.shortest_s;
  const bool near = round_trip_s < kWideAreaRoundTrip_s;
  MeasuredLink link{round_trip_s / 2, 0, kNoRelay, 0, 0, 0, near ? 0 : round_trip.spread};
  if (alone_s <= 0) return link;
  if (near) {
    Result<std::vector<RoundTrip>> again = LinkPing(communicator, timeout_ms).run({peer}, kNearPings);
    if (!again.isOk()) return again.status();
    link.latency_s = std::min(link.latency_s, again.value().front().shortest_s / 2);
  }
  Result<std::vector<SteadyRate>> rates =
      LinkStream(communicator, {{peer, round_trip_s}}, {alone_s, true, kAloneTag}, timeout_ms).run();
  if (!rates.isOk()) return rates.status();
  const SteadyRate& rate = rates.value().front();
  link.bandwidth_bytes_per_s = link.alone_bytes_per_s = rateOf(rate);
  link.spread = rate.spread;
  link.resent = rate.resent;
  return link;
}

/// The longest round trip of all pairs of ranks; `links` are those of this rank.
Result<double> longestRoundTrip(Communicator& communicator, const std::vector<MeasuredLink>& links,
                                std::int64_t timeout_ms) {
  double longest_s = 0;
  for (const MeasuredLink& link : links)
    longest_s = std::max(longest_s, 2 * link.latency_s);
  Call call;
  call.collective = Collective::allReduce;
  call.dtype = GOSS_FLOAT64;
  call.op = GOSS_MAX;
  call.input = call.output = &longest_s;
  call.count = 1;
  call.timeout_ms = timeout_ms;
  setUniformShape(call, communicator.size());
  if (Status status = communicator.collectives().run(call); !status.isOk()) return status;
  return longest_s;
}

/// Measures with all ranks that are far away, all at the same time: the ranks have just agreed on the longest round
/// trip.
Status measureTogether(Communicator& communicator, std::vector<MeasuredLink>& links, const MeasurementTime& time,
                       std::int64_t timeout_ms) {
  if (communicator.size() < 3) return Status::ok();
  const Result<double> longest_s = longestRoundTrip(communicator, links, timeout_ms);
  if (!longest_s.isOk()) return longest_s.status();
  std::vector<LinkStream::Peer> far;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const double round_trip_s = 2 * links[static_cast<std::size_t>(rank)].latency_s;
    if (rank != communicator.rank() && round_trip_s >= kWideAreaRoundTrip_s) far.push_back({rank, round_trip_s});
  }
  if (far.empty()) return Status::ok();
  const double span_s = std::min(time.together_s, std::max(kMinTogether_s, kRoundTripsTogether * longest_s.value()));
  Result<std::vector<SteadyRate>> rates =
      LinkStream(communicator, far, {span_s, false, kTogetherTag}, timeout_ms).run();
  if (!rates.isOk()) return rates.status();
  for (std::size_t i = 0; i < far.size(); ++i) {
    MeasuredLink& link = links[static_cast<std::size_t>(far[i].rank)];
    const SteadyRate& rate = rates.value()[i];
    link.together_bytes_per_s = rate.bytes_per_s;
    link.together_spread = rate.spread;
    if (link.alone_bytes_per_s <= 0) link.spread = rate.spread;
    // A flow that was slower alone than beside others had too little time to find its speed.
    link.bandwidth_bytes_per_s = std::max(link.alone_bytes_per_s, rateOf(rate));
  }
  return Status::ok();
}

/// The link from one rank to another, among those that all ranks measured.
const MeasuredLink& linkOf(const std::vector<MeasuredLink>& links, int size, int from, int to) {
  return links[static_cast<std::size_t>(from) * static_cast<std::size_t>(size) + static_cast<std::size_t>(to)];
}

/// The rate between the members of one node and the ranks beyond it, out of the node or into it, while all ranks that
/// are far away sent to all.
double portRateTogether(const std::vector<MeasuredLink>& links, const schedule::Links& before, int node, bool up) {
  double sum = 0;
  for (int rank = 0; rank < before.size(); ++rank) {
    for (int peer = 0; peer < before.size(); ++peer) {
      if (before.nodeOf(rank) != node || before.nodeOf(peer) == node) continue;
      sum += linkOf(links, before.size(), up ? rank : peer, up ? peer : rank).together_bytes_per_s;
    }
  }
  return sum;
}

/// portRateTogether(), or the highest sum in one round. Pairs of a round on long paths have only their shares of the
/// port, because all were measured at once.
double portRate(const std::vector<MeasuredLink>& links, const schedule::Links& before, int node, bool up) {
  const int size = before.size();
  double most = portRateTogether(links, before, node, up);
  for (int round = 0; round < roundsOf(size); ++round) {
    double sum = 0;
    for (int rank = 0; rank < size; ++rank) {
      const int peer = partnerInRound(size, rank, round);
      if (peer < 0 || before.nodeOf(rank) != node || before.nodeOf(peer) == node) continue;
      const int from = up ? rank : peer;
      const int to = up ? peer : rank;
      sum += linkOf(links, size, from, to).bandwidth_bytes_per_s;
    }
    most = std::max(most, sum);
  }
  return most;
}

/// Flows between ranks that are far from each other and were measured alone.
class WanFlows {
 public:
  WanFlows(const std::vector<MeasuredLink>& links, int size)
      : links_(links), size_(size), up_(static_cast<std::size_t>(size)), down_(up_) {
    for (int from = 0; from < size; ++from) {
      for (int to = 0; to < size; ++to) {
        if (!have(from, to)) continue;
        double& up = up_[static_cast<std::size_t>(from)];
        double& down = down_[static_cast<std::size_t>(to)];
        up = std::max(up, alone(from, to));
        down = std::max(down, alone(from, to));
      }
    }
    for (int from = 0; from < size; ++from) {
      for (int to = 0; to < size; ++to) {
        all_ += have(from, to) ? 1 : 0;
        slow_ += isSlow(from, to) ? 1 : 0;
        const double resent = linkOf(links, size, from, to).resent;
        by_chance_ += have(from, to) && resent >= kMinByChance && resent <= kMaxByChance ? 1 : 0;
      }
    }
  }

  /// Whether the path, not the lines of the two ranks, limits the flow: it is much slower than two lines as fast as the
  /// fastest flow that uses each would let it be.
  [[nodiscard]] bool isSlow(int from, int to) const {
    const double lines = std::min(up_[static_cast<std::size_t>(from)], down_[static_cast<std::size_t>(to)]);
    return have(from, to) && lines >= kLimitedByPath * alone(from, to);
  }
  /// Whether isSlow() holds for many flows.
  [[nodiscard]] bool manyAreSlow() const { return all_ > 0 && slow_ * kOneOfSoMany >= all_; }
  /// Whether half of the flows lose packets by chance, so that they differ in speed for no other reason.
  [[nodiscard]] bool loseByChance() const { return all_ > 0 && 2 * by_chance_ >= all_; }

 private:
  [[nodiscard]] double alone(int from, int to) const { return linkOf(links_, size_, from, to).alone_bytes_per_s; }
  [[nodiscard]] bool have(int from, int to) const {
    return from != to && alone(from, to) > 0 && linkOf(links_, size_, from, to).together_bytes_per_s > 0;
  }

  const std::vector<MeasuredLink>& links_;
  const int size_;
  std::vector<double> up_; ///< By rank: the fastest flow out of it; so is the next into it.
  std::vector<double> down_;
  int all_ = 0;
  int slow_ = 0;
  int by_chance_ = 0;
};

/// Rates of the links out of a rank, or into it. `together` is 0 where it is not known what all links carry at once, or
/// none of them was measured alone.
struct Line {
  double together = 0;
  double alone = 0;   ///< The sum of the links' bandwidths.
  double fastest = 0; ///< The highest of these.
  /// The far links that were measured alone and are not slow: the sum of their rates at the same time, divided by the
  /// sum of their rates alone.
  double left = 0;
  double spread = 0; ///< How much `together` varied at most while it was measured, over itself.
  bool whole = true; ///< All links were measured alone.
  int slow = 0;      ///< Links that WanFlows::isSlow().
  int others = 0;    ///< Links that count for `left`.
};

Line lineOf(const std::vector<MeasuredLink>& links, int size, int rank, bool up, const WanFlows& flows) {
  Line line;
  bool known = size > 2;
  double together = 0;
  double alone = 0;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    const MeasuredLink& link = up ? linkOf(links, size, rank, peer) : linkOf(links, size, peer, rank);
    known = known && link.together_bytes_per_s > 0;
    line.together += link.together_bytes_per_s;
    line.spread += link.together_bytes_per_s * link.together_spread;
    line.alone += link.bandwidth_bytes_per_s;
    line.fastest = std::max(line.fastest, link.bandwidth_bytes_per_s);
    line.whole = line.whole && link.alone_bytes_per_s > 0;
    if (link.alone_bytes_per_s <= 0) continue;
    if (up ? flows.isSlow(rank, peer) : flows.isSlow(peer, rank)) {
      ++line.slow;
      continue;
    }
    ++line.others;
    together += link.together_bytes_per_s;
    alone += link.bandwidth_bytes_per_s;
  }
  if (alone <= 0) known = false;
  line.left = alone > 0 ? together / alone : 0;
  if (line.together > 0) line.spread /= line.together;
  if (!known) line.together = 0;
  return line;
}

/// The lines of a rank.
struct RankLines {
  Line up;
  Line down;
};

std::vector<RankLines> linesOf(const std::vector<MeasuredLink>& links, int size, const WanFlows& flows) {
  std::vector<RankLines> lines;
  for (int rank = 0; rank < size; ++rank)
    lines.push_back({lineOf(links, size, rank, true, flows), lineOf(links, size, rank, false, flows)});
  return lines;
}

/// Whether one link is so much faster than the others together that a shared line makes no difference.
bool hasOneLink(const Line& line) { return line.whole && line.alone <= kNoOthers * line.fastest; }

/// Whether the links share one line, which was full.
bool isShared(const Line& line) {
  const bool known = line.slow == 0 || line.others >= 2; // One flow beside slow ones tells nothing of a line.
  return known && line.together > 0 && !hasOneLink(line) && line.left <= kFullLine &&
         line.together <= kSharedLine * line.fastest;
}

/// The rate of a port; 0: not known. Too low a rate would slow down everything that is paced by it, so in doubt none is
/// given; too high a rate costs a few lost packets.
double portOf(const Line& line, bool distinct_bottlenecks) {
  if (line.together <= 0) return 0;
  if (isShared(line)) return std::max(line.together, line.fastest);
  const bool own = hasOneLink(line) || line.left >= kOwnLines || line.slow > 0;
  return own && distinct_bottlenecks ? kRoomyPort * line.alone : 0;
}

bool haveDistinctBottlenecks(const std::vector<MeasuredLink>& links) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const MeasuredLink& link : links) {
    if (link.together_bytes_per_s <= 0) continue;
    least = std::min(least, link.together_bytes_per_s);
    most = std::max(most, link.together_bytes_per_s);
  }
  return most >= kDistinctBottlenecks * least;
}

/// The rate of the lines if each rank has a line as fast as all others'; 0 where that is not so, or not known.
double equalLines(const std::vector<RankLines>& lines, const WanFlows& flows) {
  std::vector<double> together;
  std::vector<double> alone;
  std::vector<double> left;
  std::vector<double> fastest;
  Line middle;
  for (const RankLines& of_rank : lines) {
    for (const Line& line : {of_rank.up, of_rank.down}) {
      if (line.together <= 0) return 0;
      together.push_back(line.together);
      alone.push_back(line.alone);
      left.push_back(line.left);
      fastest.push_back(line.fastest);
      middle.fastest = std::max(middle.fastest, line.fastest);
      middle.whole = middle.whole && line.whole;
    }
  }
  middle.left = base::upperMedian(left);
  if (flows.loseByChance()) {
    const bool alike = middle.left <= kFullLine && base::areNearMedian(fastest, kAlikeByChance);
    return alike ? middle.fastest : 0;
  }
  if (flows.manyAreSlow()) return 0;
  // Where packets get lost, flows together leave much of a line idle; alone, one of them has filled it.
  if (!base::areNearMedian(together, kAlikeTogether) && !base::areNearMedian(fastest, kAlikeTogether)) return 0;
  middle.together = base::upperMedian(together);
  middle.alone = base::upperMedian(alone);
  // Flows that compete leave some of a line idle, which one flow may have filled.
  return isShared(middle) ? std::max(middle.together, base::upperMedian(fastest)) : 0;
}

/// If links differ between ranks by noise only, makes them equal. Returns the rate of the ranks' lines; 0: they have no
/// line of a known, equal rate.
double evenOut(std::vector<MeasuredLink>& links, int size, const WanFlows& flows, const std::vector<RankLines>& lines) {
  std::vector<double> latencies;
  std::vector<double> rates;
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      if (from == to) continue;
      latencies.push_back(linkOf(links, size, from, to).latency_s);
      rates.push_back(linkOf(links, size, from, to).bandwidth_bytes_per_s);
    }
  }
  if (size < 3 || !base::areNearMedian(latencies, kAlike)) return 0;
  const double line = equalLines(lines, flows);
  if (line <= 0 && !base::areNearMedian(rates, kAlike)) return 0;
  const double latency_s = base::upperMedian(latencies);
  const double rate = line > 0 ? line : base::upperMedian(rates);
  for (MeasuredLink& link : links) {
    link.latency_s = latency_s;
    link.bandwidth_bytes_per_s = rate;
  }
  return line;
}

std::string twoDigits(double value) {
  if (value <= 0) return "0";
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return fmt::format("{:.6g}", std::round(value / unit) * unit);
}

std::string rateText(double bytes_per_s) { return twoDigits(bytes_per_s / 1e6) + "MB/s"; }
std::string timeText(double seconds) { return twoDigits(seconds * 1e6) + "us"; }

/// Facts of the measurement for people, as comments of the link file.
std::string remarks(const std::vector<MeasuredLink>& links, int size, const std::vector<RankLines>& lines,
                    const WanFlows& flows) {
  std::string text;
  if (flows.loseByChance())
    text += "# Packets got lost that no full queue dropped: paths may be faster than flows were.\n";
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      const MeasuredLink& link = linkOf(links, size, from, to);
      if (from < to && link.relay != kNoRelay) {
        text +=
            fmt::format("# The link between rank {} and rank {} is relayed by {}.\n", from, to,
                        link.relay >= 0 ? fmt::format("rank {}", link.relay) : "a rank outside of this communicator");
      }
      if (from != to && link.spread > kSteady)
        text += fmt::format("# The rate from rank {} to rank {} varied by {:.0f} % while it was measured.\n", from, to,
                            100 * link.spread);
      const double spread = std::max(link.round_trip_spread, linkOf(links, size, to, from).round_trip_spread);
      if (from < to && spread > kSteadyRoundTrip)
        text += fmt::format("# The round trip between rank {} and rank {} varied by {:.0f} % while it was measured.\n",
                            from, to, 100 * spread);
    }
  }
  for (int rank = 0; rank < size; ++rank) {
    for (const bool up : {true, false}) {
      const RankLines& of_rank = lines[static_cast<std::size_t>(rank)];
      const Line& line = up ? of_rank.up : of_rank.down;
      if (isShared(line))
        text += fmt::format(
            "# The line {} rank {} is shared: together its links had {:.0f} % of their rates alone, "
            "and varied by {:.0f} %.\n",
            up ? "out of" : "into", rank, 100 * line.left, 100 * line.spread);
    }
  }
  return text;
}

/// The price of a link. One that was not measured alone has the rate of its ends' lines, where both are known to be
/// shared: alone it would fill them. One that was not measured at all keeps its rate.
schedule::LinkPrice priceOf(const std::vector<MeasuredLink>& links, const schedule::Links& before,
                            const std::vector<schedule::NodePrice>& shared, int from, int to) {
  const MeasuredLink& link = linkOf(links, before.size(), from, to);
  schedule::LinkPrice price = before.price(from, to);
  price.latency_s = link.latency_s;
  if (link.bandwidth_bytes_per_s > 0) price.bandwidth_bytes_per_s = link.bandwidth_bytes_per_s;
  const double line = std::min(shared[static_cast<std::size_t>(from)].up_bytes_per_s,
                               shared[static_cast<std::size_t>(to)].down_bytes_per_s);
  if (link.alone_bytes_per_s <= 0 && line > 0)
    price.bandwidth_bytes_per_s = std::max(price.bandwidth_bytes_per_s, line);
  return price;
}

std::string pairText(int from, int to, const schedule::LinkPrice& price) {
  std::string text = fmt::format("pair {} -> {} latency {} bandwidth {} overhead {} eager {:.0f}B", from, to,
                                 timeText(price.latency_s), rateText(price.bandwidth_bytes_per_s),
                                 timeText(price.overhead_s), price.eager_bytes);
  if (price.sender_bytes_per_s > 0) text += fmt::format(" sender {}", rateText(price.sender_bytes_per_s));
  return text + '\n';
}

} // namespace

/// The circle method: one rank, or nobody, stays where it is and the others rotate.
int partnerInRound(int size, int rank, int round) {
  const int turning = size + size % 2 - 1;
  int partner = 0;
  if (rank == turning) {
    // The rank that would meet itself: 2 x = round, modulo the odd number of rotating ranks.
    partner = (round % turning) * ((turning + 1) / 2) % turning;
  } else {
    partner = ((round - rank) % turning + turning) % turning;
    if (partner == rank) partner = turning;
  }
  return partner < size ? partner : -1;
}

/// Both ranks of the pair compute the same.
double timeAlone(double round_trip_s, int size, int round, const MeasurementTime& time) {
  if (round_trip_s < kWideAreaRoundTrip_s) return kNear_s;
  const double least_s = std::max(kMinAlone_s, kRoundTripsAlone * round_trip_s);
  const double share_s = time.alone_s / roundsOf(size);
  // Two ranks do not stream together, and so have all the time.
  if (size < 3) return std::min(2 * least_s, time.alone_s + time.together_s);
  if (share_s >= least_s) return std::min(share_s, 2 * least_s);
  // In the first round every rank has a partner; if the number of ranks is odd, it has one in the first or the second.
  return round <= size % 2 ? std::min(least_s, time.alone_s) : 0;
}

Result<std::vector<MeasuredLink>> measureLinks(Communicator& communicator, const MeasurementTime& time,
                                               std::int64_t timeout_ms) {
  const int size = communicator.size();
  std::vector<MeasuredLink> links(static_cast<std::size_t>(size));
  std::vector<int> peers;
  for (int rank = 0; rank < size; ++rank)
    if (rank != communicator.rank()) peers.push_back(rank);
  if (peers.empty()) return links;
  Result<std::vector<RoundTrip>> round_trips = LinkPing(communicator, timeout_ms).run(peers, kFirstPings);
  if (!round_trips.isOk()) return round_trips.status();
  for (int round = 0; round < roundsOf(size); ++round) {
    const int peer = partnerInRound(size, communicator.rank(), round);
    if (peer < 0) continue;
    const auto index = static_cast<std::size_t>(peer < communicator.rank() ? peer : peer - 1);
    const RoundTrip& round_trip = round_trips.value()[index];
    const double alone_s = timeAlone(round_trip.shortest_s, size, round, time);
    Result<MeasuredLink> measured = measure(communicator, peer, round_trip, alone_s, timeout_ms);
    if (!measured.isOk()) return measured.status();
    links[static_cast<std::size_t>(peer)] = measured.value();
  }
  if (Status status = measureTogether(communicator, links, time, timeout_ms); !status.isOk()) return status;
  return links;
}

std::string linksText(const std::vector<MeasuredLink>& measured, const schedule::Links& before) {
  const int size = before.size();
  const WanFlows flows(measured, size);
  // Lines depend on which links were measured alone: after evenOut() a link might look as if it had been.
  const std::vector<RankLines> lines = linesOf(measured, size, flows);
  std::string text =
      "gossamer-links 1\n# Measured: half a round trip; bytes per second, both ways at the same time.\n" +
      remarks(measured, size, lines, flows);
  if (before.cpu().reduce_bytes_per_s > 0) text += fmt::format("reduce {:.0f}B/s\n", before.cpu().reduce_bytes_per_s);
  if (before.cpu().copy_bytes_per_s > 0) text += fmt::format("copy {:.0f}B/s\n", before.cpu().copy_bytes_per_s);
  std::map<int, std::vector<int>> nodes;
  for (int rank = 0; rank < size; ++rank)
    nodes[before.nodeOf(rank)].push_back(rank);
  std::vector<MeasuredLink> links = measured;
  const double line = static_cast<int>(nodes.size()) == size ? evenOut(links, size, flows, lines) : 0;
  const bool distinct_bottlenecks = haveDistinctBottlenecks(links);
  std::vector<schedule::NodePrice> shared(static_cast<std::size_t>(size)); // By rank, where its links fill a line.
  for (const auto& [node, ranks] : nodes) {
    double up = line;
    double down = line;
    if (ranks.size() > 1) {
      up = portRate(links, before, node, true);
      down = portRate(links, before, node, false);
    } else {
      const RankLines& own = lines[static_cast<std::size_t>(ranks[0])];
      if (line <= 0) up = portOf(own.up, distinct_bottlenecks);
      if (line <= 0) down = portOf(own.down, distinct_bottlenecks);
      schedule::NodePrice& filled = shared[static_cast<std::size_t>(ranks[0])];
      // Where slow flows share a line with others, those not measured alone may be slow as well.
      if (own.up.slow == 0 && isShared(own.up)) filled.up_bytes_per_s = up;
      if (own.down.slow == 0 && isShared(own.down)) filled.down_bytes_per_s = down;
      if (up <= 0 || down <= 0) continue;
    }
    text += fmt::format("node {}", fmt::join(ranks, ","));
    if (up > 0) text += fmt::format(" up {}", rateText(up));
    if (down > 0) text += fmt::format(" down {}", rateText(down));
    text += '\n';
  }
  for (int from = 0; from < size; ++from)
    for (int to = 0; to < size; ++to)
      if (from != to) text += pairText(from, to, priceOf(links, before, shared, from, to));
  return text;
}

} // namespace goss
