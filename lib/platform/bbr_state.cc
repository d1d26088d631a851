#include "platform/bbr_state.h"

#include <linux/inet_diag.h>
#include <linux/tcp.h> // The C library's tcp_info is older and lacks fields.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>

#include "platform/socket.h"

namespace goss::platform {

std::optional<BbrState> bbrState(int fd) {
  // The pacing gain times 256 above which bbr is in startup: 2.89 while it probes for the path's rate, at most 1.25
  // afterwards.
  constexpr std::uint32_t kSeekingGain = 512;
  constexpr double kFirstGain = 2.89;
  if (congestionControl(fd) != "bbr") return std::nullopt;
  tcp_cc_info own{};
  socklen_t size = sizeof own;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_CC_INFO, &own, &size) != 0 || size < sizeof own.bbr) return std::nullopt;
  tcp_info info{};
  size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  BbrState state;
  state.seeking = own.bbr.bbr_pacing_gain >= kSeekingGain;
  state.rate_bytes_per_s = static_cast<double>(static_cast<std::uint64_t>(own.bbr.bbr_bw_hi) << 32 | own.bbr.bbr_bw_lo);
  state.pace_bytes_per_s = static_cast<double>(info.tcpi_pacing_rate);
  const double window_bytes = static_cast<double>(info.tcpi_snd_cwnd) * info.tcpi_snd_mss;
  state.anew_bytes_per_s = kFirstGain * window_bytes / (1e-6 * std::max(info.tcpi_rtt, 1U));
  state.round_trip_us = info.tcpi_rtt;
  state.least_round_trip_us = own.bbr.bbr_min_rtt;
  state.in_flight_bytes = static_cast<std::uint64_t>(info.tcpi_unacked) * info.tcpi_snd_mss;
  state.unsent_bytes = info.tcpi_notsent_bytes;
  state.sent_segments = info.tcpi_segs_out;
  state.resent_segments = info.tcpi_total_retrans;
  return state;
}

double leastRoundTrip_s(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool told = ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
                    size >= offsetof(tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt;
  constexpr std::uint32_t kNone = ~0U; // No round trip yet.
  return told && info.tcpi_min_rtt != kNone ? 1e-6 * info.tcpi_min_rtt : 0;
}

Carried carriedBy(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool told = ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
                    size >= offsetof(tcp_info, tcpi_busy_time) + sizeof info.tcpi_busy_time;
  if (!told) return {};
  const bool idle = info.tcpi_unacked == 0 && info.tcpi_notsent_bytes == 0;
  const auto rate = static_cast<double>(info.tcpi_delivery_rate);
  return {info.tcpi_bytes_acked, 1e-6 * static_cast<double>(info.tcpi_busy_time), idle ? 0 : rate,
          size >= offsetof(tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans ? info.tcpi_bytes_retrans : 0,
          rate};
}

} // namespace goss::platform
