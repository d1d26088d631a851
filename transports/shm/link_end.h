/// How the link to a peer ends, and why.
#ifndef GOSS_TRANSPORTS_SHM_LINK_END_H_
#define GOSS_TRANSPORTS_SHM_LINK_END_H_

#include <cstdint>

#include "gossamer/transport.h"

namespace goss::transports::shm {

/// First the other side may be leaving: the socket has ended, and what it wrote before is still read. Then the link is
/// over, for the first reason that is told. One thread.
class LinkEnd {
 public:
  /// The other process closed the socket or died; `said` is its goodbye in the segment.
  void socketEnded(std::uint32_t said);
  /// Whether the other side takes no more messages, though some of its own may still wait here.
  [[nodiscard]] bool isLeaving() const { return socket_ended_; }
  /// While it is leaving: it said goodbye, and what it wrote before counts.
  [[nodiscard]] bool hasDeparted() const { return departed_; }
  /// Why the peer of this rank is leaving.
  [[nodiscard]] Status whyLeaving(int rank) const;

  /// The link is over for `reason`.
  void breakOff(const Status& reason) {
    if (!isOver()) reason_ = reason;
  }
  /// The other side's memory cannot be read: perhaps its process has ended.
  void setUnreadable() { unreadable_ = true; }
  [[nodiscard]] bool isOver() const { return !reason_.isOk(); }
  [[nodiscard]] const Status& reason() const { return reason_; }
  /// How the peer was lost, once the link is over. `process` is readable when the peer's process has ended (-1: it is
  /// not watched).
  [[nodiscard]] PeerLoss loss(int process) const;

 private:
  bool socket_ended_ = false;
  bool departed_ = false;
  bool given_up_ = false;   ///< The other side has given the link up, but lives.
  bool unreadable_ = false; ///< The other side's memory cannot be read.
  Status reason_;
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_LINK_END_H_
