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

/// Seconds. Shorter round trips want more pings, and allow large chunks.
inline constexpr double kNearRoundTrip_s = 2e-3;

/// This rank and some others send each other chunks at the same time, as fast as the links take them, and each notes
/// how fast they come. A measurement, as LinkPing: made, run once and dropped; when it ends early it aborts
/// `communicator`.
///
/// Over a long distance no more is sent ahead than arrived in some round trips, so that what waits in buffers does not
/// hold up what is measured next. Every chunk begins with how many bytes have come from its receiver; the last is
/// empty.
class LinkStream {
 public:
  struct Peer {
    int rank = -1;
    double round_trip_s = 0; ///< As both ends know it.
  };
  /// Bytes per second, > 0.
  struct Rates {
    std::vector<double> from_peer; ///< In the order of the peers.
    double together = 0;           ///< From all at the same time: what those of from_peer add up to, or more.
  };

  /// Of two ranks both must stream at the same time, with equal `most_span_s` and `tag`, which no other stream of
  /// theirs has.
  LinkStream(Communicator& communicator, const std::vector<Peer>& peers, double most_span_s, std::int32_t tag,
             std::int64_t timeout_ms);
  ~LinkStream();
  LinkStream(const LinkStream&) = delete;
  LinkStream& operator=(const LinkStream&) = delete;

  /// Sends to each peer for twelve round trips from its first chunk on, at least 60 ms and at most `most_span_s`, and
  /// until its last has arrived. A rate is the most that arrived in half of that time or one round trip.
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
    bool heard = false; ///< The peer is there, since heard_at_s.
    double heard_at_s = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t told_bytes = 0; ///< Of arrived_bytes, the peer knows.
    std::uint64_t arrived_bytes = 0;
    Arrivals arrivals;
    Arrivals taken; ///< As the peer says: of what was sent, and when this rank heard it.
    std::uint64_t taken_bytes = 0;
    std::vector<std::byte> scratch; ///< What is received.
    Operation* data = nullptr;      ///< The receive of the peer's next chunk; null after its last.
    std::vector<Send> sends;        ///< Places; those without operation are free.
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
  Arrivals arrivals_;      ///< From all.
  Clock::time_point begun_;
};

/// The most bytes per second in any stretch of `arrived`, in order of time, that lasts `least_s`; of all of it since
/// the start when it is shorter. `bytes[i]` arrived at `at_s[i]`.
[[nodiscard]] double bestRate(const std::vector<std::uint64_t>& bytes, const std::vector<double>& at_s, double least_s);

} // namespace goss

#endif // GOSS_LIB_SURVEY_LINK_STREAM_H_
