#include "core/link_measurement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/link_ping.h"
#include "core/link_stream.h"

namespace goss::core {

namespace {

constexpr int kFirstPings = 2;
constexpr int kNearPings = 20;

int roundsOf(int size) { return size + size % 2 - 1; }

Result<MeasuredLink> measure(Communicator& communicator, int peer, double round_trip_s, std::int64_t timeout_ms) {
  if (round_trip_s < kNearRoundTrip_s) {
    Result<std::vector<double>> again = LinkPing(communicator, timeout_ms).run({peer}, kNearPings);
    if (!again.isOk()) return again.status();
    round_trip_s = std::min(round_trip_s, again.value().front());
  }
  Result<double> rate = LinkStream(communicator, peer, round_trip_s, timeout_ms).run();
  if (!rate.isOk()) return rate.status();
  return MeasuredLink{round_trip_s / 2, rate.value(), kNoRelay};
}

/// What the members of one node and the ranks beyond it moved in the round in which that was most, out of the node or
/// into it.
double portRate(const std::vector<MeasuredLink>& links, const schedule::Links& before, int node, bool up) {
  const int size = before.size();
  double most = 0;
  for (int round = 0; round < roundsOf(size); ++round) {
    double sum = 0;
    for (int rank = 0; rank < size; ++rank) {
      const int peer = partnerInRound(size, rank, round);
      if (peer < 0 || before.nodeOf(rank) != node || before.nodeOf(peer) == node) continue;
      const int from = up ? rank : peer;
      const int to = up ? peer : rank;
      sum += links[static_cast<std::size_t>(from * size + to)].bandwidth_bytes_per_s;
    }
    most = std::max(most, sum);
  }
  return most;
}

std::string twoDigits(double value) {
  if (value <= 0) return "0";
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return fmt::format("{:.6g}", std::round(value / unit) * unit);
}

std::string rateText(double bytes_per_s) { return twoDigits(bytes_per_s / 1e6) + "MB/s"; }
std::string timeText(double seconds) { return twoDigits(seconds * 1e6) + "us"; }

} // namespace

/// The circle method: one rank, or nobody, stays where it is and the others go round.
int partnerInRound(int size, int rank, int round) {
  const int turning = size + size % 2 - 1;
  int partner = 0;
  if (rank == turning) {
    // The one that would meet itself: 2 x = round, modulo the odd number of those that turn.
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
  return links;
}

std::string linksText(const std::vector<MeasuredLink>& links, const schedule::Links& before) {
  const int size = before.size();
  std::string text = "gossamer-links 1\n# Measured: half a round trip; bytes per second, both ways at the same time.\n";
  for (int from = 0; from < size; ++from) {
    for (int to = from + 1; to < size; ++to) {
      const double relay = links[static_cast<std::size_t>(from * size + to)].relay;
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
  for (const auto& [node, ranks] : nodes) {
    if (ranks.size() == 1) continue;
    text += fmt::format("node {}", fmt::join(ranks, ","));
    for (const bool up : {true, false})
      if (const double rate = portRate(links, before, node, up); rate > 0)
        text += fmt::format(" {} {}", up ? "up" : "down", rateText(rate));
    text += '\n';
  }
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      if (from == to) continue;
      const MeasuredLink& link = links[static_cast<std::size_t>(from * size + to)];
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

} // namespace goss::core
