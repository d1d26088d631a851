/// The queue of wildcard receives, probes, and the receives that must wait behind those.
#ifndef GOSS_LIB_MESSAGES_RECEIVE_QUEUE_H_
#define GOSS_LIB_MESSAGES_RECEIVE_QUEUE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gossamer/gossamer.h"
#include "gossamer/status.h"
#include "mesh/group.h"
#include "mesh/mesh.h"
#include "messages/self_channel.h"
#include "platform/thread_safety.h"

namespace goss {

/// The messages that a receive or a probe accepts.
struct Pattern {
  int source = GOSS_ANY_SOURCE;
  std::int32_t tag = GOSS_ANY_TAG;

  [[nodiscard]] bool isWild() const { return source == GOSS_ANY_SOURCE || tag == GOSS_ANY_TAG; }
  /// Whether both accept some message.
  [[nodiscard]] bool overlaps(const Pattern& other) const {
    return (source == other.source || source == GOSS_ANY_SOURCE || other.source == GOSS_ANY_SOURCE) &&
           (tag == other.tag || tag == GOSS_ANY_TAG || other.tag == GOSS_ANY_TAG);
  }
};

/// The pattern as text, such as "rank 3, tag 7" or "any rank, any tag".
std::string describe(const Pattern& pattern);

/// An entry of a ReceiveQueue.
class QueuedReceive {
 public:
  virtual ~QueuedReceive() = default;
  [[nodiscard]] virtual Pattern pattern() const = 0;
  /// Whether this entry receives its message; a probe leaves the message to the entries behind.
  [[nodiscard]] virtual bool takes() const { return true; }
  /// This entry gets the message `found` (whose length is not known while it is still to come), and is posted for it.
  /// The entry calls ReceiveQueue::remove() when it has matched the message.
  virtual void takeOnLoop(const goss_message& found) GOSS_ON_LOOP = 0;
  /// This entry has not matched its message: undoes takeOnLoop(), if that was called.
  virtual void giveBackOnLoop() GOSS_ON_LOOP = 0;
  /// No message will come, because the ranks that this entry accepts are lost.
  virtual void giveUpOnLoop(const Status& why) GOSS_ON_LOOP = 0;

 protected:
  [[nodiscard]] bool isQueued() const { return queued_; }
  /// Called when a receive starts, so that it counts as posted now.
  void forgetPlace() {
    place_ = 0;
    source_ = -1;
  }

 private:
  friend class ReceiveQueue;
  bool queued_ = false;
  std::uint64_t place_ = 0; ///< 0: it has none yet.
  /// Rank of the message that it was given last; it keeps to that rank while the rank has a message.
  int source_ = -1;
};

/// Transports match by peer and tag, and do so as messages come. Transports cannot handle a wildcard receive: it waits
/// here until a message that it accepts has arrived without a receive (Transport::peek), and is then posted for that
/// message. A later receive that accepts a common message waits behind the wildcard receive, because the transport
/// would give it that message; an earlier one is posted to the transport, which matches it first. So messages match
/// receives as MPI requires (MPI 4.1, 3.5): of two receives that accept a message the one posted first gets it, and of
/// two messages of one rank a receive gets the one sent first. Between ranks there is no order; they take turns.
///
/// The queue of one communicator. Under the engine's lock; only remove() may be called out of a transport's callback.
class ReceiveQueue {
 public:
  /// Serves the communicator with this group and number. The queue refers to all arguments.
  ReceiveQueue(const Group& group, std::uint32_t context, const Mesh& mesh, const SelfChannel& self_channel)
      : group_(group), context_(context), mesh_(mesh), self_channel_(self_channel) {}

  [[nodiscard]] bool isEmpty() const GOSS_ON_LOOP { return entries_.empty(); }
  /// Whether a receive that is posted now must wait here.
  [[nodiscard]] bool holds(const Pattern& receive) const GOSS_ON_LOOP {
    return receive.isWild() || (!entries_.empty() && mustWait(receive, entries_.size()));
  }
  /// Appends `receive`; a receive that was here before, since it started, returns to its old place.
  void add(QueuedReceive& receive) GOSS_ON_LOOP;
  void remove(QueuedReceive& receive) GOSS_ON_LOOP;

  /// Gives each entry, in posting order, its message, and posts the receives that need not wait any more to their
  /// transports. An entry that was given a message by an earlier call and is still here has not matched it, and gets it
  /// again unless the sender has cancelled it. The entry gets no other rank's message as long as that rank has one for
  /// it, because an entry behind it may have got an older message of the other rank. Called after each progress of the
  /// transports. Returns whether anything happened.
  bool sweepOnLoop() GOSS_ON_LOOP;
  /// What an entry does when the progress loop polls it: the first entry sweeps for all.
  bool pollOnLoop(const QueuedReceive& entry) GOSS_ON_LOOP {
    return !entries_.empty() && entries_.front() == &entry && sweepOnLoop();
  }
  /// Finds the message that a receive posted now, behind all entries, would get. Called after sweepOnLoop().
  bool findOnLoop(const Pattern& pattern, goss_message& found) const GOSS_ON_LOOP;
  /// The next search for a message begins at rank `source`.
  void turnTo(int source) GOSS_ON_LOOP { next_ = source; }

  /// Not ok when the rank that `pattern` accepts is lost, or all others where it accepts any, so that only messages
  /// that have arrived can match. In a communicator of one rank, messages to itself can come.
  [[nodiscard]] Status sourceStatus(const Pattern& pattern) const GOSS_ON_LOOP;
  /// The other ranks whose messages `pattern` accepts.
  [[nodiscard]] std::vector<int> sources(const Pattern& pattern) const GOSS_ON_LOOP;

 private:
  [[nodiscard]] bool mustWait(const Pattern& pattern, std::size_t before) const GOSS_ON_LOOP;
  [[nodiscard]] bool isFree(std::size_t index) const GOSS_ON_LOOP;
  [[nodiscard]] bool peekOnLoop(int source, std::int32_t tag, goss_message& found) const GOSS_ON_LOOP;

  const Group& group_;
  const std::uint32_t context_;
  const Mesh& mesh_;
  const SelfChannel& self_channel_;
  std::vector<QueuedReceive*> entries_ GOSS_GUARDED; ///< In posting order.
  std::uint64_t places_ GOSS_GUARDED = 0;
  int next_ GOSS_GUARDED = 0;
};

} // namespace goss

#endif // GOSS_LIB_MESSAGES_RECEIVE_QUEUE_H_
