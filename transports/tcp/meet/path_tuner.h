/// Prepares sockets for the path between hosts, as the user has set.
#ifndef GOSS_TRANSPORTS_TCP_MEET_PATH_TUNER_H_
#define GOSS_TRANSPORTS_TCP_MEET_PATH_TUNER_H_

#include <cstddef>

#include "base/log.h"
#include "gossamer/config.h"

namespace goss::transports::tcp {

/// Sets the congestion control and the pace of sockets, and logs once what the system refuses. One thread.
class PathTuner {
 public:
  /// Both outlive this.
  PathTuner(const Config& config, const base::Log& log) : config_(config), log_(log) {}

  /// Configures the socket of one of `connections` connections to a peer: Config::tcp_pacing_bytes_per_s and
  /// tcp_congestion.
  void tune(int fd, std::size_t connections);

 private:
  const Config& config_;
  const base::Log& log_;
  bool congestion_refused_ = false; ///< The system refused the congestion control, and that was logged.
  bool pacing_refused_ = false;     ///< The system refused pacing, and that was logged.
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_MEET_PATH_TUNER_H_
