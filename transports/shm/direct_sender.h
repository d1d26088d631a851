/// The sending half of messages that the receiver reads where they lie.
#ifndef GOSS_TRANSPORTS_SHM_DIRECT_SENDER_H_
#define GOSS_TRANSPORTS_SHM_DIRECT_SENDER_H_

#include <array>
#include <vector>

#include "gossamer/message.h"
#include "transports/common/matcher.h"
#include "transports/shm/direct.h"
#include "transports/shm/regions.h"
#include "transports/shm/ring.h"
#include "transports/shm/segment.h"

namespace goss::transports::shm {

/// One peer's. Which messages qualify: see offer(). One thread; only collect() and fail() call back.
class DirectSender {
 public:
  /// Messages of fewer bytes than `least_bytes` are never described; `lends`: lent memory is.
  /// `lending` and `matcher`, which counts replies, outlive this.
  DirectSender(Lending& lending, Matcher& matcher, std::size_t least_bytes, bool lends)
      : lending_(lending), matcher_(matcher), least_bytes_(least_bytes), lends_(lends) {}

  void attach(const Segment& segment, int socket);
  /// A link that is lost: nothing is outstanding any more, and nobody is called.
  void detach();

  enum class Offer {
    unfit,   ///< Through the ring: too short, in memory that the peer cannot read, or no slot free.
    full,    ///< The ring has no room for the description now.
    offered, ///< onSent comes out of collect(), cancel() prevents that.
  };
  /// Writes the description of a message whose bytes all lie in lent memory, or of any message when the peer reads our
  /// address space.
  Offer offer(SendOperation& operation, RingWriter& writer);
  /// Completes what the peer has read. Returns whether it called back.
  bool collect();
  [[nodiscard]] bool hasDone() const;
  [[nodiscard]] bool isOutstanding() const { return outstanding_ != 0; }

  enum class Cancel {
    absent,
    withdrawn,
    beingRead,    ///< The peer does not finish: the link must end.
    beingWritten, ///< The same, and it may still write the reply, for there is no memory to put in the room's place.
  };
  /// Afterwards the operation is not touched again, nor, unless beingWritten, the room of its reply written. A message
  /// that the peer is reading is revoked; at its very end, and while the peer writes a reply, we wait for the peer to
  /// finish, a bounded time.
  Cancel cancel(const SendOperation& operation);
  /// Withdraws all that nobody reads. Returns whether that was all.
  bool withdrawAll();
  /// Completes everything with `status`, calling back; with `stuck` where the peer may still write the reply. `ended`:
  /// it is known to read and write no more.
  void fail(const Status& status, const Status& stuck, bool ended);
  /// The region is gone: the peer may unmap it.
  void forget(std::uint64_t region);

 private:
  struct Entry {
    SendOperation* operation = nullptr; ///< Null: withdrawn, but the peer has not dropped it yet.
    std::vector<std::uint64_t> regions;
    std::span<std::byte> room; ///< Of the reply.
  };

  bool describe(const SendOperation& operation);
  void describeReply(const SendOperation& operation);
  bool lend(const Lending::Region& region);
  Cancel takeBack(std::size_t slot);
  void letGo(Entry& entry);
  void retire(std::size_t slot);
  [[nodiscard]] std::size_t freeSlot() const;
  [[nodiscard]] std::atomic<DirectState>& state(std::size_t slot) const { return side_->direct[slot].state; }

  Lending& lending_;
  Matcher& matcher_;
  const std::size_t least_bytes_;
  const bool lends_;
  SideControl* side_ = nullptr;
  const SideControl* their_side_ = nullptr;
  int socket_ = -1;
  std::array<Entry, kDirectSlots> entries_;
  std::uint32_t outstanding_ = 0;        ///< Bits of slots that are not free.
  std::vector<std::uint64_t> lent_;      ///< Regions that the peer knows.
  std::vector<std::uint64_t> to_forget_; ///< The socket was full.
  DirectMessage message_;
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_DIRECT_SENDER_H_
