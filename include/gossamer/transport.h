/// The transport seam: moves bytes between the ranks of a world and knows nothing of tensors or collectives.
///
/// Matching. A message from peer A meets the receive that was posted for (A, tag). Messages with the same tag from the
/// same peer meet their receives in order; messages with different tags are independent of each other. A message that
/// arrives before its receive is kept, within a bound per peer that flows (see flowOf()) share. If a message exceeds
/// the bound (even an empty one can), the receiver keeps only its header, or the header and the first bytes of a long
/// message. The sender keeps the rest, and its send stays incomplete, until a receive matches and the receiver requests
/// the rest. So a message waits for the receive of another message only if that is older and has the same tag. (A
/// transport may hold back messages that are not urgent while 256 Ki such headers lie at the peer.)
///
/// Threads. A transport is used by one thread at a time (the engine's lock sees to it) and makes no threads.
/// Completion callbacks come only out of progress(), never out of send(), recv() or cancel(), exactly once per
/// operation.
///
/// Failure. A broken peer fails its own operations and is reported once through TransportListener; other peers go on.
///
/// Interfaces that only some transports have are headers of their own: board.h, short_messages.h, shared_regions.h,
/// relaying.h, lending.h. A transport hands them out; they live as long as it and are looked up once, not for every
/// message.
#ifndef GOSSAMER_TRANSPORT_H_
#define GOSSAMER_TRANSPORT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "gossamer/message.h"
#include "gossamer/status.h"
#include "gossamer/transport_context.h"

namespace goss {

class Board;
class ShortMessages;
class SharedRegions;
class Relaying;
class Lending;

struct PeerStatistics {
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  /// Grows whenever bytes move on the link, either way, also inside messages: a sign of life. Not all transports count.
  std::uint64_t movements = 0;

  void countSent(std::uint64_t bytes) {
    ++messages_sent;
    bytes_sent += bytes;
  }
  void countReceived(std::uint64_t bytes) {
    ++messages_received;
    bytes_received += bytes;
  }
};

/// What a link has carried to a peer, as the system counts it.
struct PathUse {
  std::uint64_t bytes = 0; ///< Bytes that the peer's system has acknowledged, headers and encryption included.
  double busy_s = 0;       ///< Time in which bytes were to be sent or were not acknowledged; 0: not known.
  /// The rate of the last round trip with enough to send, as bytes arrived; 0: not known, or nothing is under way.
  double rate_bytes_per_s = 0;
  std::uint64_t resent_bytes = 0;   ///< Bytes that were sent again, because packets were lost.
  double last_rate_bytes_per_s = 0; ///< As rate_bytes_per_s, also while nothing is under way.
};

/// Idle: prepare() was called, and neither end has used the link yet.
enum class LinkState { idle, connecting, ready, failed };

class Transport {
 public:
  /// Says goodbye to every connected peer and closes. Messages whose send has completed are still delivered to their
  /// peers.
  virtual ~Transport() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Opens what peers connect to (listening sockets, segments) and returns the bytes that tell them how. Called once,
  /// first.
  virtual Result<std::string> open() = 0;
  /// Whether this end could reach a peer whose open() returned `address`. Pure; both ends answer alike.
  [[nodiscard]] virtual bool reaches(std::string_view address) const = 0;
  /// Begins to connect to `peer`; both ends call it. Never blocks: progress() makes the link, and link() says its
  /// state.
  virtual Status connect(int peer, std::string_view address) = 0;
  /// As connect(), but the transport may make the link at its first use, when one of its ends sends. Each end calls
  /// either connect() or prepare(). A peer that cannot be reached at the first use is reported as lost.
  virtual Status prepare(int peer, std::string_view address) { return connect(peer, address); }
  [[nodiscard]] virtual LinkState link(int peer) const = 0;
  /// Why link(peer) is failed; ok while it is not.
  [[nodiscard]] virtual Status linkError(int peer) const = 0;

  /// Returns true when the operation is already complete: then onSent is never called. The link must be ready, or
  /// prepared.
  virtual bool send(SendOperation& operation) = 0;
  virtual void recv(RecvOperation& operation) = 0;
  /// After cancel() returns the transport neither touches the operation or its buffers nor calls it. A message that is
  /// partly on the wire still arrives, from a copy, or as if it had never been sent; where neither can be done the link
  /// to that peer breaks.
  virtual void cancel(SendOperation& operation) = 0;
  virtual void cancel(RecvOperation& operation) = 0;

  /// Whether a message from `peer` has arrived, as of the last progress(), that a receive with its tag would get if it
  /// were posted now. `found` is the first to arrive among those whose tag has `value` in the bits of `mask`. Such a
  /// receive matches it in the next progress() unless the sender cancels it.
  [[nodiscard]] virtual bool peek(int peer, Tag mask, Tag value, Arrived& found) const = 0;
  /// From now on drops messages that no posted receive matches and whose tag has `value` in the bits of `mask`, also
  /// those that have arrived: nobody will receive them, and they must not hold up the messages behind them.
  virtual void discard(Tag mask, Tag value) = 0;
  /// Gives the peer up: breaks its link with the error `why`; the peer will see the broken link if it comes back. Where
  /// both ends are in one process the call does nothing, because such a peer is never silent.
  virtual void abandon(int peer, const Status& why) { (void)peer, (void)why; }

  /// Moves bytes without blocking; returns whether anything happened.
  virtual bool progress() = 0;
  /// A descriptor that polls readable when progress() would do something after prepareToSleep() returned true.
  [[nodiscard]] virtual int pollFd() const = 0;
  /// Arms the wake-up. False: there is work, do not sleep. A true answer is followed by sleepEnded().
  virtual bool prepareToSleep() = 0;
  /// Also called, without prepareToSleep(), when progress() was not called for a while: the next one looks for all that
  /// may have happened.
  virtual void sleepEnded() = 0;

  [[nodiscard]] virtual PeerStatistics statistics(int peer) const = 0;
  /// The shortest round trip to `peer` in seconds that the link, which is ready, has seen; 0: not known.
  [[nodiscard]] virtual double roundTrip_s(int peer) const { return static_cast<void>(peer), 0; }

  /// Counters of the bytes sent to `peer`, whose link is ready. All zero if the system does not report them, or if
  /// another rank relays the link.
  [[nodiscard]] virtual PathUse pathUse(int peer) const { return static_cast<void>(peer), PathUse(); }

  /// The optional interfaces, after open(). Null: this transport does not implement the interface.
  [[nodiscard]] virtual Board* board() { return nullptr; }
  [[nodiscard]] virtual ShortMessages* shortMessages() { return nullptr; }
  [[nodiscard]] virtual SharedRegions* sharedRegions() { return nullptr; }
  [[nodiscard]] virtual const Relaying* relaying() const { return nullptr; }
  [[nodiscard]] virtual Lending* lending() { return nullptr; }
};

} // namespace goss

#endif // GOSSAMER_TRANSPORT_H_
