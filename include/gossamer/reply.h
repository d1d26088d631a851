/// An optional part of the transport seam: replies that the receiver of a message writes into the sender's memory.
///
/// A reduce-scatter followed by an all-gather sends a chunk to its owner and gets the reduced chunk back. Where both
/// ranks share memory (gossamer/shared_regions.h) the owner writes the result straight to where the sender wants it,
/// and the second message is never sent. Both requests are advice: a transport without SharedRegions ignores them, and
/// the reply is then sent as a message of its own.
#ifndef GOSSAMER_REPLY_H_
#define GOSSAMER_REPLY_H_

#include <cstddef>

#include "gossamer/tag.h"

namespace goss {

/// What a SendOperation says of its reply: the peer will answer with a message of as many bytes and the tag `tag`.
struct ReplyRequest {
  /// Where the peer may write the reply: from the moment when the peer has read the bytes that the reply replaces until
  /// onSent. It is the memory of the message itself or does not overlap it. Null: nowhere.
  std::byte* buffer = nullptr;
  Tag tag = 0;
  /// Set by the transport before onSent: the reply is in `buffer`, and no message will bring it.
  bool is_written = false;
};

/// What a RecvOperation that consumes says of the reply to its message.
struct ReplyOffer {
  /// Whether the bytes that onData makes of the message are the reply, byte for byte; it has the tag `tag`.
  bool can_write = false;
  Tag tag = 0;
  /// Set by the transport before onMatched: onData also writes what it makes of the bytes at `offset` to `buffer` +
  /// `offset`. After onReceived with success the transport has delivered the reply. Null: the caller sends the reply.
  std::byte* buffer = nullptr;
};

} // namespace goss

#endif // GOSSAMER_REPLY_H_
