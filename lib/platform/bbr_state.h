/// What the system, and bbr, a congestion control of it, have measured of a connection's path.
#ifndef GOSS_LIB_PLATFORM_BBR_STATE_H_
#define GOSS_LIB_PLATFORM_BBR_STATE_H_

#include <cstdint>
#include <optional>

namespace goss::platform {

struct BbrState {
  bool seeking = false;        ///< bbr is in startup: it sends faster than bytes arrive, to find the path's bandwidth.
  double rate_bytes_per_s = 0; ///< The highest rate at which bbr has seen bytes arrive.
  double pace_bytes_per_s = 0; ///< The highest rate at which bbr sends at present.
  double anew_bytes_per_s = 0; ///< The pace with which bbr would begin anew, given its current window.
  std::uint32_t round_trip_us = 0; ///< Recent round trip time.
  std::uint32_t least_round_trip_us = 0;
  std::uint64_t in_flight_bytes = 0;
  std::uint64_t unsent_bytes = 0;    ///< Bytes that the system has not sent yet.
  std::uint32_t sent_segments = 0;   ///< Segments sent so far, modulo 2^32; so are the next.
  std::uint32_t resent_segments = 0; ///< Segments of those that were sent again.
};

/// The state of a connection; nullopt where it does not use bbr, or the system does not tell.
std::optional<BbrState> bbrState(int fd);

/// The shortest round trip of a TCP connection so far in seconds, which a loaded processor hardly lengthens; 0: the
/// system does not tell.
double leastRoundTrip_s(int fd);

struct Carried {
  std::uint64_t bytes = 0; ///< Bytes that the other end has acknowledged.
  double busy_s = 0;       ///< Time in which some were to be sent or were not acknowledged.
  /// The rate at which bytes arrived in the last round trip that had enough of them; 0: nothing is under way.
  double rate_bytes_per_s = 0;
  std::uint64_t resent_bytes = 0;   ///< Bytes that were sent again.
  double last_rate_bytes_per_s = 0; ///< As rate_bytes_per_s, also while nothing is under way.
};

/// What this end of a TCP connection has sent so far; all zero where the system does not tell.
Carried carriedBy(int fd);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_BBR_STATE_H_
