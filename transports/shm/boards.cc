#include "transports/shm/boards.h"

#include <utility>

namespace goss::transports::shm {

Boards::Boards(int ranks, std::function<void(int)> want)
    : want_(std::move(want)), peers_(static_cast<std::size_t>(ranks)) {}

Status Boards::open(const std::string& name, platform::Poller& poller, std::uint64_t token) {
  Result<BoardMemory> board = BoardMemory::create(name);
  if (!board.isOk()) return board.status();
  own_ = board.take();
  Result<platform::UniqueFd> bell = makeBell(name);
  if (!bell.isOk()) return bell.status();
  bell_ = bell.take();
  return poller.add(bell_.get(), true, false, token);
}

Status Boards::attach(int peer, platform::UniqueFd fd) {
  if (has(peer)) return Status::ok();
  Result<BoardMemory> memory = BoardMemory::attach(std::move(fd), peer);
  if (!memory.isOk()) return memory.status();
  peers_[static_cast<std::size_t>(peer)].memory = memory.take();
  return Status::ok();
}

const std::byte* Boards::of(int peer, std::uint32_t lane) {
  Peer& from = peers_[static_cast<std::size_t>(peer)];
  if (!has(peer) && !std::exchange(from.was_sought, true)) {
    platform::UniqueFd found = BoardMemory::find(from.address.process, from.address.board, from.address.name);
    if (found.valid()) static_cast<void>(attach(peer, std::move(found)));
  }
  if (has(peer)) return from.memory.lane(lane);
  want_(peer);
  return nullptr;
}

void Boards::wake(std::span<const int> peers) {
  for (const int peer : peers) {
    const Peer& to = peers_[static_cast<std::size_t>(peer)];
    if (!to.memory.valid()) continue;
    std::atomic<std::uint32_t>& sleeping = to.memory.sleeping();
    if (sleeping.load(std::memory_order_seq_cst) == 0 || sleeping.exchange(0, std::memory_order_seq_cst) == 0) continue;
    ringBell(bell_.get(), to.address.name);
  }
}

void Boards::drainBell() { emptyBell(bell_.get()); }

} // namespace goss::transports::shm
