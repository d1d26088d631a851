/// The transport seam: moves bytes between the ranks of a world and knows nothing of tensors or collectives.
///
/// Matching. A message from peer A meets the receive that was posted for (A, tag). Messages with the same tag from the
/// same peer meet their receives in order; messages with different tags are independent of each other. A message
/// that arrives before its receive is kept, within a bound per peer that flows (see flowOf()) share. A message beyond
/// it, of no bytes too, and a long one but for its beginning, costs the receiver its header; its bytes stay with the
/// sender, whose send is not complete, until a receive asks for them. So no message waits for the receive of another
/// one, except that of an older one with its own tag. (A transport may hold back what is not urgent while 256 Ki such
/// headers lie at the peer.)
///
/// Threads. A transport is used by one thread at a time (the engine's lock sees to it) and makes no threads.
/// Completion callbacks come only out of progress(), never out of send(), recv() or cancel(), exactly once per
/// operation.
///
/// Failure. A broken peer fails its own operations and is reported once through TransportListener; other peers go on.
#ifndef GOSSAMER_TRANSPORT_H_
#define GOSSAMER_TRANSPORT_H_

#include <sys/uio.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"

namespace goss {

using TimePoint = std::chrono::steady_clock::time_point;
using Tag = std::uint64_t;

/// Messages with this tag are short and go first: they wait behind no bytes of other messages that are not on the wire.
inline constexpr Tag kUrgentTag = ~Tag{0};

/// The flow that messages with this tag belong to: the communicator, in the upper 16 bits. What lies unexpected of one
/// flow takes no room that another one needs.
constexpr Tag flowOf(Tag tag) { return tag & (Tag{0xffff} << 48); }

/// 24 bytes that travel with every message, opaque to the transport. The core puts the operation's signature there.
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
  /// Advice: from now on at most so many bytes a second leave for this peer, evenly, since others share the way; 0:
  /// as many as can. A few short messages without one leave it as it is.
  std::uint64_t pace_bytes_per_s = 0;
  /// Advice: the peer will answer with a message of as many bytes and the tag `answer_tag`, and may write it here
  /// instead, from when it has read the bytes that it replaces until onSent. `answer` is where the message itself lies,
  /// or apart from it; null: no advice.
  std::byte* answer = nullptr;
  Tag answer_tag = 0;
  bool answered = false; ///< Of the transport, before onSent: the answer is there, and will not come as a message.
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
  bool streams = false; ///< Advice: what is received is not needed again soon and need not displace what is in caches.
  /// Of one that consumes: what onData makes of the message goes back to the peer as the message `answer_tag`, byte for
  /// byte.
  bool answers = false;
  Tag answer_tag = 0;
  /// Of the transport, before onMatched: onData must also write what it makes of the bytes at `offset` to `answer` +
  /// `offset`. With success in onReceived the answer has been delivered, and is not to be sent. Null: send it.
  std::byte* answer = nullptr;
  TransportHook hook;

  /// The message was matched; `bytes` is its actual length. Called once, before any byte is delivered, and again with
  /// another message when the sender took the first one back in the middle: its bytes do not count. An error (also:
  /// bytes > capacity must be answered with one) makes the transport drop the payload and complete with that error.
  virtual Status onMatched(const Envelope& envelope, std::size_t bytes) = 0;
  /// The next bytes, in order, when `consumes`. Every view but the last is a multiple of 64 bytes, and starts at an
  /// address aligned to 16. Valid only during the call, which may cancel this receive and must otherwise leave the
  /// transport alone.
  virtual void onData(std::size_t offset, std::span<const std::byte> bytes) { (void)offset, (void)bytes; }
  /// The sender has taken back the message that this had met: it waits on, before all others with its tag.
  virtual void onTakenBack() {}
  virtual void onReceived(const Status& status) = 0;
};

/// A message that has come, or its header has, and that no posted receive gets.
struct Arrived {
  Tag tag = 0;
  Envelope envelope{};
  std::uint64_t bytes = 0;
};

/// How a transport knows that a peer is lost. The other ranks may go on without a peer that has departed or ended. A
/// silent peer may itself go on, on the other side of a cut. A loss that neither the peer nor its host has told is
/// silence.
enum class PeerLoss {
  departed, ///< The peer said goodbye before it closed: not a failure by itself.
  ended,    ///< The peer's host shows that its process has ended, or refuses calls at the port where it listened.
  silent,   ///< The link to the peer broke, or either end gave it up, and the peer was not reached again in time.
};

class TransportListener {
 public:
  virtual ~TransportListener() = default;
  /// Called out of progress(), once per peer. Pending operations on the peer have failed or will fail in this
  /// progress().
  virtual void onPeerLost(int peer, const Status& status, PeerLoss how) = 0;
};

/// What a transport offers; declared, so that nobody probes by trying.
struct TransportCapabilities {
  bool same_host_only = false;
  bool same_process_only = false;
  bool detects_death = true; ///< A killed peer is reported without any deadline.
  bool virtual_time = false; ///< Deadlines are measured on the transport's own clock (sim).
  double latency_s = 0;      ///< Built-in price of a message, for the planner.
  double bandwidth_bytes_per_s = 0;
};

struct PeerStatistics {
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  /// Grows whenever bytes move on the link, either way, also inside messages: a sign of life. Not all transports count.
  std::uint64_t movements = 0;
};

enum class LinkState { connecting, ready, failed };

/// Memory of this process that its peers on this host may map, to read messages and to write answers
/// (SendOperation::answer): whole pages of a memfd that cannot shrink.
struct MemoryRegion {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  int fd = -1;
};

struct Config;

/// Where rank 0 is seen from a rank, and it from rank 0: 4 or 16 bytes in network order. "" where no router translates
/// that address, so all of rank 0's own is. Ranks with equal sites are on the same side of all routers.
struct Site {
  std::string from; ///< The address from which this rank's calls arrive.
  std::string at;   ///< The address at which it has reached rank 0.
  friend bool operator==(const Site&, const Site&) = default;
};

struct TransportContext {
  int self = 0;                          ///< World rank.
  int size = 1;                          ///< World size.
  std::array<std::byte, 16> job{};       ///< Secret of this world; both ends of a connection must show the same.
  const Config* config = nullptr;        ///< Outlives the transport.
  TransportListener* listener = nullptr; ///< Outlives the transport.
  /// By rank; filled before connect() is called, and outlives the transport. Null: unknown.
  const std::vector<Site>* sites = nullptr;
};

class Board;

/// What came of a message that was to be over within one call.
enum class TryResult {
  done,    ///< It is over.
  notYet,  ///< Nothing has happened: nothing has come. Ask again.
  queued,  ///< Nothing has happened: what has come goes first. Ask again after progress().
  refused, ///< Nothing has happened, and asking again will not help: use send() or recv().
};

class Transport {
 public:
  /// Says goodbye to every connected peer and closes. Messages whose send has completed are still delivered.
  virtual ~Transport() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual const TransportCapabilities& capabilities() const = 0;

  /// Opens what peers will call (listening sockets, segments) and returns the bytes that tell them how. Called once,
  /// first.
  virtual Result<std::string> open() = 0;
  /// Whether this end could reach a peer whose open() returned `address`. Pure; both ends answer alike.
  [[nodiscard]] virtual bool reaches(std::string_view address) const = 0;
  /// Begins to connect to `peer`; both ends call it. Never blocks: progress() completes it, link() tells.
  virtual Status connect(int peer, std::string_view address) = 0;
  [[nodiscard]] virtual LinkState link(int peer) const = 0;
  /// Why link(peer) is failed; ok otherwise.
  [[nodiscard]] virtual Status linkError(int peer) const = 0;

  /// Returns true when the operation is already complete: then onSent is never called. The link must be ready.
  virtual bool send(SendOperation& operation) = 0;
  virtual void recv(RecvOperation& operation) = 0;
  /// After it returns the transport does not touch the operation or its buffers again and calls nothing on it.
  /// What is partly on the wire still arrives, from a copy, or as if it had never been sent; where neither can be done
  /// the link to that peer breaks.
  virtual void cancel(SendOperation& operation) = 0;
  virtual void cancel(RecvOperation& operation) = 0;

  /// A message without an operation, over within the call: where nothing is in its way and nothing has to be kept, this
  /// costs a fraction of send() and recv(). It has its place in the order as any other, and the other end need not use
  /// the same way. Refused, too, is a message that has come but does not have this envelope, or has more bytes than
  /// `room`: recv() is to say so. `bytes`: what was received, when done.
  virtual TryResult trySend(int peer, Tag tag, const Envelope& envelope, std::span<const std::byte> bytes) {
    (void)peer, (void)tag, (void)envelope, (void)bytes;
    return TryResult::refused;
  }
  virtual TryResult tryRecv(int peer, Tag tag, const Envelope& envelope, std::span<std::byte> room,
                            std::size_t& bytes) {
    (void)peer, (void)tag, (void)envelope, (void)room, (void)bytes;
    return TryResult::refused;
  }

  /// Whether a message from `peer` is there, as of the last progress(), that a receive with its tag would get if it
  /// were posted now; of those whose tag has `value` in the bits of `mask`, the first that came. That receive meets it
  /// in the next progress() unless the sender takes it back.
  [[nodiscard]] virtual bool peek(int peer, Tag mask, Tag value, Arrived& found) const = 0;

  /// Moves bytes without blocking; returns whether anything happened.
  virtual bool progress() = 0;
  /// A descriptor that polls readable when progress() would do something after prepareToSleep() returned true.
  [[nodiscard]] virtual int pollFd() const = 0;
  /// Arms the wake-up. False: there is work, do not sleep. A true answer is followed by sleepEnded().
  virtual bool prepareToSleep() = 0;
  virtual void sleepEnded() = 0;

  /// From now on messages whose tag has `value` in the bits of `mask`, and no posted receive, are dropped, also those
  /// that have arrived: nobody will ever want them, and they must not hold up what comes behind them.
  virtual void discard(Tag mask, Tag value) { (void)mask, (void)value; }
  /// Gives the peer up: its link breaks with `why`, and the other end will see it broken, when it comes back.
  virtual void abandon(int peer, const Status& why) { (void)peer, (void)why; }

  [[nodiscard]] virtual PeerStatistics statistics(int peer) const = 0;
  /// Other ranks' bytes go through this one now: progress() is to be called for them while nothing is pending here.
  [[nodiscard]] virtual bool servesOthers() const { return false; }
  /// The rank that passes on what goes to and comes from `peer`, where the two cannot call each other; -1: none.
  [[nodiscard]] virtual int relayedBy(int peer) const {
    (void)peer;
    return -1;
  }
  /// Memory for the smallest messages, after open(); nullptr where the transport has none. Lives as long as it.
  [[nodiscard]] virtual Board* board() { return nullptr; }

  /// Says that messages may be sent out of `region`, which stays as it is until removeRegion(region.data). A transport
  /// that can lets peers read them in place; to others it means nothing.
  virtual void addRegion(const MemoryRegion& region) { (void)region; }
  /// Error: invalidArgument, and the region stays, while a message that is sent out of it is not complete.
  virtual Status removeRegion(const std::byte* data) {
    (void)data;
    return Status::ok();
  }
};

} // namespace goss

#endif // GOSSAMER_TRANSPORT_H_
