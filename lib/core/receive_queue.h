/// Receives from any rank or of any tag, probes, and the receives that must wait behind them.
#ifndef GOSS_LIB_CORE_RECEIVE_QUEUE_H_
#define GOSS_LIB_CORE_RECEIVE_QUEUE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gossamer/gossamer.h"
#include "gossamer/status.h"

namespace goss::core {

class Communicator;

/// Which messages a receive or a probe accepts.
struct Pattern {
  int source = GOSS_ANY_SOURCE;
  std::int32_t tag = GOSS_ANY_TAG;

  [[nodiscard]] bool isWild() const { return source == GOSS_ANY_SOURCE || tag == GOSS_ANY_TAG; }
  /// Whether there are messages that both accept.
  [[nodiscard]] bool overlaps(const Pattern& other) const {
    return (source == other.source || source == GOSS_ANY_SOURCE || other.source == GOSS_ANY_SOURCE) &&
           (tag == other.tag || tag == GOSS_ANY_TAG || other.tag == GOSS_ANY_TAG);
  }
};

/// Such as "rank 3, tag 7" or "any rank, any tag".
std::string describe(const Pattern& pattern);

/// What stands in a ReceiveQueue.
class QueuedReceive {
 public:
  virtual ~QueuedReceive() = default;
  [[nodiscard]] virtual Pattern pattern() const = 0;
  /// Whether it takes its message away, so that those behind it do not get that one.
  [[nodiscard]] virtual bool takes() const { return true; }
  /// This message (its length is not known where it is still to come) is the one that it gets: it is posted for it. It
  /// calls ReceiveQueue::remove() when they have met.
  virtual void takeOnLoop(const goss_message& found) = 0;
  /// They have not met: undoes takeOnLoop(), if it was called.
  virtual void giveBackOnLoop() = 0;
  /// No message will come: the only rank that it accepts is gone.
  virtual void giveUpOnLoop(const Status& why) = 0;

 protected:
  [[nodiscard]] bool isQueued() const { return queued_; }
  /// When it starts: it was posted now.
  void forgetPlace() {
    place_ = 0;
    source_ = -1;
  }

 private:
  friend class ReceiveQueue;
  bool queued_ = false;
  std::uint64_t place_ = 0; ///< 0: none yet.
  int source_ = -1;         ///< Whose message it was given last: it stays with that rank, while there is one.
};

/// Transports match by peer and tag, and do so as messages come. A receive that names no rank or no tag is therefore
/// none of theirs: it waits here until a message that it accepts has come without a receive (Transport::peek), and is
/// posted for that one. A receive that was posted later, and accepts a message that it accepts, waits behind it, since
/// the transport would give it that message; one that was posted earlier is known to the transport, which does. So
/// messages meet receives as MPI has it (MPI 4.1, 3.5): of two receives that accept a message the one posted first gets
/// it, and of two messages of one rank that a receive accepts it gets the one sent first. Between ranks there is no
/// order; they take turns.
///
/// Of a communicator. Under the engine's lock, and not out of a transport's callback but for remove().
class ReceiveQueue {
 public:
  explicit ReceiveQueue(Communicator& communicator) : communicator_(communicator) {}

  [[nodiscard]] bool isEmpty() const { return entries_.empty(); }
  /// Whether a receive that is posted now must stand here.
  [[nodiscard]] bool holds(const Pattern& receive) const {
    return receive.isWild() || (!entries_.empty() && mustWait(receive, entries_.size()));
  }
  /// At the end; but one that has been here since it started goes to its old place.
  void add(QueuedReceive& receive);
  void remove(QueuedReceive& receive);
  [[nodiscard]] const QueuedReceive* first() const { return entries_.empty() ? nullptr : entries_.front(); }

  /// Gives each, in their order, the message that it gets, and lets those go to the transports that need not wait any
  /// more. Whoever is still here since an earlier call has not met its message yet, and gets it again, or the sender
  /// has taken it back. Not another rank's: those behind it may have got what that rank sent before. To be called after
  /// each progress of the transports. Returns whether anything happened.
  bool sweepOnLoop();
  /// The message that a receive which were posted now, behind all that wait, would get. After sweepOnLoop().
  bool findOnLoop(const Pattern& pattern, goss_message& found) const;
  /// The next message is looked for at this rank first.
  void turnTo(int source) { next_ = source; }

  /// Why no message will come but those that are there: the only rank that it accepts is gone. Else ok.
  [[nodiscard]] Status sourceStatus(const Pattern& pattern) const;
  /// Other ranks whose messages it accepts.
  [[nodiscard]] std::vector<int> sources(const Pattern& pattern) const;

 private:
  [[nodiscard]] bool mustWait(const Pattern& pattern, std::size_t before) const;
  [[nodiscard]] bool isFree(std::size_t index) const;
  [[nodiscard]] bool peekOnLoop(int source, std::int32_t tag, goss_message& found) const;

  Communicator& communicator_;
  std::vector<QueuedReceive*> entries_; ///< As they were posted.
  std::uint64_t places_ = 0;
  int next_ = 0;
};

} // namespace goss::core

#endif // GOSS_LIB_CORE_RECEIVE_QUEUE_H_
