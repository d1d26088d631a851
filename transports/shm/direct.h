/// How a message is described instead of being copied through the ring: the receiver reads it in the sender's memory.
#ifndef GOSS_TRANSPORTS_SHM_DIRECT_H_
#define GOSS_TRANSPORTS_SHM_DIRECT_H_

#include <cstddef>
#include <cstdint>

namespace goss::transports::shm {

/// Messages of one side that may be described and unread at a time; further ones go through the ring.
inline constexpr std::size_t kDirectSlots = 16;
inline constexpr std::size_t kMaxDirectPieces = 64;

/// States of a slot. The sender writes offered, withdrawn, revoked, recalled and free; the receiver writes taken,
/// ending, done and replied, and revoked where it finds recalled.
///
///     free       the sender describes a message        offered
///     offered    the receiver begins to read           taken
///     offered    the sender cancels                    withdrawn
///     taken      the sender cancels                    revoked
///     taken      the last window is to be read, or     ending
///                one to be read and replied to
///     ending     the sender cancels                    recalled   (and waits for the end of the window)
///     ending     the window is over, but not the last  taken
///     recalled   the same                              revoked
///     recalled   the receiver has read all             done, replied
///     ending     the receiver has read all             done
///     ending     it has, and has written the reply     replied
///     revoked    the receiver stops reading            done       (its receive waits for another message)
///     withdrawn  the receiver drops the description    done
///     done       the sender completes its operation    free
///     replied    the same                              free
///
/// So the receiver never writes a reply into memory whose message was cancelled: the sender either finds the slot
/// taken, and then the receiver begins no further window, or waits until the current window is over. If that takes too
/// long, the sender replaces its pages (LentRegions::replacePages), and the link ends.
enum class DirectState : std::uint32_t {
  free = 0,
  offered = 1,
  taken = 2,
  done = 3,
  withdrawn = 4,
  revoked = 5,
  ending = 6,
  replied = 7,
  recalled = 8
};

/// A run of bytes in a region that the sender has lent, or (region 0) in its address space.
struct DirectPiece {
  std::uint64_t region;
  std::uint64_t at; ///< Offset in the region, or address.
  std::uint64_t bytes;
};
inline constexpr std::uint64_t kAddressSpace = 0;

/// The payload of a record of kind `direct`.
struct DirectMessage {
  std::uint64_t slot;
  std::uint64_t reply_tag;
  /// Where the message with that tag may be written; no bytes: nowhere. It is never an address, and a message with a
  /// reply has no piece in the address space.
  DirectPiece reply;
  std::uint64_t piece_count;
  DirectPiece pieces[kMaxDirectPieces];

  static constexpr std::size_t bytesFor(std::size_t pieces) { return 24 + (pieces + 1) * sizeof(DirectPiece); }
};
static_assert(sizeof(DirectMessage) == DirectMessage::bytesFor(kMaxDirectPieces));

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_DIRECT_H_
