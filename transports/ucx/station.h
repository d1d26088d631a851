/// State that all links of one UCX transport share.
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
  std::string process;   ///< Name of this process.
  std::uint64_t key = 0; ///< Key in this rank's address.
  Deferred* deferred = nullptr;
  Worker* worker = nullptr;  ///< Null before open().
  bool has_arrivals = false; ///< UCX has delivered something that waits for Link::run().
  /// Set within Transport::progress(), outside of callbacks: bytes from UCX may go to a receive directly.
  bool passes_on = false;
  /// UCX may still write into the buffer of a cancelled receive: it must not progress any more.
  bool poisoned = false;
};

/// Bytes of unexpected messages that a peer keeps, at most GOSS_UNEXPECTED_BYTES (Route::window_bytes).
inline constexpr std::size_t kWindowBytes = 4u << 20;
/// The same window on another host: large enough that a round trip does not hold a sender up. No peer gives more
/// credit.
inline constexpr std::size_t kFarWindowBytes = 32u << 20;

/// How messages are sent to a peer, depending on what UCX uses to reach it.
struct Route {
  /// Longer messages, and messages without credit, are sent in parts of this many bytes, one active message each, so
  /// that the receiver can process each part when it arrives. UCX's rendezvous over shared memory and TCP copies the
  /// bytes as well, and reports only whole messages. 0: no message is sent in parts.
  std::size_t part_bytes = 0;
  bool pads = false;                        ///< Parts have padding around them (wire.h).
  std::size_t most_eager_bytes = 32u << 10; ///< Where no messages go in parts, longer ones go by rendezvous.
  std::size_t window_bytes = kWindowBytes;
  /// Bytes of a message in parts that are sent without a grant: a round trip's worth and more.
  std::size_t ahead_bytes = 256u << 10;
  /// UCX is given no more while it holds so many bytes that it has not sent. It gives nothing back, so cancelling a
  /// message waits for all of them.
  std::size_t held_bytes = 1u << 20;
};

/// Data that UCX delivers with a header.
struct Incoming {
  void* data = nullptr;
  std::size_t bytes = 0;
  bool rendezvous = false; ///< `data` is UCX's descriptor of bytes that must be fetched.
  bool stays = false;      ///< `data` may be kept until it is released; otherwise UCX reuses it at once.

  /// Removes the padding; false where there is none.
  bool strip() {
    if (rendezvous || bytes < kPaddingBefore + kPaddingBehind) return false;
    data = static_cast<std::byte*>(data) + kPaddingBefore;
    bytes -= kPaddingBefore + kPaddingBehind;
    stays = false; // UCX would not accept this pointer back.
    return true;
  }
};

/// UCX ends the requests of an endpoint that was closed by force at once; if it does not, waiting longer does not help.
inline constexpr std::chrono::milliseconds kForcedCloseSpan(100);

} // namespace goss::transports::ucx

#endif // GOSS_TRANSPORTS_UCX_STATION_H_
