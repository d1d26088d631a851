#include "core/crowd.h"

namespace goss::core {

/// Ranks that share processors take turns: the bytes of one wait while another's are copied, and most messages cost a
/// switch to the rank that they are for. Algorithms with few messages win then: 64 KiB, 4 ranks on 2 cores, 75 us
/// with 3 messages a rank against 158 us with 6.
schedule::LinkPrice crowdedPrice(schedule::LinkPrice price, double ranks_per_processor) {
  constexpr double kSwitch_s = 6e-6;
  if (ranks_per_processor <= 1) return price;
  price.overhead_s += kSwitch_s;
  price.bandwidth_bytes_per_s /= ranks_per_processor;
  return price;
}

bool usesSockets(const Config& config) {
  const bool forced = config.transport == "tcp" || config.transport == "tls";
  return forced || (!config.tls.empty() && config.tls_scope == "all");
}

std::string_view preferredAmongEquals(const Config& config, double ranks_per_processor) {
  // A rank that has one partner each way keeps fewer buffers warm, here and in the kernel, which no price knows of:
  // 64 MiB, 4 ranks on 2 cores, over TLS 175 ms against 215 of the direct exchange, over TCP 50 to 60 against 80.
  return usesSockets(config) && ranks_per_processor > 1 ? "ring" : "";
}

} // namespace goss::core
