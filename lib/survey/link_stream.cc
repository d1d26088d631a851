#include "survey/link_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/median.h"
#include "base/wire.h"
#include "communicator/wait.h"
#include "world/world.h"

namespace goss {

namespace {

constexpr double kShortest_s = 1e-6;
/// TCP begins with ten packets and doubles its speed in each round trip: 200 Mbit/s over 70 ms take seven of them. A
/// rate is that of some round trips, because bytes behind a lost packet arrive all at once.
constexpr double kRoundTripsToFindSpeed = 7;
constexpr double kRoundTripsToSettle = 11;
constexpr double kRoundTripsOfRate = 2;
constexpr double kMinToSettle_s = 0.15;
constexpr double kSettledGrowth = 1.15;
/// The part of the time that flows together get for finding their speed, and the parts into which the rest is cut.
constexpr double kWarmUp = 0.6;
constexpr std::size_t kParts = 6;

/// Large enough to be striped over several connections, if there are any.
constexpr std::size_t kLargeChunkBytes = std::size_t{512} * 1024;
/// Small, so that chunks in flight when the time is over arrive soon.
constexpr std::size_t kSmallChunkBytes = std::size_t{16} * 1024;
/// Large chunks are sent where they are at most this part of what the peer takes in a round trip.
constexpr std::uint64_t kChunksInRoundTrip = 4;
/// One chunk is sent while the next one waits. The system's buffers may hold more.
constexpr std::size_t kMaxSends = 2;

/// Bytes that may be sent ahead at first, which is more than TCP sends, and later a multiple of what arrived in the
/// last round trip: TCP doubles its speed at the beginning.
constexpr std::uint64_t kFirstWindowBytes = 32 << 10;
constexpr double kWindowGrowth = 2.5;
/// A peer from which this many bytes have arrived is told so by a short chunk, unless another chunk is sent to it.
constexpr std::uint64_t kMinNewsBytes = 8 << 10;
constexpr std::size_t kNewsBytes = 24;
constexpr double kLook_s = 2e-3; ///< Interval of questions to the system, which cost time.
/// Rate and resent part; no other chunk is so short.
constexpr std::size_t kLastBytes = 2 * sizeof(std::uint64_t);
constexpr double kMillion = 1e6; ///< The last chunk tells parts in millionths.
/// The bit of a chunk's first word that says that the rate has settled; the others count bytes.
constexpr std::uint64_t kSettledBit = std::uint64_t{1} << 63;

/// Bytes that arrived after `from_s` and not after `to_s`.
double bytesBetween(const Arrivals& flow, double from_s, double to_s) {
  double sum = 0;
  const auto first = std::upper_bound(flow.at_s.begin(), flow.at_s.end(), from_s) - flow.at_s.begin();
  for (auto i = static_cast<std::size_t>(first); i < flow.at_s.size() && flow.at_s[i] <= to_s; ++i)
    sum += static_cast<double>(flow.bytes[i]);
  return sum;
}

double wholeRate(const Arrivals& flow) {
  if (flow.at_s.empty()) return 0;
  return bytesBetween(flow, -1, flow.at_s.back()) / std::max(kShortest_s, flow.at_s.back());
}

/// The rate that the flow exceeds in `less` of kParts equal parts of the time between `from_s` and `to_s`.
SteadyRate rateInParts(const Arrivals& flow, double from_s, double to_s, std::size_t less) {
  std::array<double, kParts> rates{};
  const double part_s = std::max(kShortest_s, (to_s - from_s) / static_cast<double>(kParts));
  for (std::size_t i = 0; i < kParts; ++i) {
    const double begin_s = from_s + part_s * static_cast<double>(i);
    rates[i] = bytesBetween(flow, begin_s, begin_s + part_s) / part_s;
  }
  std::sort(rates.begin(), rates.end());
  const double taken = rates[kParts - 1 - less];
  // The line is so slow that hardly anything arrived in time.
  if (taken <= 0) return {std::max(wholeRate(flow), 1.0), 0, 1};
  return {taken, 0, (rates[kParts - 2] - rates[1]) / taken};
}

} // namespace

SteadyRate rateAlone(const Arrivals& flow, double round_trip_s) {
  if (flow.at_s.empty()) return {1, 0, 1};
  const double begin_s = flow.at_s.front() + kRoundTripsToFindSpeed * round_trip_s;
  const double end_s = flow.at_s.back();
  return rateInParts(flow, std::min(begin_s, (flow.at_s.front() + end_s) / 2), end_s, 1);
}

std::vector<SteadyRate> ratesTogether(const std::vector<const Arrivals*>& flows, double span_s) {
  // The last chunks of a rank that began earlier have arrived before this rank's time is over.
  double end_s = span_s;
  for (const Arrivals* flow : flows)
    if (!flow->at_s.empty()) end_s = std::min(end_s, flow->at_s.back());
  end_s = std::max(end_s, span_s * (1 + kWarmUp) / 2);
  std::vector<SteadyRate> rates;
  for (const Arrivals* flow : flows)
    rates.push_back(rateInParts(*flow, kWarmUp * span_s, end_s, kParts / 2 - 1));
  return rates;
}

double rateSeenAlone(const SeenRates& seen) {
  if (seen.bytes_per_s.empty()) return 0;
  std::vector<double> rates = seen.bytes_per_s;
  const std::size_t at = rates.size() - 1 - rates.size() / 20;
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(at), rates.end());
  return rates[at];
}

double rateSeenTogether(const SeenRates& seen, double span_s) {
  std::vector<double> rates;
  for (std::size_t i = 1; i <= kParts; ++i) {
    const double at_s = span_s * (kWarmUp + (1 - kWarmUp) * static_cast<double>(i) / kParts);
    const auto after = std::upper_bound(seen.at_s.begin(), seen.at_s.end(), at_s) - seen.at_s.begin();
    rates.push_back(after == 0 ? 0 : seen.bytes_per_s[static_cast<std::size_t>(after) - 1]);
  }
  return base::upperMedian(rates);
}

bool hasSettled(const Arrivals& flow, double round_trip_s, double now_s) {
  const double least_s = std::max(kMinToSettle_s, kRoundTripsToSettle * round_trip_s);
  if (flow.at_s.empty() || now_s < flow.at_s.front() + least_s) return false;
  const double part_s = kRoundTripsOfRate * round_trip_s;
  const double last = bytesBetween(flow, now_s - part_s, now_s);
  const double before = bytesBetween(flow, now_s - 2 * part_s, now_s - part_s);
  return last > 0 && last <= kSettledGrowth * before && before <= kSettledGrowth * last;
}

LinkStream::LinkStream(Communicator& communicator, const std::vector<Peer>& peers, const Span& span,
                       std::int64_t timeout_ms)
    : communicator_(communicator), span_(span), timeout_ms_(timeout_ms) {
  for (const Peer& peer : peers) {
    Flow& flow = flows_.emplace_back();
    flow.peer = peer;
    flow.scratch.resize(kLargeChunkBytes);
    flow.sends.resize(kMaxSends);
    const bool large = isNear(flow) || communicator.world().config().connections_per_peer > 1;
    for (Send& place : flow.sends)
      place.chunk.resize(large ? kLargeChunkBytes : kSmallChunkBytes);
  }
}

LinkStream::~LinkStream() {
  const bool pending = std::any_of(flows_.begin(), flows_.end(), [](const Flow& flow) {
    return flow.data != nullptr ||
           std::any_of(flow.sends.begin(), flow.sends.end(), [](const Send& at) { return at.operation != nullptr; });
  });
  if (pending) communicator_.abort("measuring bandwidths failed");
}

Result<std::vector<SteadyRate>> LinkStream::run() {
  Result<std::vector<SteadyRate>> rates = exchange();
  if (!rates.isOk()) communicator_.abort(fmt::format("measuring bandwidths: {}", rates.status().text()));
  return rates;
}

Result<std::vector<SteadyRate>> LinkStream::exchange() {
  begun_ = Clock::now();
  for (Flow& flow : flows_)
    if (Status status = receive(flow); !status.isOk()) return status;
  while (!isOver()) {
    for (Flow& flow : flows_)
      if (Status status = pump(flow); !status.isOk()) return status;
    if (Status status = awaitOne(); !status.isOk()) return status;
    for (Flow& flow : flows_)
      if (!isNear(flow) && !flow.said_last) look(flow);
  }
  return rates();
}

bool LinkStream::isOver() const {
  return std::all_of(flows_.begin(), flows_.end(), [](const Flow& flow) {
    return flow.said_last && flow.data == nullptr &&
           std::all_of(flow.sends.begin(), flow.sends.end(), [](const Send& at) { return at.operation == nullptr; });
  });
}

std::vector<SteadyRate> LinkStream::rates() const {
  std::vector<SteadyRate> rates;
  if (span_.alone) {
    rates = {rateAlone(flows_.front().arrivals, flows_.front().peer.round_trip_s)};
  } else {
    std::vector<const Arrivals*> all;
    for (const Flow& flow : flows_)
      all.push_back(&flow.arrivals);
    rates = ratesTogether(all, span_.seconds);
  }
  for (std::size_t i = 0; i < rates.size(); ++i) {
    rates[i].seen_bytes_per_s = flows_[i].seen_bytes_per_s;
    rates[i].resent = flows_[i].resent;
  }
  return rates;
}

PathUse LinkStream::pathUse(const Flow& flow) const {
  const Engine::Lock lock = communicator_.engine().enter();
  return communicator_.mesh().pathUse(communicator_.group().worldRank(flow.peer.rank));
}

/// Asks the system at which rate this rank's bytes arrive at the peer.
void LinkStream::look(Flow& flow) {
  const double at_s = now_s();
  if (at_s < flow.next_look_s) return;
  flow.next_look_s = at_s + kLook_s;
  const PathUse use = pathUse(flow);
  const bool found = flow.heard && at_s >= flow.heard_at_s + kRoundTripsToFindSpeed * flow.peer.round_trip_s;
  if (found && !flow.begun.has_value()) flow.begun = use;
  const double rate = use.rate_bytes_per_s;
  if (rate <= 0 || (!flow.seen.bytes_per_s.empty() && flow.seen.bytes_per_s.back() == rate)) return;
  flow.seen.bytes_per_s.push_back(rate);
  flow.seen.at_s.push_back(at_s);
}

std::uint64_t LinkStream::recentBytes(const Flow& flow) const {
  const double since_s = now_s() - flow.peer.round_trip_s;
  std::uint64_t recent = 0;
  for (std::size_t i = flow.taken.at_s.size(); i > 0 && flow.taken.at_s[i - 1] >= since_s; --i)
    recent += flow.taken.bytes[i - 1];
  return recent;
}

std::size_t LinkStream::chunkBytes(const Flow& flow, std::uint64_t recent) {
  const std::size_t most = flow.sends.front().chunk.size();
  return isNear(flow) || recent >= kChunksInRoundTrip * most ? most : kSmallChunkBytes;
}

/// Whether this rank has sent long enough. The time begins when both ranks are there.
bool LinkStream::timeIsOver(Flow& flow) const {
  if (!flow.heard) return false;
  if (now_s() >= flow.heard_at_s + span_.seconds) return true;
  if (!span_.alone || isNear(flow)) return false;
  flow.settled = flow.settled || hasSettled(flow.arrivals, flow.peer.round_trip_s, now_s());
  return flow.settled && flow.peer_settled;
}

/// Sends chunks while they are allowed, and the last one when the time of this rank or of the peer is over, after which
/// the peer does not report arrivals.
Status LinkStream::pump(Flow& flow) {
  for (Send& place : flow.sends) {
    if (flow.said_last || place.operation != nullptr) continue;
    const std::uint64_t recent = isNear(flow) ? 0 : recentBytes(flow);
    const auto window = static_cast<std::uint64_t>(kWindowGrowth * static_cast<double>(recent));
    std::size_t bytes = chunkBytes(flow, recent);
    if (flow.data == nullptr || timeIsOver(flow)) {
      flow.said_last = true;
      return sendLast(flow, place);
    }
    if (!isNear(flow) && flow.sent_bytes - flow.taken_bytes >= std::max(window, kFirstWindowBytes)) {
      if (flow.arrived_bytes - flow.told_bytes < kMinNewsBytes) continue;
      bytes = kNewsBytes;
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
  if (bytes == kLastBytes) {
    const std::byte* resent = flow.scratch.data() + sizeof(std::uint64_t);
    flow.seen_bytes_per_s = static_cast<double>(base::loadLittleEndian<std::uint64_t>(flow.scratch.data()));
    flow.resent = static_cast<double>(base::loadLittleEndian<std::uint64_t>(resent)) / kMillion;
    return Status::ok();
  }
  const auto told = base::loadLittleEndian<std::uint64_t>(flow.scratch.data());
  flow.peer_settled = (told & kSettledBit) != 0;
  // A count of more than was sent comes from a broken peer.
  const auto taken = std::min(told & ~kSettledBit, flow.sent_bytes);
  if (taken > flow.taken_bytes) {
    flow.taken.bytes.push_back(taken - std::exchange(flow.taken_bytes, taken));
    flow.taken.at_s.push_back(at_s);
  }
  flow.arrived_bytes += bytes;
  flow.arrivals.bytes.push_back(bytes);
  flow.arrivals.at_s.push_back(at_s);
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
  base::storeLittleEndian(place.chunk.data(), flow.told_bytes | (flow.settled ? kSettledBit : 0));
  flow.sent_bytes += bytes;
  return start(place.operation, {true, place.chunk.data(), bytes, GOSS_UINT8, flow.peer.rank, span_.tag, timeout_ms_});
}

Status LinkStream::sendLast(Flow& flow, Send& place) {
  const double seen = span_.alone ? rateSeenAlone(flow.seen) : rateSeenTogether(flow.seen, span_.seconds);
  double resent = 0;
  if (flow.begun.has_value()) {
    const PathUse use = pathUse(flow);
    const auto again = static_cast<double>(use.resent_bytes) - static_cast<double>(flow.begun->resent_bytes);
    const auto bytes = static_cast<double>(use.bytes) - static_cast<double>(flow.begun->bytes);
    // A connection that replaced a broken one counts from 0 again.
    if (again >= 0 && bytes >= 0) resent = again / std::max(1.0, again + bytes);
  }
  base::storeLittleEndian(place.chunk.data(), static_cast<std::uint64_t>(seen));
  base::storeLittleEndian(place.chunk.data() + sizeof(std::uint64_t), static_cast<std::uint64_t>(kMillion * resent));
  return start(place.operation,
               {true, place.chunk.data(), kLastBytes, GOSS_UINT8, flow.peer.rank, span_.tag, timeout_ms_});
}

Status LinkStream::receive(Flow& flow) {
  return start(flow.data,
               {false, flow.scratch.data(), flow.scratch.size(), GOSS_UINT8, flow.peer.rank, span_.tag, timeout_ms_});
}

} // namespace goss
