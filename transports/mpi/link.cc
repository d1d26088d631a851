#include "transports/mpi/link.h"

#include "transports/common/errors.h"

namespace goss::transports::mpi {

LinkState Link::state() const {
  if (!error().isOk()) return LinkState::failed;
  return inbox_.greeted() ? LinkState::ready : LinkState::connecting;
}

void Link::endWith(const Status& why) {
  if (why_.isOk() && !inbox_.departed()) why_ = why;
}

void Link::doomDead() {
  dead_ = true;
  endWith(peerLostError(peer(), "its process has died"));
}

void Link::open(MPI_Comm comm, const std::array<std::byte, 16>& job) {
  opened_ = true;
  inbox_.open(comm, job);
  outbox_.open(comm, job);
}

bool Link::run() {
  if (!opened_) return false;
  if (matcher_.hasFailed()) { // Messages that came whole can still be received.
    outbox_.reap();
    inbox_.drop();
    return matcher_.drain();
  }
  if (hasEnded()) return true;
  bool any = matcher_.hasWork() && matcher_.drain();
  any = inbox_.run() || any;
  any = recvs_.settle() || any;
  outbox_.tellOf(recvs_);
  if (!hasEnded()) any = outbox_.run() || any;
  if (!inbox_.trouble().isOk()) endWith(inbox_.trouble());
  if (!outbox_.trouble().isOk()) endWith(outbox_.trouble());
  return any || hasEnded();
}

bool Link::hasWork() const {
  if (hasEnded() || matcher_.hasWork()) return true;
  return opened_ && !matcher_.hasFailed() && (recvs_.hasWork() || outbox_.hasWork());
}

Status Link::end() {
  Status why = departed() ? peerDepartedError(peer()) : why_;
  if (opened_ && !dead_) outbox_.end(departed() ? FrameHeader::Kind::goodbye : FrameHeader::Kind::broken);
  death_fd_.reset();
  matcher_.fail(why);
  outbox_.fail(why);
  return why;
}

bool Link::close() {
  if (!opened_ || dead_) return true;
  outbox_.reap();
  inbox_.drop();
  outbox_.end(FrameHeader::Kind::goodbye);
  return outbox_.isReceived() && inbox_.hasEnded();
}

bool Link::giveUp() {
  if (!opened_) return true;
  const bool received = inbox_.close();
  return received && outbox_.isReceived();
}

} // namespace goss::transports::mpi
