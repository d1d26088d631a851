/// The bytes of one ordered stream of messages from a peer, on their way into receives.
#ifndef GOSS_TRANSPORTS_COMMON_MESSAGE_SINK_H_
#define GOSS_TRANSPORTS_COMMON_MESSAGE_SINK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "transports/common/delivery.h"
#include "transports/common/matcher.h"
#include "transports/common/message_header.h"

namespace goss::transports {

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
class MessageSink final : public Delivery {
 public:
  explicit MessageSink(Matcher& matcher);
  ~MessageSink();
  MessageSink(const MessageSink&) = delete;
  MessageSink& operator=(const MessageSink&) = delete;

  /// Whether the next message of this stream, if it has `tag`, may overtake the current one and go into a receive that
  /// is not posted yet. Where the Matcher has other streams, these must not be able to deliver such a message first.
  [[nodiscard]] bool mayOvertake(Tag tag) const { return isIdle() && matcher_.wouldBeNext(tag); }

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
  /// The sender cancelled the message of beginAbsent() before it matched a receive.
  void revoke();
  /// The sender cancelled the current message: the receive waits for another one.
  void restart();

 private:
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};

  Matcher& matcher_;
  std::uint64_t held_ = kAll; ///< As Unexpected::held, for the message that begins; its ticket follows.
  std::uint64_t ticket_ = 0;
  bool was_kept_ = false;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_MESSAGE_SINK_H_
