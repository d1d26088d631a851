/// The bytes of one ordered stream of messages from a peer, on their way into receives.
#ifndef GOSS_TRANSPORTS_COMMON_MESSAGE_SINK_H_
#define GOSS_TRANSPORTS_COMMON_MESSAGE_SINK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "gossamer/message.h"
#include "transports/common/piece_cursor.h"

namespace goss::transports {

class Matcher;
struct Unexpected;

/// The fields of every message's header, however a transport encodes it.
struct MessageHeader {
  Tag tag = 0;
  std::uint64_t bytes = 0;
  Envelope envelope{};
};

/// Use it out of progress() only:
///
///     if (sink.isIdle() && !sink.begin(header)) return;  // Memory is short: the link must end.
///     sink.deliver(bytes);                               // Bytes in memory already, such as in a shared ring.
///     n = readv(fd, iov, sink.space(iov, max));          // Or: from a descriptor straight to their place.
///     sink.commit(n);
///
/// A message ends by itself with its last byte (one of no bytes in begin()), and the receive is completed then. A
/// stream is one connection, or one ring; several may feed one Matcher, and then their headers must be given to begin()
/// in the order in which the peer sent them. One thread. Callbacks may post and cancel receives.
class MessageSink {
 public:
  explicit MessageSink(Matcher& matcher);
  ~MessageSink();
  MessageSink(const MessageSink&) = delete;
  MessageSink& operator=(const MessageSink&) = delete;

  /// Whether no message is in progress, so that the next bytes are a header.
  [[nodiscard]] bool isIdle() const { return done_ == total_; }
  /// Bytes of the current message that have not arrived.
  [[nodiscard]] std::uint64_t remaining() const { return total_ - done_; }

  /// Whether the next message of this stream, if it has `tag`, may overtake the current one and go into a receive that
  /// is not posted yet. Where the Matcher has other streams, these must not be able to deliver such a message first.
  [[nodiscard]] bool mayOvertake(Tag tag) const;

  /// Begins a message; the stream must be idle. False: no receive is posted, and memory for an unexpected message is
  /// short.
  bool begin(const MessageHeader& header);
  /// begin() and deliver() of a message whose bytes have all arrived.
  bool takeWhole(const MessageHeader& header, std::span<const std::byte> bytes);
  /// As begin() for a message whose bytes the transport fetches when a receive has matched it: until then only the
  /// header is kept. When it matches, the sink calls `claim`; if that returns false, the sender has cancelled the
  /// message, which ends as if it had never come. waits() tells when the message has matched; then all bytes must be
  /// delivered as above.
  bool beginAbsent(const MessageHeader& header, std::function<bool()> claim);
  /// As begin() for a message of which at most `held` bytes come before it has matched a receive, so that no more are
  /// kept. `ticket`, which is not 0, names it in Released.
  bool beginPart(const MessageHeader& header, std::uint64_t held, std::uint64_t ticket);
  /// Lets `held` bytes of the current message, begun by beginPart() with 0 held bytes and still waiting, come before
  /// its receive. False: memory is short.
  [[nodiscard]] bool hold(std::uint64_t held);
  /// Whether the last message that began matched no posted receive.
  [[nodiscard]] bool wasKept() const { return was_kept_; }
  /// For the next message: its sender allows the reply, the message `tag`, to be written to `buffer`, if the receive
  /// supports that; null: the sender does not.
  void offerReply(Tag tag, std::byte* buffer) { reply_tag_ = tag, reply_buffer_ = buffer; }
  /// Whether the receive writes the reply to the current message while that arrives.
  [[nodiscard]] bool isReplying() const { return delivers() && operation_->reply.buffer != nullptr; }
  /// Bytes of the current message.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// Whether the current message has not matched a receive yet.
  [[nodiscard]] bool waits() const { return kept_ != nullptr; }
  /// Whether the bytes of the current message are dropped: they need not be fetched before finishDropped().
  [[nodiscard]] bool isDropped() const { return !isIdle() && !kept_ && (!operation_ || !status_.isOk()); }
  void finishDropped();
  /// The sender cancelled the message of beginAbsent() before it matched a receive.
  void revoke();
  /// The sender cancelled the current message: the receive waits for another one.
  void restart();
  /// Delivers at most remaining() bytes. Views for onData point into `bytes` where alignment allows it.
  void deliver(std::span<const std::byte> bytes);
  /// Where the next bytes should be read to, in order, at most `max_bytes` and remaining(). Returns the entries filled
  /// (at least one unless the stream is idle). Valid until any other call on this stream or its Matcher.
  std::size_t space(std::span<iovec> out, std::size_t max_bytes);
  /// The caller has put `bytes` bytes into the last space().
  void commit(std::size_t bytes);

 private:
  friend class Matcher;
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};
  static constexpr std::size_t kBounceBytes = 64 * 1024;
  struct alignas(64) Bounce {
    std::byte bytes[kBounceBytes];
  };

  bool claims() { return !claim_ || claim_(); }
  void accept(const MessageHeader& header, RecvOperation& operation);
  void consume(std::span<const std::byte> bytes);
  void flushBounce();
  void emit(std::span<const std::byte> view);
  void finishIfComplete();
  void drop();                       ///< The operation was cancelled.
  void ignore() { kept_ = nullptr; } ///< The current message is no longer kept.
  void abort(const Status& status);  ///< The peer was lost in the middle of a message.
  [[nodiscard]] bool delivers() const { return operation_ && status_.isOk(); }
  std::byte* bounce();

  Matcher& matcher_;
  std::size_t place_ = 0;     ///< Index among the Matcher's sinks.
  std::uint64_t total_ = 0;   ///< Bytes of the current message.
  std::uint64_t done_ = 0;    ///< Bytes of it that have arrived; equal to total_ between messages.
  std::uint64_t emitted_ = 0; ///< Bytes given to onData.
  RecvOperation* operation_ = nullptr;
  /// Where bytes without a receive go. If neither this nor operation_ is set, bytes are dropped.
  Unexpected* kept_ = nullptr;
  Status status_; ///< What operation_ will complete with.
  PieceCursor cursor_;
  std::unique_ptr<Bounce> bounce_; ///< Made when first needed.
  std::size_t carried_ = 0;        ///< Bytes in bounce_ that wait to become a multiple of 64.
  std::function<bool()> claim_;    ///< Set while an absent message waits for its receive.
  std::uint64_t held_ = kAll;      ///< As Unexpected::held, for the message that begins; its ticket follows.
  std::uint64_t ticket_ = 0;
  bool was_kept_ = false;
  Tag reply_tag_ = 0;
  std::byte* reply_buffer_ = nullptr;
  bool streams_ = false; ///< As operation_ advises.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_MESSAGE_SINK_H_
