/// What a rank knows of one peer of its host, with or without a link.
#ifndef GOSS_TRANSPORTS_SHM_PEER_ENTRY_H_
#define GOSS_TRANSPORTS_SHM_PEER_ENTRY_H_

#include <optional>

#include "platform/clock.h"
#include "platform/fd.h"
#include "transports/common/operation_list.h"
#include "transports/shm/peer.h"

namespace goss::transports::shm {

/// A call that the peer has not answered.
struct OwnCall {
  platform::UniqueFd socket;
  Segment segment;            ///< Not valid: the call is for the peer's board.
  platform::UniqueFd process; ///< Readable when the peer's process has ended, even if a child keeps its sockets.

  /// Says goodbye to a peer that may have taken the call.
  void leave(std::uint32_t goodbye) const {
    if (segment.valid()) segment.mySide().goodbye.store(goodbye, std::memory_order_release);
  }
};

/// One thread.
struct PeerEntry {
  PeerEntry(int number, const PeerOptions& options, Lending& lending, Deferred& deferred)
      : rank(number), peer(number, options, lending, deferred) {}

  const int rank;
  Peer peer;
  platform::UniqueFd process; ///< Readable when the peer's process has ended.
  bool asked = false;         ///< connect() or prepare() was called.
  bool on_use = false;        ///< It was prepare().
  bool lost = false;
  bool absent = false; ///< It is lost because its process did not answer a call.
  bool needed = false; ///< The link is to be made.
  bool wants_board = false;
  bool active = false;       ///< The transport looks at it in each turn.
  bool queued = false;       ///< It is to be called.
  int calls = 0;             ///< Calls that the peer has closed without an answer.
  platform::Deadline redial; ///< No call before this, unless it is never().
  std::optional<OwnCall> call;
  OperationList<SendOperation> kept; ///< Messages for a link that is not ready.
  Status error;                      ///< Why the link failed.

  [[nodiscard]] bool ready() const { return asked && !lost && peer.attached(); }
  [[nodiscard]] bool open() const { return ready() && !peer.end().isLeaving() && !peer.end().isOver(); }
  [[nodiscard]] bool over() const { return lost || peer.end().isOver(); }
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_PEER_ENTRY_H_
