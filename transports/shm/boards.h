/// The boards of the ranks of a host, as one of them sees them.
#ifndef GOSS_TRANSPORTS_SHM_BOARDS_H_
#define GOSS_TRANSPORTS_SHM_BOARDS_H_

#include <functional>
#include <string>
#include <vector>

#include "gossamer/board.h"
#include "platform/fd.h"
#include "platform/poller.h"
#include "transports/shm/board_memory.h"
#include "transports/shm/rendezvous.h"

namespace goss::transports::shm {

/// Boards need no links: a rank maps the board of a peer when it first reads it, which it takes out of the peer's
/// process itself or, where it may not, asks the peer for. A rank says in the head of its own board that it sleeps, and
/// is woken by a datagram at an abstract address beside that where it listens. The boards of lost peers stay mapped,
/// because this rank may still read their last bytes. One thread.
class Boards final : public Board {
 public:
  /// `want` is called for a peer that is to be asked for its board, again and again; attach() follows, or the peer is
  /// lost.
  Boards(int ranks, std::function<void(int peer)> want);

  /// Makes the own board, and the bell of the rank that listens at `name`, which `poller` reports with `token`. Errors:
  /// resource.
  Status open(const std::string& name, platform::Poller& poller, std::uint64_t token);
  void introduce(int peer, const ShmAddress& address) { peers_[static_cast<std::size_t>(peer)].address = address; }
  /// The name at which the peer listens.
  [[nodiscard]] const std::string& nameOf(int peer) const {
    return peers_[static_cast<std::size_t>(peer)].address.name;
  }
  /// Maps the peer's board, unless that is done. Errors: as BoardMemory::attach.
  Status attach(int peer, platform::UniqueFd fd);
  [[nodiscard]] bool has(int peer) const { return peers_[static_cast<std::size_t>(peer)].memory.valid(); }
  /// The own board's descriptor.
  [[nodiscard]] int fd() const { return own_.fd(); }

  /// As Doorbell's: peers that write wake this rank.
  void announceSleep() { own_.sleeping().store(1, std::memory_order_seq_cst); }
  void sleepEnded() { own_.sleeping().store(0, std::memory_order_relaxed); }
  /// Takes the datagrams that have woken this rank.
  void drainBell();

  [[nodiscard]] std::uint32_t lanes() const override { return BoardMemory::kLanes; }
  [[nodiscard]] std::size_t laneBytes(std::uint32_t lane) const override { return BoardMemory::laneBytes(lane); }
  [[nodiscard]] std::byte* mine(std::uint32_t lane) override { return own_.lane(lane); }
  [[nodiscard]] bool reaches(int peer) const override { return !nameOf(peer).empty() || has(peer); }
  [[nodiscard]] const std::byte* of(int peer, std::uint32_t lane) override;
  void wake(std::span<const int> peers) override;

 private:
  struct Peer {
    BoardMemory memory;
    ShmAddress address; ///< Its host is not kept.
    bool was_sought = false;
  };
  std::function<void(int)> want_;
  BoardMemory own_;
  platform::UniqueFd bell_;
  std::vector<Peer> peers_; ///< By rank.
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_BOARDS_H_
