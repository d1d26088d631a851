/// How many bytes per second links carry.
#ifndef GOSS_LIB_SURVEY_LINK_STREAM_H_
#define GOSS_LIB_SURVEY_LINK_STREAM_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/wide_area.h"
#include "communicator/communicator.h"
#include "gossamer/transport.h"

namespace goss {

/// The bytes of one flow: `bytes[i]` arrived at `at_s[i]`, in order of time.
struct Arrivals {
  std::vector<std::uint64_t> bytes;
  std::vector<double> at_s;
};

/// Rates of a flow as the sender's system has seen them (PathUse::rate_bytes_per_s), one after another, and since when.
/// Lost packets, which hold up the bytes behind them, and what programs do have no part in them.
struct SeenRates {
  std::vector<double> bytes_per_s;
  std::vector<double> at_s;
};

/// A measured rate in bytes per second, and its confidence.
struct SteadyRate {
  double bytes_per_s = 0;      ///< > 0.
  double seen_bytes_per_s = 0; ///< By the sender's system; 0: it does not tell, or the path is short.
  double spread = 0;           ///< Highest less lowest rate in parts of the time, over the rate; but for one of each.
  double resent = 0; ///< The part of the bytes that was sent again after the flow had found its speed; 0: not known.
};

/// The rate of a flow that was alone, after the first round trips, which TCP needs to find its speed: the highest but
/// one over parts of the time, because other programs hold a flow up for a moment, and what they held arrives at once.
[[nodiscard]] SteadyRate rateAlone(const Arrivals& flow, double round_trip_s);

/// The rates of flows that ran at the same time and for the same time, `span_s`, of which the first six tenths are left
/// to TCP for finding its speed. All rates are of the same moments, so that they add up to what the rank received, and
/// a fast flow says nothing of a slow one. A rate is the upper median over parts of the time.
[[nodiscard]] std::vector<SteadyRate> ratesTogether(const std::vector<const Arrivals*>& flows, double span_s);

/// The rate of a flow that ran alone: the 95th percentile of the observed rates, because the system sometimes reports
/// more than the line carries. 0: there are no observed rates.
[[nodiscard]] double rateSeenAlone(const SeenRates& seen);

/// The rate of one of several flows, as ratesTogether(): the upper median over moments of the time that counts. A flow
/// that waits for its program meanwhile keeps the rate that was seen last.
[[nodiscard]] double rateSeenTogether(const SeenRates& seen, double span_s);

/// Whether a flow of this round trip that has run until `now_s` is as fast as it will be: it has had time to find its
/// speed, and was hardly faster in its last round trips than in those before.
[[nodiscard]] bool hasSettled(const Arrivals& flow, double round_trip_s, double now_s);

/// This rank and its peers send each other chunks at the same time, as fast as the links take them, and each measures
/// how fast chunks arrive. Made, run once and dropped, as LinkPing; when it ends early it aborts `communicator`.
///
/// On long paths no more is sent ahead than arrived in some round trips, so that buffered bytes do not delay the next
/// measurement. Every chunk begins with the number of bytes that have come from its receiver, and whether the rate from
/// there has settled; the last holds only the rate and the resent part that its sender's system has seen.
class LinkStream {
 public:
  struct Peer {
    int rank = -1;
    double round_trip_s = 0; ///< Round trip that both ends know.
  };

  /// Both ranks of a pair must stream at the same time, with equal spans; no other stream between them has this tag.
  struct Span {
    double seconds;
    bool alone; ///< There is one peer, and a long path takes less time where both rates settle.
    std::int32_t tag;
  };
  LinkStream(Communicator& communicator, const std::vector<Peer>& peers, const Span& span, std::int64_t timeout_ms);
  ~LinkStream();
  LinkStream(const LinkStream&) = delete;
  LinkStream& operator=(const LinkStream&) = delete;

  /// Sends to each peer for `span_s` seconds from its first chunk on, and until the peer's last chunk has arrived.
  /// Returns the rates from the peers, in their order, as rateAlone() or ratesTogether().
  Result<std::vector<SteadyRate>> run();

 private:
  using Clock = std::chrono::steady_clock;

  struct Send {
    Operation* operation = nullptr;
    std::vector<std::byte> chunk;
  };
  struct Flow {
    Peer peer;
    bool said_last = false;
    bool settled = false;      ///< What arrives from the peer.
    bool peer_settled = false; ///< What arrives at the peer.
    bool heard = false;        ///< The peer has called run(), as this rank has known since heard_at_s.
    double heard_at_s = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t told_bytes = 0; ///< Bytes of arrived_bytes that the peer was told of.
    std::uint64_t arrived_bytes = 0;
    Arrivals arrivals;
    Arrivals taken; ///< Arrivals of this rank's bytes, as the peer reports them, at the times of the reports.
    std::uint64_t taken_bytes = 0;
    SeenRates seen;                 ///< Rates of this rank's bytes; empty on short paths.
    double seen_bytes_per_s = 0;    ///< The rate of the peer's bytes that it told with its last chunk.
    double resent = 0;              ///< The part of the peer's bytes that the peer sent again, as its last chunk says.
    std::optional<PathUse> begun;   ///< What the path had carried when this rank's bytes had found their speed.
    double next_look_s = 0;         ///< Before that the system is not asked again.
    std::vector<std::byte> scratch; ///< Receive buffer.
    Operation* data = nullptr;      ///< The receive of the peer's next chunk; null after its last.
    std::vector<Send> sends;        ///< Slots; those without operation are free.
  };

  [[nodiscard]] double now_s() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }
  Result<std::vector<SteadyRate>> exchange();
  [[nodiscard]] bool isOver() const;
  [[nodiscard]] static bool isNear(const Flow& flow) { return flow.peer.round_trip_s < kWideAreaRoundTrip_s; }
  [[nodiscard]] bool timeIsOver(Flow& flow) const;
  [[nodiscard]] std::vector<SteadyRate> rates() const;
  /// Bytes that the peer took in the last round trip.
  [[nodiscard]] std::uint64_t recentBytes(const Flow& flow) const;
  [[nodiscard]] static std::size_t chunkBytes(const Flow& flow, std::uint64_t recent);
  Status pump(Flow& flow);
  Status awaitOne();
  Status arrived(Flow& flow, std::uint64_t bytes);
  [[nodiscard]] PathUse pathUse(const Flow& flow) const;
  void look(Flow& flow);
  Status send(Flow& flow, Send& place, std::size_t bytes);
  Status sendLast(Flow& flow, Send& place);
  Status receive(Flow& flow);
  Status start(Operation*& at, const MessageCall& message);

  Communicator& communicator_;
  const Span span_;
  const std::int64_t timeout_ms_;
  std::deque<Flow> flows_; ///< Messages point into them.
  Clock::time_point begun_;
};

} // namespace goss

#endif // GOSS_LIB_SURVEY_LINK_STREAM_H_
