/// An optional part of the transport seam: memory that a rank writes and its peers on the same host read.
///
/// It serves messages so small that matching and queueing would cost more than moving them. A transport provides raw
/// memory and a wake-up; lib/boards decides what is written where, and how readers know that it is complete
/// (lib/boards/board_channel.h).
#ifndef GOSSAMER_BOARD_H_
#define GOSSAMER_BOARD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace goss {

/// After this time the writes of every processor are visible to all others.
inline constexpr std::chrono::milliseconds kBoardGrace(1);

/// Bytes of a lane in which only the slots of lib/boards lie; a longer lane has as many for them.
inline constexpr std::size_t kBoardSlotsBytes = 36 * 1024;

/// A rank's board is cut into lanes, which are zero at first and aligned to 64 bytes. One thread at a time calls a
/// board, as it does the transport. Any thread may read and write memory that the board handed out as long as the
/// transport lives, also after the peer has died or left.
class Board {
 public:
  virtual ~Board() = default;
  [[nodiscard]] virtual std::uint32_t lanes() const = 0;
  /// Bytes of a lane; the same on all ranks.
  [[nodiscard]] virtual std::size_t laneBytes(std::uint32_t lane) const = 0;
  /// This rank's lane, which its peers read. `lane` < lanes().
  [[nodiscard]] virtual std::byte* mine(std::uint32_t lane) = 0;
  /// `peer`'s lane (a world rank); nullptr when this rank does not see the peer's board. All transports of a kind see
  /// each other's boards once their link is ready.
  [[nodiscard]] virtual const std::byte* of(int peer, std::uint32_t lane) const = 0;
  /// Wakes those of `peers` (world ranks) that sleep (Transport::prepareToSleep). A call costs little when no peer
  /// sleeps: no system call, and no fence, which would wait for the cache lines that other processors hold. Therefore a
  /// peer that looks at this board between its prepareToSleep() and its sleep may miss both the new bytes and the
  /// wake-up: it looks again after kBoardGrace, before it sleeps for longer, with its sleep still announced.
  virtual void wake(std::span<const int> peers) = 0;
};

} // namespace goss

#endif // GOSSAMER_BOARD_H_
