/// One message on its way from a peer into its receive.
#ifndef GOSS_TRANSPORTS_COMMON_DELIVERY_H_
#define GOSS_TRANSPORTS_COMMON_DELIVERY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "gossamer/message.h"
#include "gossamer/transport.h"
#include "transports/common/message_header.h"
#include "transports/common/piece_cursor.h"
#include "transports/common/unexpected.h"

namespace goss::transports {

/// Passes the bytes of a message to its receive, or to memory of its own (Unexpected) while no receive matches, or
/// discards them. MessageSink derives from it and begins the messages of a stream; the Matcher chooses the receive. It
/// handles one message after another. One thread. Callbacks may post and cancel receives.
class Delivery {
 public:
  /// `statistics` counts what arrives; null: the messages were counted before.
  Delivery(int peer, PeerStatistics* statistics) : peer_(peer), statistics_(statistics) {}
  ~Delivery() = default;
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  /// Whether no message is in progress, so that the next bytes are a header.
  [[nodiscard]] bool isIdle() const { return done_ == total_; }
  /// Bytes of the current message.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// Bytes of the current message that have not arrived.
  [[nodiscard]] std::uint64_t remaining() const { return total_ - done_; }
  /// Whether the current message has not matched a receive yet.
  [[nodiscard]] bool waits() const { return kept_ != nullptr; }
  /// For the next message: its sender allows the reply, the message `tag`, to be written to `buffer`, if the receive
  /// supports that; null: the sender does not.
  void offerReply(Tag tag, std::byte* buffer) { reply_tag_ = tag, reply_buffer_ = buffer; }
  /// Whether the receive writes the reply to the current message while that arrives.
  [[nodiscard]] bool isReplying() const { return delivers() && operation_->reply.buffer != nullptr; }
  /// Whether the bytes of the current message are dropped: they need not be fetched before finishDropped().
  [[nodiscard]] bool isDropped() const { return !isIdle() && !kept_ && (!operation_ || !status_.isOk()); }
  void finishDropped();
  /// Delivers at most remaining() bytes. Views for onData point into `bytes` where alignment allows it.
  void deliver(std::span<const std::byte> bytes);
  /// Where the next bytes should be read to, in order, at most `max_bytes` and remaining(). Returns the entries filled
  /// (at least one unless the stream is idle). Valid until any other call on this stream or its Matcher.
  std::size_t space(std::span<iovec> out, std::size_t max_bytes);
  /// The caller has put `bytes` bytes into the last space().
  void commit(std::size_t bytes);

 protected:
  /// The message has matched its receive.
  void accept(const MessageHeader& header, RecvOperation& operation);
  /// accept() and deliver() of a message whose bytes are all there.
  void acceptWhole(const MessageHeader& header, RecvOperation& operation, std::span<const std::byte> bytes);
  /// The message has no receive: its bytes go to `kept`, or to nobody (null).
  void acceptWithout(const MessageHeader& header, Unexpected* kept);
  bool claims() { return !claim_ || claim_(); }
  /// Ends the message under way; returns its receive, which is not completed, or null.
  RecvOperation* detach();

  /// Where bytes without a receive go. If neither this nor operation_ is set, bytes are dropped.
  Unexpected* kept_ = nullptr;
  std::function<bool()> claim_; ///< Set while an absent message waits for its receive.

 private:
  friend class Matcher;
  static constexpr std::size_t kBounceBytes = 64 * 1024;
  struct alignas(64) Bounce {
    std::byte bytes[kBounceBytes];
  };

  void drop();                       ///< The operation was cancelled.
  void ignore() { kept_ = nullptr; } ///< The current message is no longer kept.
  void clear();                      ///< The sender has cancelled the message before it matched a receive.
  void abort(const Status& status);  ///< The peer was lost in the middle of a message.
  void consume(std::span<const std::byte> bytes);
  void flushBounce();
  void emit(std::span<const std::byte> view);
  void finishIfComplete();
  [[nodiscard]] bool delivers() const { return operation_ && status_.isOk(); }
  std::byte* bounce();

  const int peer_;
  PeerStatistics* const statistics_;
  RecvOperation* operation_ = nullptr;
  std::size_t place_ = 0;     ///< Index among the Matcher's deliveries.
  std::uint64_t total_ = 0;   ///< Bytes of the current message.
  std::uint64_t done_ = 0;    ///< Bytes of it that have arrived; equal to total_ between messages.
  std::uint64_t emitted_ = 0; ///< Bytes given to onData.
  Status status_;             ///< What operation_ will complete with.
  PieceCursor cursor_;
  std::unique_ptr<Bounce> bounce_; ///< Made when first needed.
  std::size_t carried_ = 0;        ///< Bytes in bounce_ that wait to become a multiple of 64.
  Tag reply_tag_ = 0;
  std::byte* reply_buffer_ = nullptr;
  bool streams_ = false; ///< As operation_ advises.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_DELIVERY_H_
