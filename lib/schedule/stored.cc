#include "schedule/stored.h"

#include "schedule/contract.h"

namespace goss::schedule {

bool storesMessages(const Schedule& schedule, std::uint32_t fragments) {
  if (!schedule.payload_like.empty()) return false; // Receivers decode.
  if (schedule.collective == Collective::broadcast) return schedule.chunk_count == 1 && fragments == 1;
  return movesBlocks(schedule.collective) && !reduces(schedule.collective);
}

double storedGain(const LinkPrice& price, double bytes) {
  // Any network needs more; memory between the packages of a host needs 1.3 us. Ranks that take turns on a processor
  // need more too, and gain nothing.
  constexpr double kNetwork_s = 1.9e-6;
  // Measured with broadcasts between two ranks: copied out of the sender's buffer, 256 and 512 KiB took 0.7 times as
  // long as through a ring, 2 MiB 1.25 times.
  constexpr double kShort = 32 << 10;
  constexpr double kLong = 1 << 20;
  constexpr double kGain = 1.4;
  const bool is_memory = price.latency_s + price.overhead_s < kNetwork_s && price.sender_bytes_per_s == 0;
  return is_memory && bytes >= kShort && bytes < kLong ? kGain : 1;
}

} // namespace goss::schedule
