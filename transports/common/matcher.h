/// Matches the messages of one peer with the receives that were posted for it.
#ifndef GOSS_TRANSPORTS_COMMON_MATCHER_H_
#define GOSS_TRANSPORTS_COMMON_MATCHER_H_

#include <list>
#include <utility>
#include <vector>

#include "gossamer/transport.h"
#include "transports/common/deferred.h"
#include "transports/common/delivery.h"
#include "transports/common/operation_list.h"
#include "transports/common/unexpected.h"
#include "transports/common/unwanted_tags.h"

namespace goss::transports {

/// A message that the matcher no longer keeps, because it has matched a receive or was discarded.
struct Released {
  Tag tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t held = 0;
  std::uint64_t ticket = 0;
};

/// How a transport uses it: recv() calls post(), cancel() calls cancel(), progress() calls drain() and feeds the bytes
/// that it reads into one MessageSink per ordered stream. No function but drain(), fail() and those of MessageSink
/// calls an operation back, so the others are safe inside send(), recv() and cancel(); callbacks may call post() and
/// cancel().
///
/// Messages are matched strictly in order of arrival and of posting, when progress() runs. One thread.
class Matcher {
 public:
  /// `deferred` takes receives that are posted after fail(); it outlives this object. Unexpected messages are bounded
  /// by what the sender may send (Credit).
  Matcher(int peer, Deferred& deferred);
  ~Matcher();
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  void post(RecvOperation& operation);
  /// Afterwards the matcher does not touch the operation again. The rest of a message that is arriving into it is
  /// dropped.
  void cancel(RecvOperation& operation);
  /// Gives kept messages to the receives that were posted since. Returns whether it called an operation back.
  bool drain();
  /// Whether drain() would do anything.
  [[nodiscard]] bool hasWork() const { return rematch_; }

  /// The peer is lost: messages that arrived whole are delivered, now or when their receive is posted; all other
  /// receives fail with `status`, and those posted later do too, through Deferred. The first status wins.
  void fail(const Status& status);
  [[nodiscard]] bool hasFailed() const { return !failure_.isOk(); }
  /// Why the peer is lost; ok while it is not.
  [[nodiscard]] const Status& failure() const { return failure_; }

  /// From now on drops messages without a posted receive whose tag has `value` in the bits of `mask`, also those that
  /// are kept.
  void discard(Tag mask, Tag value);
  /// The tags of discard().
  [[nodiscard]] const UnwantedTags& unwanted() const { return unwanted_; }
  /// Whether at least `receives` receives are posted.
  [[nodiscard]] bool expects(int receives) const {
    const RecvOperation* at = posted_.front();
    while (at != nullptr && --receives > 0)
      at = OperationList<RecvOperation>::next(*at);
    return at != nullptr;
  }
  /// Whether a receive for `tag` is posted.
  [[nodiscard]] bool isPosted(Tag tag) const;
  [[nodiscard]] int peer() const { return peer_; }
  /// Counters of both directions: the matcher counts receives, the transport adds the sends.
  [[nodiscard]] PeerStatistics& statistics() { return statistics_; }
  [[nodiscard]] const PeerStatistics& statistics() const { return statistics_; }
  /// Whether an unexpected message is kept.
  [[nodiscard]] bool keepsAny() const { return !unexpected_.empty(); }
  /// Bytes of memory that unexpected messages take, including a small overhead for each.
  [[nodiscard]] std::size_t keptBytes() const { return kept_bytes_; }
  /// As Transport::peek.
  [[nodiscard]] bool peek(Tag mask, Tag value, Arrived& found) const;
  /// From now on takeReleased() reports messages with a ticket that are no longer kept; with `whole` also those without
  /// one.
  void trackReleased(bool whole) {
    tracks_tickets_ = true;
    tracks_whole_ = tracks_whole_ || whole;
  }
  [[nodiscard]] bool hasReleased() const { return !released_.empty(); }
  /// The messages released since the last call.
  std::vector<Released> takeReleased() { return std::exchange(released_, {}); }
  /// The sender has cancelled the message with this ticket. Does nothing if it is not kept.
  void forget(std::uint64_t ticket);
  /// Whether a receive for `tag` that were posted now would get the next message with this tag to come: none is kept,
  /// and no other receive waits for it. Inspects only a few entries, and returns false where there are more.
  [[nodiscard]] bool wouldBeNext(Tag tag) const {
    if (rematch_ || !unexpected_.empty()) return false;
    int left = 4;
    for (const RecvOperation* at = posted_.front(); at != nullptr; at = OperationList<RecvOperation>::next(*at)) {
      if (at->tag == tag || --left == 0) return false;
    }
    return true;
  }

 private:
  friend class MessageSink;
  /// A stream of messages begins, and ends.
  void add(Delivery& delivery);
  void remove(Delivery& delivery);
  /// The oldest posted receive for `tag`, unlinked; null if there is none.
  RecvOperation* takePosted(Tag tag);
  /// Adds an unexpected message; null: memory is short.
  Unexpected* keep(const MessageHeader& header, Delivery& delivery, std::uint64_t held, std::uint64_t ticket);
  /// As MessageSink::hold().
  bool extend(Unexpected& message, std::uint64_t held);
  void forget(const Unexpected& message);
  /// The sender has cancelled this one's message before it matched a receive.
  void revoke(Delivery& delivery);
  void noteReleased(const Unexpected& message);
  /// The sender cancelled the message that the receive had matched: the receive waits again, before all others.
  void postAgain(RecvOperation& operation);
  void failPosted();
  [[nodiscard]] bool isLeftOver(Tag tag, std::list<Unexpected>::const_iterator at) const;

  const int peer_;
  Deferred& deferred_;
  OperationList<RecvOperation> posted_;
  std::list<Unexpected> unexpected_; ///< In order of arrival.
  UnwantedTags unwanted_;
  std::size_t kept_bytes_ = 0;
  bool tracks_tickets_ = false;
  bool tracks_whole_ = false;
  std::vector<Released> released_;
  bool rematch_ = false; ///< A receive was posted that may match a kept message.
  Status failure_;
  PeerStatistics statistics_;
  std::vector<Delivery*> deliveries_;
  Delivery replay_; ///< Delivers kept messages that are complete.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_MATCHER_H_
