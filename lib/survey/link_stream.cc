#include "survey/link_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/wire.h"
#include "communicator/wait.h"
#include "world/world.h"

namespace goss {

namespace {

constexpr double kMinSpan_s = 0.06;
constexpr double kSpanInRoundTrips = 12; ///< TCP doubles its speed in each, beginning with ten packets.
constexpr double kShortest_s = 1e-6;

/// Large enough to be striped over several connections, if there are any.
constexpr std::size_t kLargeChunkBytes = std::size_t{512} * 1024;
/// Small, so that chunks in flight when the time is over arrive soon.
constexpr std::size_t kSmallChunkBytes = std::size_t{16} * 1024;
/// One chunk is sent while the next one waits. The system's buffers may hold more.
constexpr std::size_t kMaxSends = 2;

/// Bytes that may be sent ahead at first, which is more than TCP sends, and later a multiple of what arrived in the
/// last round trip: TCP doubles its speed at the beginning.
constexpr std::uint64_t kFirstWindowBytes = 128 << 10;
constexpr double kWindowGrowth = 2.5;
/// A peer from which so much has arrived is told so by an empty chunk, where no other chunk is sent to it.
constexpr std::uint64_t kMinNewsBytes = 32 << 10;

} // namespace

double bestRate(const std::vector<std::uint64_t>& bytes, const std::vector<double>& at_s, double least_s) {
  double best = 0;
  double whole = 0;
  std::size_t from = 0;
  double between = 0; // Bytes after `from`, up to `to`.
  for (std::size_t to = 0; to < bytes.size(); ++to) {
    const double here = static_cast<double>(bytes[to]);
    whole += here;
    between += to > 0 ? here : 0;
    // The shortest interval that is long enough.
    while (from + 1 < to && at_s[to] - at_s[from + 1] >= least_s)
      between -= static_cast<double>(bytes[++from]);
    const double took_s = at_s[to] - at_s[from];
    if (took_s >= least_s && took_s > 0) best = std::max(best, between / took_s);
  }
  if (best > 0 || bytes.empty()) return best;
  return whole / std::max(kShortest_s, at_s.back());
}

LinkStream::LinkStream(Communicator& communicator, const std::vector<Peer>& peers, double most_span_s, std::int32_t tag,
                       std::int64_t timeout_ms)
    : communicator_(communicator), tag_(tag), timeout_ms_(timeout_ms) {
  for (const Peer& peer : peers) {
    Flow& flow = flows_.emplace_back();
    flow.peer = peer;
    flow.span_s = std::clamp(kSpanInRoundTrips * peer.round_trip_s, kMinSpan_s, most_span_s);
    const bool large = peer.round_trip_s < kNearRoundTrip_s || communicator.world().config().connections_per_peer > 1;
    flow.chunk_bytes = large ? kLargeChunkBytes : kSmallChunkBytes;
    flow.scratch.resize(kLargeChunkBytes);
    flow.sends.resize(kMaxSends);
    for (Send& place : flow.sends)
      place.chunk.resize(flow.chunk_bytes);
  }
}

LinkStream::~LinkStream() {
  const bool pending = std::any_of(flows_.begin(), flows_.end(), [](const Flow& flow) {
    return flow.data != nullptr ||
           std::any_of(flow.sends.begin(), flow.sends.end(), [](const Send& at) { return at.operation != nullptr; });
  });
  if (pending) communicator_.abort("measuring bandwidths failed");
}

Result<LinkStream::Rates> LinkStream::run() {
  Result<Rates> rates = exchange();
  if (!rates.isOk()) communicator_.abort(fmt::format("measuring bandwidths: {}", rates.status().text()));
  return rates;
}

Result<LinkStream::Rates> LinkStream::exchange() {
  begun_ = Clock::now();
  for (Flow& flow : flows_)
    if (Status status = receive(flow); !status.isOk()) return status;
  while (!isOver()) {
    for (Flow& flow : flows_)
      if (Status status = pump(flow); !status.isOk()) return status;
    if (Status status = awaitOne(); !status.isOk()) return status;
  }
  return rates();
}

bool LinkStream::isOver() const {
  return std::all_of(flows_.begin(), flows_.end(), [](const Flow& flow) {
    return flow.said_last && flow.data == nullptr &&
           std::all_of(flow.sends.begin(), flow.sends.end(), [](const Send& at) { return at.operation == nullptr; });
  });
}

/// Each flow may have its best interval when others pause: the sum over flows is at most the total of some interval.
/// That interval may be shorter, because shared lines are full sooner.
LinkStream::Rates LinkStream::rates() const {
  Rates rates;
  double sum = 0;
  double least_s = 0;
  for (const Flow& flow : flows_) {
    const double span_s = std::max(flow.peer.round_trip_s, flow.span_s / 2);
    rates.from_peer.push_back(bestRate(flow.arrivals.bytes, flow.arrivals.at_s, span_s));
    sum += rates.from_peer.back();
    least_s = std::max(least_s, flows_.size() > 1 ? span_s / 2 : span_s);
  }
  rates.together = bestRate(arrivals_.bytes, arrivals_.at_s, least_s);
  if (sum > rates.together)
    for (double& rate : rates.from_peer)
      rate *= rates.together / sum;
  return rates;
}

bool LinkStream::hasRoom(const Flow& flow) const {
  if (flow.peer.round_trip_s < kNearRoundTrip_s) return true;
  const double since_s = now_s() - flow.peer.round_trip_s;
  std::uint64_t recent = 0;
  for (std::size_t i = flow.taken.at_s.size(); i > 0 && flow.taken.at_s[i - 1] >= since_s; --i)
    recent += flow.taken.bytes[i - 1];
  const auto window = static_cast<std::uint64_t>(kWindowGrowth * static_cast<double>(recent));
  const std::uint64_t least = std::max<std::uint64_t>(kFirstWindowBytes, kMaxSends * flow.chunk_bytes);
  return flow.sent_bytes - flow.taken_bytes < std::max(window, least);
}

/// Sends chunks while they are allowed, and the last one, without bytes, when the time of this rank or of the peer is
/// over, after which the peer does not report arrivals. The time begins when both ranks are there.
Status LinkStream::pump(Flow& flow) {
  for (Send& place : flow.sends) {
    if (flow.said_last || place.operation != nullptr) continue;
    std::size_t bytes = flow.chunk_bytes;
    if (flow.data == nullptr || (flow.heard && now_s() >= flow.heard_at_s + flow.span_s)) {
      bytes = 0;
      flow.said_last = true;
    } else if (!hasRoom(flow)) {
      if (flow.arrived_bytes - flow.told_bytes < kMinNewsBytes) continue;
      bytes = sizeof flow.told_bytes;
    }
    if (Status status = send(flow, place, bytes); !status.isOk()) return status;
  }
  return Status::ok();
}

Status LinkStream::awaitOne() {
  std::vector<Operation*> operations;
  std::vector<std::pair<Flow*, Send*>> owners;
  for (Flow& flow : flows_) {
    if (flow.data != nullptr) operations.push_back(flow.data), owners.emplace_back(&flow, nullptr);
    for (Send& place : flow.sends)
      if (place.operation != nullptr) operations.push_back(place.operation), owners.emplace_back(&flow, &place);
  }
  std::size_t found = 0;
  goss_message message{-1, 0, 0};
  Status status = waitAny(operations, found, &message);
  if (found == operations.size()) return status;
  const auto [flow, place] = owners[found];
  (place != nullptr ? place->operation : flow->data) = nullptr;
  if (!status.isOk() || place != nullptr) return status;
  return arrived(*flow, message.bytes);
}

Status LinkStream::arrived(Flow& flow, std::uint64_t bytes) {
  const double at_s = now_s();
  if (!std::exchange(flow.heard, true)) flow.heard_at_s = at_s;
  if (bytes == 0) return Status::ok();
  // A count of more than was sent comes from a broken peer.
  const auto taken = std::min(base::loadLittleEndian<std::uint64_t>(flow.scratch.data()), flow.sent_bytes);
  if (taken > flow.taken_bytes) {
    flow.taken.bytes.push_back(taken - std::exchange(flow.taken_bytes, taken));
    flow.taken.at_s.push_back(at_s);
  }
  flow.arrived_bytes += bytes;
  for (Arrivals* arrivals : {&flow.arrivals, &arrivals_}) {
    arrivals->bytes.push_back(bytes);
    arrivals->at_s.push_back(at_s);
  }
  return receive(flow);
}

Status LinkStream::start(Operation*& at, const MessageCall& message) {
  Status status;
  Operation* started = communicator_.messages().start(message, false, status);
  if (started != nullptr) at = started;
  return status;
}

Status LinkStream::send(Flow& flow, Send& place, std::size_t bytes) {
  flow.told_bytes = flow.arrived_bytes;
  base::storeLittleEndian(place.chunk.data(), flow.told_bytes);
  flow.sent_bytes += bytes;
  return start(place.operation, {true, place.chunk.data(), bytes, GOSS_UINT8, flow.peer.rank, tag_, timeout_ms_});
}

Status LinkStream::receive(Flow& flow) {
  return start(flow.data,
               {false, flow.scratch.data(), flow.scratch.size(), GOSS_UINT8, flow.peer.rank, tag_, timeout_ms_});
}

} // namespace goss
