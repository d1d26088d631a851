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

/// What goes before the bytes of every message, however a transport encodes it.
struct MessageHeader {
  Tag tag = 0;
  std::uint64_t bytes = 0;
  Envelope envelope{};
};

/// Use, out of progress() only:
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

  /// No message is under way: the next thing to come is a header.
  [[nodiscard]] bool isIdle() const { return done_ == total_; }
  /// Bytes of the message under way that are still to come.
  [[nodiscard]] std::uint64_t remaining() const { return total_ - done_; }

  /// Whether the next message of this stream, if it has `tag`, may go past this and into a receive that is not posted.
  /// Where the Matcher has other streams, these must not be able to bring such a message first.
  [[nodiscard]] bool mayOvertake(Tag tag) const;

  /// The stream must be idle. False: no receive is posted, and memory for a message without one is short.
  bool begin(const MessageHeader& header);
  /// begin() and deliver() of a message whose bytes are all there.
  bool takeWhole(const MessageHeader& header, std::span<const std::byte> bytes);
  /// As begin() for a message whose bytes the transport fetches once there is a receive: nothing but the header is kept
  /// until then. When they meet, `claim` is asked; where it answers false, the sender has taken the message back, and
  /// it ends as if it had never come. waits() tells when that was; then all bytes are to be given as above.
  bool beginAbsent(const MessageHeader& header, std::function<bool()> claim);
  /// As begin() for a message of which at most `held` bytes come before there is a receive, so that no more are kept;
  /// Released names it by `ticket`, which is not 0.
  bool beginPart(const MessageHeader& header, std::uint64_t held, std::uint64_t ticket);
  /// The message under way, of beginPart() with 0 bytes held, waits: so many of it may come before its receive now.
  /// False: memory is short.
  [[nodiscard]] bool hold(std::uint64_t held);
  /// The last message that began found no receive.
  [[nodiscard]] bool wasKept() const { return was_kept_; }
  /// For the next message: its sender lets the reply, the message `tag`, be written to `buffer`, where the receive
  /// knows how; null: it does not.
  void offerReply(Tag tag, std::byte* buffer) { reply_tag_ = tag, reply_buffer_ = buffer; }
  /// The receive writes the reply to the message under way, as that comes.
  [[nodiscard]] bool isReplying() const { return delivers() && operation_->reply.buffer != nullptr; }
  /// Bytes of the message under way.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// It has not met a receive yet.
  [[nodiscard]] bool waits() const { return kept_ != nullptr; }
  /// Nobody wants the bytes of the message under way: they need not be fetched before finishDropped().
  [[nodiscard]] bool isDropped() const { return !isIdle() && !kept_ && (!operation_ || !status_.isOk()); }
  void finishDropped();
  /// The message of beginAbsent() was taken back before it met a receive.
  void revoke();
  /// The message under way was taken back by its sender: the receive waits for another one.
  void restart();
  /// At most remaining() bytes. Views for onData point into `bytes` where alignment allows it.
  void deliver(std::span<const std::byte> bytes);
  /// Where the next bytes should be read to, in order, at most `max_bytes` and remaining(). Returns the entries filled
  /// (at least one unless the stream is idle). Valid until any other call on this stream or its Matcher.
  std::size_t space(std::span<iovec> out, std::size_t max_bytes);
  /// So many bytes were put into the last space().
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
  void ignore() { kept_ = nullptr; } ///< The message under way is not kept any longer.
  void abort(const Status& status);  ///< The peer was lost in the middle of a message.
  [[nodiscard]] bool delivers() const { return operation_ && status_.isOk(); }
  std::byte* bounce();

  Matcher& matcher_;
  std::size_t place_ = 0;     ///< Among those of the Matcher.
  std::uint64_t total_ = 0;   ///< Bytes of the message under way.
  std::uint64_t done_ = 0;    ///< Bytes of it that came; equal to total_ between messages.
  std::uint64_t emitted_ = 0; ///< Bytes given to onData.
  RecvOperation* operation_ = nullptr;
  Unexpected* kept_ = nullptr; ///< Where bytes go that have no receive. Neither this nor operation_: bytes are dropped.
  Status status_;              ///< What operation_ will complete with.
  PieceCursor cursor_;
  std::unique_ptr<Bounce> bounce_; ///< Made when first needed.
  std::size_t carried_ = 0;        ///< Bytes in bounce_ that wait to become a multiple of 64.
  std::function<bool()> claim_;    ///< Set while an absent message waits for its receive.
  std::uint64_t held_ = kAll;      ///< Of the message that begins: as Unexpected's, and its ticket.
  std::uint64_t ticket_ = 0;
  bool was_kept_ = false;
  Tag reply_tag_ = 0;
  std::byte* reply_buffer_ = nullptr;
  bool streams_ = false; ///< As operation_ advises.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_MESSAGE_SINK_H_
