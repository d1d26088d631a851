#include "survey/link_measurement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "survey/link_ping.h"
#include "survey/link_stream.h"

namespace goss {

namespace {

constexpr int kFirstPings = 2;
constexpr int kNearPings = 20;

constexpr std::int32_t kAloneTag = 2;
constexpr std::int32_t kTogetherTag = 3;
/// Most seconds of a stream alone, and of streams together: these run once, not once for every peer.
constexpr double kMaxAlone_s = 0.25;
constexpr double kMaxTogether_s = 1.1;
/// On longer round trips TCP has not reached full speed when a stream alone ends, and what flows reach together says
/// little about their common line.
constexpr double kLongRoundTrip_s = 25e-3;

/// Links that together have at most this part of their rates alone, and are not much faster than the fastest alone,
/// share a line, which is full.
constexpr double kFullLine = 0.75;
constexpr double kSharedLine = 1.6;
/// Links that together have more than this part of their rates alone do not share a line, or it does not matter; nor
/// does it where the fastest alone has most of that rate. But flows that are slow because of lost packets look the
/// same: so this is believed only where some links of the communicator are kOwnPaths times as fast as others.
constexpr double kOwnLines = 0.85;
constexpr double kNoOthers = 1.8;
constexpr double kOwnPaths = 10;
/// A port rate of so many times the links' sum does not limit them.
constexpr double kRoomyPort = 2;

/// Figures within this factor of the median count as equal.
constexpr double kAlike = 1.3;
/// As kAlike, for rates of links together: connections that share a line do so unevenly.
constexpr double kAlikeTogether = 1.7;

int roundsOf(int size) { return size + size % 2 - 1; }

Result<MeasuredLink> measure(Communicator& communicator, int peer, double round_trip_s, std::int64_t timeout_ms) {
  if (round_trip_s < kNearRoundTrip_s) {
    Result<std::vector<double>> again = LinkPing(communicator, timeout_ms).run({peer}, kNearPings);
    if (!again.isOk()) return again.status();
    round_trip_s = std::min(round_trip_s, again.value().front());
  }
  MeasuredLink link{round_trip_s / 2, 0, kNoRelay, 0};
  if (communicator.size() > 2 && round_trip_s > kLongRoundTrip_s) return link;
  Result<LinkStream::Rates> rates =
      LinkStream(communicator, {{peer, round_trip_s}}, kMaxAlone_s, kAloneTag, timeout_ms).run();
  if (!rates.isOk()) return rates.status();
  link.bandwidth_bytes_per_s = rates.value().together;
  return link;
}

/// Measures with all ranks that are far away.
Status measureTogether(Communicator& communicator, std::vector<MeasuredLink>& links, std::int64_t timeout_ms) {
  std::vector<LinkStream::Peer> far;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const double round_trip_s = 2 * links[static_cast<std::size_t>(rank)].latency_s;
    if (rank != communicator.rank() && round_trip_s >= kNearRoundTrip_s) far.push_back({rank, round_trip_s});
  }
  if (communicator.size() < 3 || far.empty()) return Status::ok();
  Result<LinkStream::Rates> rates = LinkStream(communicator, far, kMaxTogether_s, kTogetherTag, timeout_ms).run();
  if (!rates.isOk()) return rates.status();
  for (std::size_t i = 0; i < far.size(); ++i) {
    MeasuredLink& link = links[static_cast<std::size_t>(far[i].rank)];
    link.together_bytes_per_s = rates.value().from_peer[i];
    link.bandwidth_bytes_per_s = std::max(link.bandwidth_bytes_per_s, link.together_bytes_per_s);
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

/// Rates of the links out of a rank, or into it. `together` is 0 where it is not known.
struct Line {
  double together = 0;
  double alone = 0;
  double fastest = 0;
};

Line lineOf(const std::vector<MeasuredLink>& links, int size, int rank, bool up) {
  Line line;
  bool known = size > 2;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    const MeasuredLink& link = up ? linkOf(links, size, rank, peer) : linkOf(links, size, peer, rank);
    known = known && link.together_bytes_per_s > 0 && 2 * link.latency_s <= kLongRoundTrip_s;
    line.together += link.together_bytes_per_s;
    line.alone += link.bandwidth_bytes_per_s;
    line.fastest = std::max(line.fastest, link.bandwidth_bytes_per_s);
  }
  if (!known) line.together = 0;
  return line;
}

/// Whether the links share one line, which was full.
bool isShared(const Line& line) {
  return line.together > 0 && line.alone > kNoOthers * line.fastest && line.together <= kFullLine * line.alone &&
         line.together <= kSharedLine * line.fastest;
}

/// The rate of a port; 0: not known. Too low a rate would slow down everything that is paced by it, so in doubt none is
/// given; too high a rate costs a few lost packets.
double portOf(const Line& line, bool own_paths) {
  if (line.together <= 0) return 0;
  if (isShared(line)) return std::max(line.together, line.fastest);
  const bool own = line.alone <= kNoOthers * line.fastest || line.together >= kOwnLines * line.alone;
  return own && own_paths ? kRoomyPort * line.alone : 0;
}

bool haveOwnPaths(const std::vector<MeasuredLink>& links) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const MeasuredLink& link : links) {
    if (link.together_bytes_per_s <= 0) continue;
    least = std::min(least, link.bandwidth_bytes_per_s);
    most = std::max(most, link.bandwidth_bytes_per_s);
  }
  return most >= kOwnPaths * least;
}

double middleOf(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

bool areAlike(const std::vector<double>& values, double alike) {
  const double middle = middleOf(values);
  return std::all_of(values.begin(), values.end(),
                     [&](double value) { return value * alike >= middle && value <= alike * middle; });
}

/// The rate of the lines if each rank has a line as fast as all others'; 0 where that is not so, or not known.
double equalLines(const std::vector<MeasuredLink>& links, int size) {
  std::vector<double> together;
  std::vector<double> alone;
  double fastest = 0;
  for (int rank = 0; rank < size; ++rank) {
    for (const bool up : {true, false}) {
      const Line line = lineOf(links, size, rank, up);
      if (line.together <= 0) return 0;
      together.push_back(line.together);
      alone.push_back(line.alone);
      fastest = std::max(fastest, line.fastest);
    }
  }
  if (!areAlike(together, kAlikeTogether)) return 0;
  const Line line{middleOf(together), middleOf(alone), fastest};
  return isShared(line) ? line.together : 0;
}

/// Makes equal what is equal for all ranks except for noise. Returns the rate of the ranks' lines, where they have
/// such.
double evenOut(std::vector<MeasuredLink>& links, int size) {
  std::vector<double> latencies;
  std::vector<double> rates;
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      if (from == to) continue;
      latencies.push_back(linkOf(links, size, from, to).latency_s);
      rates.push_back(linkOf(links, size, from, to).bandwidth_bytes_per_s);
    }
  }
  if (size < 3 || !areAlike(latencies, kAlike)) return 0;
  const double line = equalLines(links, size);
  if (line <= 0 && !areAlike(rates, kAlike)) return 0;
  const double latency_s = middleOf(latencies);
  const double rate = line > 0 ? line : middleOf(rates);
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

Result<std::vector<MeasuredLink>> measureLinks(Communicator& communicator, std::int64_t timeout_ms) {
  const int size = communicator.size();
  std::vector<MeasuredLink> links(static_cast<std::size_t>(size));
  std::vector<int> peers;
  for (int rank = 0; rank < size; ++rank)
    if (rank != communicator.rank()) peers.push_back(rank);
  if (peers.empty()) return links;
  Result<std::vector<double>> round_trips = LinkPing(communicator, timeout_ms).run(peers, kFirstPings);
  if (!round_trips.isOk()) return round_trips.status();
  for (int round = 0; round < roundsOf(size); ++round) {
    const int peer = partnerInRound(size, communicator.rank(), round);
    if (peer < 0) continue;
    const auto index = static_cast<std::size_t>(peer < communicator.rank() ? peer : peer - 1);
    Result<MeasuredLink> measured = measure(communicator, peer, round_trips.value()[index], timeout_ms);
    if (!measured.isOk()) return measured.status();
    links[static_cast<std::size_t>(peer)] = measured.value();
  }
  if (Status status = measureTogether(communicator, links, timeout_ms); !status.isOk()) return status;
  return links;
}

std::string linksText(const std::vector<MeasuredLink>& measured, const schedule::Links& before) {
  const int size = before.size();
  std::string text = "gossamer-links 1\n# Measured: half a round trip; bytes per second, both ways at the same time.\n";
  for (int from = 0; from < size; ++from) {
    for (int to = from + 1; to < size; ++to) {
      const double relay = linkOf(measured, size, from, to).relay;
      if (relay == kNoRelay) continue;
      text += fmt::format("# The link between rank {} and rank {} is relayed by {}.\n", from, to,
                          relay >= 0 ? fmt::format("rank {}", relay) : "a rank outside of this communicator");
    }
  }
  if (before.cpu().reduce_bytes_per_s > 0) text += fmt::format("reduce {:.0f}B/s\n", before.cpu().reduce_bytes_per_s);
  if (before.cpu().copy_bytes_per_s > 0) text += fmt::format("copy {:.0f}B/s\n", before.cpu().copy_bytes_per_s);
  std::map<int, std::vector<int>> nodes;
  for (int rank = 0; rank < size; ++rank)
    nodes[before.nodeOf(rank)].push_back(rank);
  std::vector<MeasuredLink> links = measured;
  const double line = static_cast<int>(nodes.size()) == size ? evenOut(links, size) : 0;
  const bool own_paths = haveOwnPaths(links);
  for (const auto& [node, ranks] : nodes) {
    const auto port = [&, node = node, &ranks = ranks](bool up) {
      if (line > 0) return line;
      // Decides by each link's own round trip: evened out, a long one might look like one that was measured alone.
      return ranks.size() == 1 ? portOf(lineOf(measured, size, ranks[0], up), own_paths)
                               : portRate(links, before, node, up);
    };
    const double up = port(true);
    const double down = port(false);
    if (ranks.size() == 1 && (up <= 0 || down <= 0)) continue;
    text += fmt::format("node {}", fmt::join(ranks, ","));
    if (up > 0) text += fmt::format(" up {}", rateText(up));
    if (down > 0) text += fmt::format(" down {}", rateText(down));
    text += '\n';
  }
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      if (from == to) continue;
      const MeasuredLink& link = linkOf(links, size, from, to);
      const schedule::LinkPrice& was = before.price(from, to);
      text += fmt::format("pair {} -> {} latency {} bandwidth {} overhead {} eager {:.0f}B", from, to,
                          timeText(link.latency_s), rateText(link.bandwidth_bytes_per_s), timeText(was.overhead_s),
                          was.eager_bytes);
      if (was.sender_bytes_per_s > 0) text += fmt::format(" sender {}", rateText(was.sender_bytes_per_s));
      text += '\n';
    }
  }
  return text;
}

} // namespace goss
