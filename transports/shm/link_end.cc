#include "transports/shm/link_end.h"

#include "transports/common/errors.h"
#include "transports/common/process_identity.h"
#include "transports/shm/segment.h"

namespace goss::transports::shm {

void LinkEnd::socketEnded(std::uint32_t said) {
  socket_ended_ = true;
  departed_ = said == kLeaves;
  given_up_ = said == kGivesUp;
}

Status LinkEnd::whyLeaving(int rank) const {
  if (departed_) return peerDepartedError(rank);
  return peerLostError(rank, given_up_ ? "it has given up the link to this rank" : "its process ended");
}

PeerLoss LinkEnd::loss(int process) const {
  if (departed_) return PeerLoss::departed;
  if (socket_ended_) return given_up_ ? PeerLoss::silent : PeerLoss::ended;
  return unreadable_ ? lossOf(reason_, process) : PeerLoss::silent;
}

} // namespace goss::transports::shm
