#include "transports/tcp/meet/path_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "platform/socket.h"

namespace goss::transports::tcp {

void PathTuner::tune(int fd, std::size_t connections) {
  // Payload connections share the bound; connection 0 carries little beside them.
  const std::size_t pace = config_.tcp_pacing_bytes_per_s / std::max<std::size_t>(1, connections - 1);
  if (pace > 0 && !platform::limitPace(fd, pace) && !std::exchange(pacing_refused_, true))
    log_.warn("GOSS_TCP_PACING is set, but this system does not pace TCP");
  const std::string& named = config_.tcp_congestion;
  if (platform::tuneForPath(fd, named) || std::exchange(congestion_refused_, true)) return;
  log_.warn(fmt::format("GOSS_TCP_CONGESTION={} is not offered by this system; TCP uses {}", named,
                        platform::congestionControl(fd)));
}

} // namespace goss::transports::tcp
