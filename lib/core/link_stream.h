/// How many bytes per second a link carries.
#ifndef GOSS_LIB_CORE_LINK_STREAM_H_
#define GOSS_LIB_CORE_LINK_STREAM_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/communicator.h"

namespace goss::core {

/// Seconds. Shorter round trips want more pings, and allow large chunks.
inline constexpr double kNearRoundTrip_s = 2e-3;

/// Two ranks send each other chunks at the same time, as fast as the link takes them, and each notes how fast they
/// come. A measurement, as LinkPing: made, run once and dropped; when it ends early it aborts `communicator`.
class LinkStream {
 public:
  /// `round_trip_s` as both ends know it.
  LinkStream(Communicator& communicator, int peer, double round_trip_s, std::int64_t timeout_ms);
  ~LinkStream();
  LinkStream(const LinkStream&) = delete;
  LinkStream& operator=(const LinkStream&) = delete;

  /// Sends for twelve round trips, at least 60 ms and at most 250 ms, and until the peer's last has arrived. Bytes per
  /// second from the peer, > 0: the most that arrived in half of that time or one round trip.
  Result<double> run();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] double now_s() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }
  Result<double> exchange();
  Status post(Operation*& at, const MessageCall& message);
  Status send(std::uint64_t bytes);
  Status receiveData();
  Status pump();
  Status awaitOne();
  Status arrived(std::uint64_t bytes);

  Communicator& communicator_;
  const int peer_;
  const double round_trip_s_;
  const std::int64_t timeout_ms_;
  const double span_s_;
  std::vector<std::byte> chunk_;   ///< What is sent, again and again.
  std::vector<std::byte> scratch_; ///< What is received.
  Clock::time_point begun_;
  bool sent_some_ = false;
  bool said_last_ = false;
  std::vector<std::uint64_t> arrived_bytes_;
  std::vector<double> arrived_at_s_;
  Operation* data_ = nullptr; ///< The receive of the peer's next chunk; null after its last.
  std::vector<Operation*> sends_;
};

/// The most bytes per second in any stretch of `arrived`, in order of time, that lasts `least_s`; of all of it since
/// the start when it is shorter. `bytes[i]` arrived at `at_s[i]`.
[[nodiscard]] double bestRate(const std::vector<std::uint64_t>& bytes, const std::vector<double>& at_s, double least_s);

} // namespace goss::core

#endif // GOSS_LIB_CORE_LINK_STREAM_H_
