#include "planner/oversubscription.h"

namespace goss {

/// Ranks that share processors run in turns: the bytes of one wait while another's are copied, and most messages cost a
/// context switch to their receiver. Algorithms with few messages win then: 64 KiB, 4 ranks on 2 cores, 75 us with 3
/// messages a rank against 158 us with 6.
schedule::LinkPrice oversubscribedPrice(schedule::LinkPrice price, double ranks_per_processor) {
  constexpr double kSwitch_s = 6e-6;
  if (ranks_per_processor <= 1) return price;
  price.overhead_s += kSwitch_s;
  price.bandwidth_bytes_per_s /= ranks_per_processor;
  return price;
}

std::string_view preferredAmongEquals(bool use_sockets, double ranks_per_processor) {
  // A rank of a ring has one partner each way, and so keeps fewer buffers in the caches, its own and the kernel's;
  // prices do not model that. 64 MiB, 4 ranks on 2 cores: over TLS 175 ms instead of 215 ms with direct exchange, over
  // TCP 50 to 60 ms instead of 80 ms.
  return use_sockets && ranks_per_processor > 1 ? "ring" : "";
}

bool takesTurns(bool use_memory, int ranks, double ranks_per_processor) {
  // With more processors a root that does half of the work would hold the others up; that was not measured.
  constexpr double kMaxProcessors = 2;
  return use_memory && ranks_per_processor > 1 && ranks <= kMaxProcessors * ranks_per_processor;
}

// Prices assume a processor for each rank, and so spread the work over all ranks. When ranks share processors,
// spreading saves no time, and each wait costs a context switch. The sender of a message that fits the ring does not
// wait: in a reduce to one rank only that rank waits. 4 ranks on 2 processors, 64 KiB: 7 us instead of 16 us with the
// pipeline over a circulant graph, and 18 us instead of 32 us on the root.
std::string_view algorithmWhenOversubscribed(Collective collective, int size, std::uint64_t bytes, bool fits_board) {
  constexpr std::uint64_t kRing = 512 << 10; // Size of the ring of each pair, where there are more than two ranks.
  // For more bytes the pipelined broadcast is faster.
  constexpr std::uint64_t kMaxBroadcast = 128 << 10;
  // For fewer bytes boards are as fast.
  constexpr std::uint64_t kMinGathered = 16 << 10;
  // Bytes in flight at once; more do not fit the caches. Measured with 3, 4 and 8 ranks.
  constexpr std::uint64_t kMaxToRoot = 4 << 20;
  constexpr std::uint64_t kMaxFromRoot = 1 << 20;
  constexpr std::uint64_t kMaxToAll = 3 << 20;
  // Between what boards take and algorithms that cut the vector: the whole vector is sent, in fewer messages.
  constexpr std::uint64_t kMaxWhole = 128 << 10; // Sum over all ranks.
  if (size < 3) return "";
  const auto peers = static_cast<std::uint64_t>(size - 1);
  switch (collective) {
    case Collective::allReduce:
      if (fits_board && bytes <= kMaxToAll / (peers + 1) / peers) return "flat";
      return bytes <= kMaxWhole / (peers + 1) ? "recursive-doubling" : "";
    case Collective::allToAll:
      return fits_board && bytes <= kMaxToAll / (peers + 1) / peers ? "flat" : "";
    case Collective::reduce:
      return bytes <= kRing && bytes <= kMaxToRoot / peers ? "flat" : "";
    case Collective::broadcast:
      return bytes <= kMaxBroadcast && bytes <= kMaxFromRoot / peers ? "flat" : "";
    case Collective::allGather:
      return bytes >= kMinGathered && bytes <= kMaxToAll / (peers + 1) / peers ? "direct" : "";
    default:
      return "";
  }
}

} // namespace goss
