#include "transports/loopback/loopback.h"

#include <algorithm>
#include <utility>

#include "gossamer/config.h"
#include "platform/poller.h"
#include "transports/common/errors.h"
#include "transports/common/local_recvs.h"
#include "transports/loopback/endpoint.h"

namespace goss::transports {

using loopback::Endpoint;
using loopback::Mail;

namespace {

// Above this a second copy costs more than the mail that returns the buffers.
constexpr std::size_t kEagerBytes = 8 * 1024;
// Bytes of eager messages that a sender may have waiting at a receiver; each message counts at least kEagerCost.
constexpr std::size_t kEagerWindowBytes = 1 << 20;
constexpr std::size_t kEagerCost = 256;

std::size_t eagerCost(std::uint64_t bytes) { return kEagerCost + static_cast<std::size_t>(bytes); }

/// Gives all bytes to `sink`. False: the sender has cancelled the message.
bool fetch(const Mail& mail, MessageSink& sink) {
  if (mail.kind == Mail::Kind::eager) {
    sink.deliver({mail.payload.get(), static_cast<std::size_t>(mail.header.bytes)});
    return true;
  }
  return mail.offer->copyTo(sink);
}

bool isTakenBack(const Mail& mail) { return mail.kind == Mail::Kind::offer && mail.offer->isWithdrawn(); }

} // namespace

struct LoopbackTransport::Peer {
  Peer(int peer_rank, Deferred& deferred) : rank(peer_rank), matcher(peer_rank, deferred), recvs(matcher) {}

  const int rank;
  std::shared_ptr<Endpoint> endpoint; ///< Null before connect().
  bool greeted = false;               ///< The peer's hello has come.
  bool is_busy = false;               ///< It is in LoopbackTransport::busy_.
  Status refused;                     ///< Why connect() failed.
  Matcher matcher;
  LocalRecvs<Mail> recvs;

  [[nodiscard]] bool hasWork() const { return matcher.hasWork() || recvs.hasWork(); }
};

LoopbackTransport::LoopbackTransport(const TransportContext& context) : context_(context) {}

void LoopbackTransport::makePeers() {
  std::vector<std::unique_ptr<Peer>> made; // All or none.
  for (int rank = 0; rank < context_.size; ++rank) {
    made.push_back(std::make_unique<Peer>(rank, deferred_));
  }
  peers_ = std::move(made);
}

LoopbackTransport::~LoopbackTransport() {
  for (auto& [operation, offered] : offers_)
    offered->withdraw();
  if (!endpoint_) return;
  endpoint_->close();
  for (auto& to : peers_) {
    if (to->endpoint && to->endpoint != endpoint_) to->endpoint->put({Mail::Kind::goodbye, context_.self, {}, {}, {}});
  }
}

Result<std::string> LoopbackTransport::open() {
  Result<platform::Wakeup> wakeup = platform::Wakeup::create();
  if (!wakeup.isOk()) return wakeup.status();
  endpoint_ = std::make_shared<Endpoint>(context_, wakeup.take());
  return loopback::publish(endpoint_);
}

bool LoopbackTransport::reaches(std::string_view address) const {
  return endpoint_ != nullptr && loopback::isOfThisProcess(address);
}

Status LoopbackTransport::connect(int rank, std::string_view address) {
  Peer& to = peer(rank);
  std::shared_ptr<Endpoint> endpoint = loopback::findEndpoint(address);
  if (!reaches(address)) {
    to.refused = protocolError(rank, "a loopback address that is not of this process");
  } else if (!endpoint) {
    to.refused = peerDepartedError(rank);
  } else if (endpoint->job() != context_.job) {
    to.refused = protocolError(rank, "the address of another world");
  } else if (!endpoint->put({Mail::Kind::hello, context_.self, {}, {}, {}})) {
    to.refused = peerDepartedError(rank);
  } else {
    to.endpoint = std::move(endpoint);
  }
  return to.refused;
}

LinkState LoopbackTransport::link(int rank) const {
  const Peer* to = find(rank);
  if (to == nullptr) return LinkState::connecting;
  if (!to->refused.isOk() || to->matcher.hasFailed()) return LinkState::failed;
  return to->endpoint && to->greeted ? LinkState::ready : LinkState::connecting;
}

Status LoopbackTransport::linkError(int rank) const {
  const Peer* to = find(rank);
  if (to == nullptr) return Status::ok();
  return to->refused.isOk() ? to->matcher.failure() : to->refused;
}

bool LoopbackTransport::send(SendOperation& operation) {
  Peer& to = peer(operation.peer);
  LinkState state = link(to.rank);
  if (state != LinkState::ready) {
    deferred_.add(operation, state == LinkState::failed ? linkError(to.rank) : notConnectedError(to.rank, name()));
    return false;
  }
  to.matcher.statistics().countSent(operation.bytes);
  if (operation.bytes <= kEagerBytes && sendEager(operation, to)) return true;
  offer(operation, to);
  return false;
}

bool LoopbackTransport::sendEager(SendOperation& operation, Peer& to) {
  std::atomic<std::size_t>& waiting = to.endpoint->eagerBytes(context_.self);
  const std::size_t cost = eagerCost(operation.bytes);
  const std::size_t window = std::min(kEagerWindowBytes, context_.config->unexpected_bytes);
  if (waiting.load(std::memory_order_relaxed) + cost > window) return false;
  auto payload = std::make_unique_for_overwrite<std::byte[]>(operation.bytes);
  PieceCursor(operation.pieces).gather({payload.get(), operation.bytes});
  waiting.fetch_add(cost, std::memory_order_relaxed);
  MessageHeader header{operation.tag, operation.bytes, operation.envelope};
  // A peer that has closed has sent its goodbye before; until that is read, messages to the peer are lost as on any
  // wire.
  to.endpoint->put({Mail::Kind::eager, context_.self, header, std::move(payload), {}});
  return true;
}

void LoopbackTransport::offer(SendOperation& operation, Peer& to) {
  auto offered = std::make_shared<Offer>(operation);
  offers_.emplace(&operation, offered);
  MessageHeader header{operation.tag, operation.bytes, operation.envelope};
  // If the peer has closed, its goodbye is in this rank's inbox and will complete the operation.
  to.endpoint->put({Mail::Kind::offer, context_.self, header, {}, std::move(offered)});
}

void LoopbackTransport::recv(RecvOperation& operation) {
  Peer& from = peer(operation.peer);
  if (!from.refused.isOk()) {
    deferred_.add(operation, from.refused);
  } else {
    from.matcher.post(operation);
    noteWork(from);
  }
}

void LoopbackTransport::cancel(SendOperation& operation) {
  deferred_.cancel(operation);
  auto at = offers_.find(&operation);
  if (at == offers_.end()) return;
  at->second->withdraw();
  offers_.erase(at);
  peer(operation.peer).endpoint->put({Mail::Kind::withdrawn, context_.self, {}, {}, {}});
}

void LoopbackTransport::cancel(RecvOperation& operation) {
  deferred_.cancel(operation);
  Peer& from = peer(operation.peer);
  from.matcher.cancel(operation);
  noteWork(from);
}

bool LoopbackTransport::tryLend(Tag loan) {
  endpoint_->loans().lend(loan);
  return true;
}

bool LoopbackTransport::tryTakeBack(Tag loan) { return endpoint_->loans().tryTakeBack(loan); }

bool LoopbackTransport::tryBorrow(int rank, Tag loan) {
  const std::shared_ptr<Endpoint>& endpoint = peer(rank).endpoint;
  return endpoint != nullptr && endpoint->loans().tryBorrow(loan);
}

bool LoopbackTransport::tryGiveBack(int rank, Tag loan) { return peer(rank).endpoint->loans().tryGiveBack(loan); }

bool LoopbackTransport::progress() {
  bool any = deferred_.drain();
  if (endpoint_ && endpoint_->hasMail()) any |= readMails();
  settling_.swap(busy_);
  for (Peer* from : settling_) {
    from->is_busy = false;
    any |= settle(*from);
    noteWork(*from);
  }
  settling_.clear();
  return any;
}

/// Adds the peer to busy_ if it has work. To be called after every change of its messages and receives.
void LoopbackTransport::noteWork(Peer& from) {
  if (from.is_busy || !from.hasWork()) return;
  from.is_busy = true;
  busy_.push_back(&from);
}

bool LoopbackTransport::readMails() {
  endpoint_->take(incoming_);
  for (Mail& mail : incoming_) {
    Peer& from = peer(mail.from);
    handle(from, mail);
    noteWork(from);
  }
  const bool any = !incoming_.empty();
  incoming_.clear();
  return any;
}

bool LoopbackTransport::settle(Peer& from) {
  const bool any = from.matcher.drain();
  const auto over = [&](const Mail& mail) {
    if (mail.kind == Mail::Kind::eager) {
      endpoint_->eagerBytes(from.rank).fetch_sub(eagerCost(mail.header.bytes), std::memory_order_relaxed);
    } else if (from.endpoint) {
      from.endpoint->put({Mail::Kind::taken, context_.self, {}, {}, mail.offer});
    }
  };
  return from.recvs.settle(fetch, over) || any;
}

void LoopbackTransport::handle(Peer& from, Mail& mail) {
  switch (mail.kind) {
    case Mail::Kind::hello:
      from.greeted = true;
      break;
    case Mail::Kind::goodbye:
      losePeer(from, peerDepartedError(from.rank), PeerLoss::departed);
      break;
    case Mail::Kind::eager:
    case Mail::Kind::offer:
      begin(from, mail);
      break;
    case Mail::Kind::taken:
      completeSend(mail.offer);
      break;
    case Mail::Kind::withdrawn:
      from.recvs.withdrawIf(isTakenBack);
      break;
  }
}

void LoopbackTransport::begin(Peer& from, Mail& mail) {
  if (from.matcher.hasFailed() || isTakenBack(mail)) return;
  const MessageHeader header = mail.header;
  if (from.recvs.begin(header, std::move(mail))) {
    settle(from);
    return;
  }
  // Tells the peer, so that no operation there waits for ever.
  if (from.endpoint) from.endpoint->put({Mail::Kind::goodbye, context_.self, {}, {}, {}});
  losePeer(from, memoryError(from.rank), PeerLoss::silent);
}

void LoopbackTransport::completeSend(const std::shared_ptr<Offer>& offered) {
  SendOperation* operation = offered->withdraw();
  if (!operation) return;
  offers_.erase(operation);
  operation->onSent(Status::ok());
}

void LoopbackTransport::losePeer(Peer& from, const Status& status, PeerLoss how) {
  if (from.matcher.hasFailed()) return;
  settle(from);
  from.recvs.withdrawIf(isTakenBack);
  from.recvs.keepAll(fetch);
  from.matcher.fail(status);
  std::vector<SendOperation*> lost;
  for (auto& [operation, offered] : offers_) {
    if (operation->peer == from.rank) lost.push_back(operation);
  }
  for (SendOperation* operation : lost) {
    if (!offers_.contains(operation)) continue; // A callback has cancelled it.
    cancel(*operation);
    operation->onSent(status);
  }
  context_.listener->onPeerLost(from.rank, status, how);
}

bool LoopbackTransport::hasWork() const {
  return !deferred_.empty() || std::ranges::any_of(busy_, [](const Peer* from) { return from->hasWork(); });
}

int LoopbackTransport::pollFd() const { return endpoint_->fd(); }

bool LoopbackTransport::prepareToSleep() { return !hasWork() && endpoint_->prepareToSleep(); }

void LoopbackTransport::sleepEnded() { endpoint_->sleepEnded(); }

void LoopbackTransport::discard(Tag mask, Tag value) {
  for (const auto& from : peers_) {
    from->matcher.discard(mask, value);
    noteWork(*from);
  }
}

bool LoopbackTransport::peek(int rank, Tag mask, Tag value, Arrived& found) const {
  const Peer* from = find(rank);
  return from != nullptr && from->matcher.peek(mask, value, found);
}

PeerStatistics LoopbackTransport::statistics(int rank) const {
  const Peer* of = find(rank);
  return of != nullptr ? of->matcher.statistics() : PeerStatistics();
}

} // namespace goss::transports
