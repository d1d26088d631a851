/// Messages between ranks as a transport sees them: operations that the caller posts and the transport completes.
#ifndef GOSSAMER_MESSAGE_H_
#define GOSSAMER_MESSAGE_H_

#include <sys/uio.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gossamer/reply.h"
#include "gossamer/status.h"
#include "gossamer/tag.h"

namespace goss {

using TimePoint = std::chrono::steady_clock::time_point;

/// 24 bytes that travel with every message, opaque to the transport. The communicator puts the operation's signature
/// there.
using Envelope = std::array<std::byte, 24>;

/// Fields of an operation that belong to the transport between posting and completion (intrusive links, cursors), so
/// that posting allocates nothing.
struct TransportHook {
  void* next = nullptr;
  void* previous = nullptr;
  std::uint64_t cursor = 0;
  std::uint64_t extra = 0;
};

/// A message to send. The object and the bytes stay put until onSent, or until send() returned true or cancel()
/// returned.
class SendOperation {
 public:
  virtual ~SendOperation() = default;
  int peer = -1;
  Tag tag = 0;
  Envelope envelope{};
  std::span<const iovec> pieces; ///< Gather list; may be empty (a message of no bytes is a message).
  std::size_t bytes = 0;         ///< Sum of the pieces.
  /// Advice: from now on at most so many bytes a second leave for this peer, evenly spaced, because other ranks share
  /// the path; 0: as many as the path carries. A few short messages with 0 do not lift an earlier limit.
  std::uint64_t pace_bytes_per_s = 0;
  /// Advice: the receiver stores the bytes, does not reduce or pass them on while others are on their way, and gains
  /// nothing from having the first before the last. Shared memory then copies them once, where it may.
  bool is_stored_whole = false;
  ReplyRequest reply; ///< Where the peer may write its reply; read only by transports with SharedRegions.
  TransportHook hook;

  /// The buffers are free again. Success says that the bytes were handed over, not that the peer has them.
  virtual void onSent(const Status& status) = 0;
};

/// A message to receive, either straight into `pieces` or, when `consumes`, as views of the received bytes.
class RecvOperation {
 public:
  virtual ~RecvOperation() = default;
  int peer = -1;
  Tag tag = 0;
  std::span<const iovec> pieces; ///< Scatter list; unused when `consumes`.
  std::size_t capacity = 0;      ///< Most bytes that may arrive: the sum of pieces, or what onData will take.
  bool consumes = false;
  /// Advice: what is received is not needed again soon; keep it out of the caches (non-temporal stores).
  bool streams = false;
  ReplyOffer reply; ///< Whether onData can write its result back to the sender.
  TransportHook hook;

  /// The message was matched; `bytes` is its actual length. Called once, before any byte is delivered, and again with
  /// another message when the sender cancelled the first one in the middle: bytes of the first do not count. An error
  /// (also: bytes > capacity must be answered with one) makes the transport drop the payload and complete with that
  /// error.
  virtual Status onMatched(const Envelope& envelope, std::size_t bytes) = 0;
  /// The next bytes, in order, when `consumes`. Every view but the last is a multiple of 64 bytes, and starts at an
  /// address aligned to 16. Valid only during the call, which may cancel this receive and must otherwise leave the
  /// transport alone.
  virtual void onData(std::size_t offset, std::span<const std::byte> bytes) { (void)offset, (void)bytes; }
  /// The sender has cancelled the message that this receive had matched: the receive waits again, before all others
  /// with its tag.
  virtual void onTakenBack() {}
  virtual void onReceived(const Status& status) = 0;
};

/// A message that no posted receive matches, and that has arrived, or whose header has.
struct Arrived {
  Tag tag = 0;
  Envelope envelope{};
  std::uint64_t bytes = 0;
};

} // namespace goss

#endif // GOSSAMER_MESSAGE_H_
