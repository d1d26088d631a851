/// What all links of one UCX transport share.
#ifndef GOSS_TRANSPORTS_UCX_STATION_H_
#define GOSS_TRANSPORTS_UCX_STATION_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "transports/ucx/wire.h"

namespace goss::transports {
class Deferred;
}

namespace goss::transports::ucx {

class Worker;

struct Station {
  int self = 0;
  std::array<std::byte, 16> job{};
  std::size_t unexpected_limit = 0;
  std::string process;   ///< Identity of this one.
  std::uint64_t key = 0; ///< Of this rank's address.
  Deferred* deferred = nullptr;
  Worker* worker = nullptr;  ///< Null before open().
  bool has_arrivals = false; ///< Something came out of UCX that waits for Link::run().
  /// Within Transport::progress(), and in no callback: what comes out of UCX may go to a receive directly.
  bool passes_on = false;
  /// UCX may still write into the buffer of a receive that was cancelled: it must not progress any more.
  bool poisoned = false;
};

/// Bytes that a peer keeps of messages which have no receive, GOSS_UNEXPECTED_BYTES permitting (Route::window_bytes).
inline constexpr std::size_t kWindowBytes = 4u << 20;
/// To another host so much may be on its way that a round trip does not hold it up. No peer takes more.
inline constexpr std::size_t kFarWindowBytes = 32u << 20;

/// How messages go to a peer, by what UCX uses to reach it.
struct Route {
  /// Longer ones go in parts of so much, one active message each, which are taken as they come: over shared memory and
  /// TCP UCX's rendezvous copies too, and only tells of a message that is there as a whole. So do those without credit.
  /// 0: none do.
  std::size_t part_bytes = 0;
  bool pads = false;                        ///< Parts have padding around them (wire.h).
  std::size_t most_eager_bytes = 32u << 10; ///< Where none go in parts longer ones go by rendezvous.
  std::size_t window_bytes = kWindowBytes;
  /// Of a message in parts so much goes without a grant: a round trip and more.
  std::size_t ahead_bytes = 256u << 10;
  /// UCX is given no more while it holds so much that it has not sent. It takes nothing back, so who cancels a message
  /// waits for all of it.
  std::size_t held_bytes = 1u << 20;
};

/// What UCX hands over with a header.
struct Incoming {
  void* data = nullptr;
  std::size_t bytes = 0;
  bool rendezvous = false; ///< `data` is UCX's descriptor of bytes that are to be fetched.
  bool stays = false;      ///< `data` may be kept until it is released; otherwise it is UCX's again at once.

  /// Leaves the padding out; false where there is none.
  bool strip() {
    if (rendezvous || bytes < kPaddingBefore + kPaddingBehind) return false;
    data = static_cast<std::byte*>(data) + kPaddingBefore;
    bytes -= kPaddingBefore + kPaddingBehind;
    stays = false; // Not what UCX would take back.
    return true;
  }
};

/// UCX ends the requests of an endpoint that was closed by force at once; if it does not, waiting longer is in vain.
inline constexpr std::chrono::milliseconds kForcedCloseSpan(100);

} // namespace goss::transports::ucx

#endif // GOSS_TRANSPORTS_UCX_STATION_H_
