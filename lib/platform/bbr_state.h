/// What bbr, a congestion control of the system, has found out about a connection's path.
#ifndef GOSS_LIB_PLATFORM_BBR_STATE_H_
#define GOSS_LIB_PLATFORM_BBR_STATE_H_

#include <cstdint>
#include <optional>

namespace goss::platform {

struct BbrState {
  bool seeking = false;        ///< bbr is in startup: it sends faster than bytes arrive, to find the path's bandwidth.
  double rate_bytes_per_s = 0; ///< The fastest that it has seen bytes arrive.
  double pace_bytes_per_s = 0; ///< The fastest that it sends at present.
  double anew_bytes_per_s = 0; ///< The pace with which it would begin anew, with the window that it has.
  std::uint32_t round_trip_us = 0; ///< Of late.
  std::uint32_t least_round_trip_us = 0;
  std::uint64_t in_flight_bytes = 0;
  std::uint64_t unsent_bytes = 0;    ///< Wait in the system for their turn.
  std::uint32_t sent_segments = 0;   ///< So far, modulo 2^32, the next ones too.
  std::uint32_t resent_segments = 0; ///< Those of them that were sent again.
};

/// Nothing where the connection does not use bbr, or its system does not tell.
std::optional<BbrState> bbrState(int fd);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_BBR_STATE_H_
