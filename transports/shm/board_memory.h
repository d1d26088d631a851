/// The memory of a board: one process writes it, and its peers read it.
#ifndef GOSS_TRANSPORTS_SHM_BOARD_MEMORY_H_
#define GOSS_TRANSPORTS_SHM_BOARD_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "gossamer/board.h"
#include "gossamer/status.h"
#include "platform/fd.h"

namespace goss::transports::shm {

/// One mapping of a memfd that never changes its size; pages that nobody touches cost nothing. Movable. The object is
/// not thread-safe; its users synchronise access to the memory.
class BoardMemory {
 public:
  static constexpr std::uint32_t kLanes = 256;
  /// The first lanes, which are longer than the caches of a core (BoardChannel).
  static constexpr std::uint32_t kWideLanes = 4;
  static constexpr std::size_t kWideLaneBytes = kBoardSlotsBytes + 2048 * 1024;
  static constexpr std::size_t kBytes = kWideLanes * kWideLaneBytes + (kLanes - kWideLanes) * kBoardSlotsBytes;

  /// Makes this rank's board. Errors: resource.
  static Result<BoardMemory> create();
  /// Maps a peer's board for reading. Errors: resource, or protocol when the descriptor is not a sealed board (the peer
  /// could truncate an unsealed one, and reading it would then kill this process).
  static Result<BoardMemory> attach(platform::UniqueFd fd, int peer);

  BoardMemory() = default;
  ~BoardMemory();
  BoardMemory(BoardMemory&& other) noexcept;
  BoardMemory& operator=(BoardMemory&& other) noexcept;
  BoardMemory(const BoardMemory&) = delete;
  BoardMemory& operator=(const BoardMemory&) = delete;

  [[nodiscard]] bool valid() const { return base_ != nullptr; }
  [[nodiscard]] static constexpr std::size_t laneBytes(std::uint32_t index) {
    return index < kWideLanes ? kWideLaneBytes : kBoardSlotsBytes;
  }
  [[nodiscard]] std::byte* lane(std::uint32_t index) const {
    const std::uint32_t wide = index < kWideLanes ? index : kWideLanes;
    return base_ + wide * kWideLaneBytes + (index - wide) * kBoardSlotsBytes;
  }
  /// The descriptor of this rank's own board, to be passed to peers; -1 for a peer's board.
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Status map(int protection);

  platform::UniqueFd fd_;
  std::byte* base_ = nullptr;
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_BOARD_MEMORY_H_
