/// The memory of a board: one process writes it, and its peers read it.
#ifndef GOSS_TRANSPORTS_SHM_BOARD_MEMORY_H_
#define GOSS_TRANSPORTS_SHM_BOARD_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "gossamer/board.h"
#include "gossamer/status.h"
#include "platform/fd.h"

namespace goss::transports::shm {

/// One mapping of a memfd that never changes its size: a head, which peers write too, and the lanes. Pages that nobody
/// touches cost nothing. Movable. The object is not thread-safe; its users synchronise access to the memory.
class BoardMemory {
 public:
  static constexpr std::uint32_t kLanes = 256;
  /// The first lanes, which are longer than the caches of a core (BoardChannel).
  static constexpr std::uint32_t kWideLanes = 4;
  static constexpr std::size_t kWideLaneBytes = kBoardSlotsBytes + 2048 * 1024;
  /// The largest pages of known architectures have so many bytes.
  static constexpr std::size_t kHeadBytes = 64 * 1024;
  static constexpr std::size_t kBytes =
      kHeadBytes + kWideLanes * kWideLaneBytes + (kLanes - kWideLanes) * kBoardSlotsBytes;

  /// Makes the board of the rank that listens at `name`. Errors: resource.
  static Result<BoardMemory> create(const std::string& name);
  /// Maps a peer's board, its lanes for reading. Errors: resource, or protocol when the descriptor is not a sealed
  /// board (the peer could truncate an unsealed one, and reading it would then kill this process).
  static Result<BoardMemory> attach(platform::UniqueFd fd, int peer);

  /// Opens the board of the rank that listens at `name` out of its process; invalid where this process may not, or
  /// numbers processes otherwise (a PID namespace), or the other one has ended.
  static platform::UniqueFd find(std::int64_t process, int fd, const std::string& name);

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
    return base_ + kHeadBytes + wide * kWideLaneBytes + (index - wide) * kBoardSlotsBytes;
  }
  /// 1: the owner sleeps, and the rank that sets it to 0 is to wake it.
  [[nodiscard]] std::atomic<std::uint32_t>& sleeping() const {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(base_);
  }
  /// The descriptor of this rank's own board, to be passed to peers; -1 for a peer's board.
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Status map(bool own);

  platform::UniqueFd fd_;
  std::byte* base_ = nullptr;
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_BOARD_MEMORY_H_
