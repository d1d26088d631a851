/// An optional part of the transport seam: short messages that are sent and received within one call.
#ifndef GOSSAMER_SHORT_MESSAGES_H_
#define GOSSAMER_SHORT_MESSAGES_H_

#include <cstddef>
#include <span>

#include "gossamer/message.h"

namespace goss {

/// Outcome of trySend() and tryRecv(). Unless it is `done`, nothing has changed.
enum class TryResult {
  done,    ///< The message was sent or received.
  notYet,  ///< No message has come. Try again.
  queued,  ///< Messages that came earlier are delivered first. Try again after progress().
  refused, ///< Trying again will not help: use send() or recv().
};

/// Sends and receives without operations. Where no message is queued before one, and the transport need not keep
/// anything of it, this costs a fraction of Transport::send and recv. Such messages keep their place in the order among
/// all others, and the other end may use send() or recv(). One thread at a time uses it, as it does its transport; it
/// lives as long as the transport.
class ShortMessages {
 public:
  virtual ~ShortMessages() = default;
  /// `done`: the caller may reuse the bytes.
  virtual TryResult trySend(int peer, Tag tag, const Envelope& envelope, std::span<const std::byte> bytes) = 0;
  /// `bytes`: length of the message received, when `done`. A message with another envelope, or of more than `room`
  /// bytes, is refused: recv() reports what is wrong with it.
  virtual TryResult tryRecv(int peer, Tag tag, const Envelope& envelope, std::span<std::byte> room,
                            std::size_t& bytes) = 0;
};

} // namespace goss

#endif // GOSSAMER_SHORT_MESSAGES_H_
