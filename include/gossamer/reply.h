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

/// Of a SendOperation: the peer will reply with a message of as many bytes and the tag `tag`.
struct ReplyRequest {
  /// Where the peer may write the reply instead, from when it has read the bytes that it replaces until onSent: where
  /// the message itself lies, or apart from it. Null: nowhere.
  std::byte* buffer = nullptr;
  Tag tag = 0;
  /// Set by the transport before onSent: the reply is in `buffer`, and does not come as a message.
  bool is_written = false;
};

/// Of a RecvOperation that consumes.
struct ReplyOffer {
  /// What onData makes of the message goes back to the peer as the message `tag`, byte for byte.
  bool can_write = false;
  Tag tag = 0;
  /// Set by the transport before onMatched: onData also writes what it makes of the bytes at `offset` to `buffer` +
  /// `offset`. With success in onReceived the reply has been delivered and is not to be sent. Null: send it.
  std::byte* buffer = nullptr;
};

} // namespace goss

#endif // GOSSAMER_REPLY_H_
