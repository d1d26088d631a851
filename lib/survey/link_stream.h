/// How many bytes per second links carry.
#ifndef GOSS_LIB_SURVEY_LINK_STREAM_H_
#define GOSS_LIB_SURVEY_LINK_STREAM_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "communicator/communicator.h"

namespace goss {

/// Round trip in seconds below which links get more pings and large chunks.
inline constexpr double kNearRoundTrip_s = 2e-3;

/// This rank and its peers send each other chunks at the same time, as fast as the links take them, and each measures
/// how fast chunks arrive. Made, run once and dropped, as LinkPing; when it ends early it aborts `communicator`.
///
/// On long paths no more is sent ahead than arrived in some round trips, so that buffered bytes do not delay the next
/// measurement. Every chunk begins with the number of bytes that have come from its receiver; the last is empty.
class LinkStream {
 public:
  struct Peer {
    int rank = -1;
    double round_trip_s = 0; ///< Round trip that both ends know.
  };
  /// Measured rates in bytes per second, > 0.
  struct Rates {
    std::vector<double> from_peer; ///< In the order of the peers.
    double together = 0;           ///< From all peers at the same time: the sum of from_peer, or more.
  };

  /// Both ranks of a pair must stream at the same time, with equal `most_span_s` and `tag`; no other stream between
  /// them has this tag.
  LinkStream(Communicator& communicator, const std::vector<Peer>& peers, double most_span_s, std::int32_t tag,
             std::int64_t timeout_ms);
  ~LinkStream();
  LinkStream(const LinkStream&) = delete;
  LinkStream& operator=(const LinkStream&) = delete;

  /// Sends to each peer for twelve round trips from its first chunk on, at least 60 ms and at most `most_span_s`, and
  /// until the peer's last chunk has arrived. A rate is the highest over half of that time or one round trip.
  Result<Rates> run();

 private:
  using Clock = std::chrono::steady_clock;

  struct Arrivals {
    std::vector<std::uint64_t> bytes;
    std::vector<double> at_s;
  };
  struct Send {
    Operation* operation = nullptr;
    std::vector<std::byte> chunk;
  };
  struct Flow {
    Peer peer;
    double span_s = 0;
    std::size_t chunk_bytes = 0;
    bool said_last = false;
    bool heard = false; ///< The peer has called run(), as this rank has known since heard_at_s.
    double heard_at_s = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t told_bytes = 0; ///< Bytes of arrived_bytes that the peer was told of.
    std::uint64_t arrived_bytes = 0;
    Arrivals arrivals;
    Arrivals taken; ///< Arrivals of this rank's bytes, as the peer reports them, at the times of the reports.
    std::uint64_t taken_bytes = 0;
    std::vector<std::byte> scratch; ///< Receive buffer.
    Operation* data = nullptr;      ///< The receive of the peer's next chunk; null after its last.
    std::vector<Send> sends;        ///< Slots; those without operation are free.
  };

  [[nodiscard]] double now_s() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }
  Result<Rates> exchange();
  [[nodiscard]] bool isOver() const;
  [[nodiscard]] Rates rates() const;
  [[nodiscard]] bool hasRoom(const Flow& flow) const;
  Status pump(Flow& flow);
  Status awaitOne();
  Status arrived(Flow& flow, std::uint64_t bytes);
  Status send(Flow& flow, Send& place, std::size_t bytes);
  Status receive(Flow& flow);
  Status start(Operation*& at, const MessageCall& message);

  Communicator& communicator_;
  const std::int32_t tag_;
  const std::int64_t timeout_ms_;
  std::deque<Flow> flows_; ///< Messages point into them.
  Arrivals arrivals_;      ///< Arrivals from all peers.
  Clock::time_point begun_;
};

/// The highest rate in bytes per second over any interval of `arrived`, in order of time, that lasts `least_s`; over
/// the whole time since the start when that is shorter. `bytes[i]` arrived at `at_s[i]`.
[[nodiscard]] double bestRate(const std::vector<std::uint64_t>& bytes, const std::vector<double>& at_s, double least_s);

} // namespace goss

#endif // GOSS_LIB_SURVEY_LINK_STREAM_H_
