/// An optional part of the transport seam: short messages that are sent and received within one call.
#ifndef GOSSAMER_SHORT_MESSAGES_H_
#define GOSSAMER_SHORT_MESSAGES_H_

#include <cstddef>
#include <span>

#include "gossamer/message.h"

namespace goss {

/// What became of a message that is tried within one call. Unless done, nothing has happened.
enum class TryResult {
  done,    ///< The message was sent or received.
  notYet,  ///< No message has come. Try again.
  queued,  ///< Messages that came earlier are delivered first. Try again after progress().
  refused, ///< Trying again will not help: use send() or recv().
};

/// Messages without an operation. Where nothing is queued before a message and nothing has to be kept of it, this costs
/// a fraction of Transport::send and recv. Such messages keep their place in the order among all others, and the other
/// end need not use the same way. Used by one thread at a time, as its transport, and lives as long as that.
class ShortMessages {
 public:
  virtual ~ShortMessages() = default;
  /// Done: the bytes are free again.
  virtual TryResult trySend(int peer, Tag tag, const Envelope& envelope, std::span<const std::byte> bytes) = 0;
  /// `bytes`: length of what was received, when done. Refused, too, is a message that does not have this envelope, or
  /// has more bytes than `room`: recv() reports that.
  virtual TryResult tryRecv(int peer, Tag tag, const Envelope& envelope, std::span<std::byte> room,
                            std::size_t& bytes) = 0;
};

} // namespace goss

#endif // GOSSAMER_SHORT_MESSAGES_H_
