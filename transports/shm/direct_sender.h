/// The sending half of messages that the receiver reads in the sender's memory.
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

/// Describes messages to one peer, which reads them in this process's memory; offer() says which messages qualify. One
/// thread; only collect() and fail() call back.
class DirectSender {
 public:
  /// Messages of fewer bytes than `least_bytes` are never described. `lends`: messages in lent memory are. `lending`,
  /// and `matcher`, which counts replies, outlive this object.
  DirectSender(LentRegions& lending, Matcher& matcher, std::size_t least_bytes, bool lends)
      : lending_(lending), matcher_(matcher), least_bytes_(least_bytes), lends_(lends) {}

  void attach(const Segment& segment, int socket);
  /// Forgets all messages of a link that is lost, without calling back.
  void detach();

  enum class Offer {
    /// The message goes through the ring: it is too short, in memory that the peer cannot read, or no slot is free.
    unfit,
    full,    ///< The ring has no space for the description now.
    offered, ///< onSent comes out of collect(), cancel() prevents that.
  };
  /// Writes the description of a message whose bytes all lie in lent memory, or of one that the peer reads in this
  /// process's address space (SideControl::reads_addresses), where others can read it. `is_far`: as
  /// RingWriter::isFar().
  Offer offer(SendOperation& operation, RingWriter& writer, bool is_far);
  /// Completes the messages that the peer has read. Returns whether it called back.
  bool collect();
  [[nodiscard]] bool hasDone() const;
  [[nodiscard]] bool isOutstanding() const { return outstanding_ != 0; }

  enum class Cancel {
    absent,       ///< The operation is none of this object's.
    withdrawn,    ///< The peer does not read the message.
    beingRead,    ///< The peer does not finish reading: the link must end.
    beingWritten, ///< As beingRead, and the peer may still write the reply, because no pages can replace the buffer's.
  };
  /// Afterwards the operation is not touched again, nor, unless beingWritten, is its reply buffer written. A message
  /// that the peer is reading is revoked; at its very end, and while the peer writes a reply, the call waits for the
  /// peer to finish, a bounded time.
  Cancel cancel(const SendOperation& operation);
  /// Withdraws all messages that the peer does not read. Returns whether those were all.
  bool withdrawAll();
  /// Completes all operations with `status`, calling back; with `stuck` where the peer may still write the reply.
  /// `ended`: the peer is known to read and write no more.
  void fail(const Status& status, const Status& stuck, bool ended);
  /// The region is removed: the peer may unmap it, and is told so as soon as its socket has space.
  void forget(std::uint64_t region);
  /// Tells the peer of forgotten regions for which its socket had no space.
  void tellForgotten();

 private:
  struct Entry {
    SendOperation* operation = nullptr; ///< Null: the message is withdrawn, but the peer has not dropped it yet.
    std::vector<std::uint64_t> regions;
    std::span<std::byte> reply_buffer;
  };

  bool describe(const SendOperation& operation, bool is_far);
  [[nodiscard]] bool isForAddresses(const SendOperation& operation, bool is_far) const;
  void describeReply(const SendOperation& operation);
  bool lend(const LentRegions::Region& region);
  Cancel takeBack(std::size_t slot);
  void letGo(Entry& entry);
  void retire(std::size_t slot);
  [[nodiscard]] std::size_t freeSlot() const;
  [[nodiscard]] std::atomic<DirectState>& state(std::size_t slot) const { return side_->direct[slot].state; }

  LentRegions& lending_;
  Matcher& matcher_;
  const std::size_t least_bytes_;
  const bool lends_;
  SideControl* side_ = nullptr;
  const SideControl* their_side_ = nullptr;
  int socket_ = -1;
  std::array<Entry, kDirectSlots> entries_;
  std::uint32_t outstanding_ = 0;        ///< Bit map of slots that are not free.
  std::vector<std::uint64_t> lent_;      ///< Regions that the peer knows.
  std::vector<std::uint64_t> to_forget_; ///< Regions to forget, which did not fit into the socket.
  DirectMessage message_;
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_DIRECT_SENDER_H_
