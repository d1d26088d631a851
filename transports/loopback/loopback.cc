#include "transports/loopback/loopback.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gossamer/config.h"
#include "platform/poller.h"
#include "transports/common/errors.h"
#include "transports/loopback/endpoint.h"

namespace goss::transports {

using loopback::Endpoint;
using loopback::Mail;
using loopback::Offer;

namespace {

// Above this a second copy costs more than the mail that says that the buffers are free again.
constexpr std::size_t kEagerBytes = 8 * 1024;
// Eager bytes that a sender may have waiting at a receiver that does not read; each message counts at least kEagerCost.
constexpr std::size_t kEagerWindowBytes = 1 << 20;
constexpr std::size_t kEagerCost = 256;
// Prices for the planner, measured between two threads of one desktop processor.
constexpr double kLatency_s = 0.5e-6;
constexpr double kBandwidth_bytes_per_s = 10e9;

std::size_t eagerCost(std::uint64_t bytes) { return kEagerCost + static_cast<std::size_t>(bytes); }

} // namespace

struct LoopbackTransport::Peer {
  Peer(int peer_rank, std::size_t unexpected_limit, Deferred& deferred)
      : rank(peer_rank), matcher(peer_rank, unexpected_limit, deferred), inflow(matcher) {}

  const int rank;
  std::shared_ptr<Endpoint> endpoint; ///< Null before connect().
  bool greeted = false;               ///< Its hello came.
  Status refused;                     ///< Why connect() failed.
  std::deque<Mail> mails;             ///< In order; the first may be stalled.
  bool retry = false;                 ///< A stalled message may have been withdrawn.
  Matcher matcher;
  Inflow inflow;

  [[nodiscard]] bool hasWork() const { return matcher.hasWork() || (!mails.empty() && (retry || !inflow.isStalled())); }
};

LoopbackTransport::LoopbackTransport(const TransportContext& context) : context_(context) {
  capabilities_.same_host_only = capabilities_.same_process_only = true;
  capabilities_.latency_s = kLatency_s;
  capabilities_.bandwidth_bytes_per_s = kBandwidth_bytes_per_s;
  for (int rank = 0; rank < context.size; ++rank) {
    peers_.push_back(std::make_unique<Peer>(rank, context.config->unexpected_bytes, deferred_));
  }
}

LoopbackTransport::~LoopbackTransport() {
  for (auto& [operation, offered] : offers_) {
    std::lock_guard lock(offered->mutex);
    offered->operation = nullptr;
  }
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
  return loopback::encodeAddress(*endpoint_);
}

bool LoopbackTransport::reaches(std::string_view address) const { return loopback::isOfThisProcess(address); }

Status LoopbackTransport::connect(int rank, std::string_view address) {
  Peer& to = peer(rank);
  std::shared_ptr<Endpoint> endpoint = loopback::resolveAddress(address);
  if (!endpoint) {
    to.refused = protocolError(rank, "a loopback address that is not of this process");
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
  const Peer& to = peer(rank);
  if (!to.refused.isOk() || to.matcher.hasFailed()) return LinkState::failed;
  return to.endpoint && to.greeted ? LinkState::ready : LinkState::connecting;
}

Status LoopbackTransport::linkError(int rank) const {
  const Peer& to = peer(rank);
  return to.refused.isOk() ? to.matcher.failure() : to.refused;
}

bool LoopbackTransport::send(SendOperation& operation) {
  Peer& to = peer(operation.peer);
  LinkState state = link(to.rank);
  if (state != LinkState::ready) {
    deferred_.add(operation, state == LinkState::failed ? linkError(to.rank) : notConnectedError(to.rank, name()));
    return false;
  }
  ++to.matcher.statistics().messages_sent;
  to.matcher.statistics().bytes_sent += operation.bytes;
  if (operation.bytes <= kEagerBytes && sendEager(operation, to)) return true;
  offer(operation, to);
  return false;
}

bool LoopbackTransport::sendEager(SendOperation& operation, Peer& to) {
  std::atomic<std::size_t>& waiting = to.endpoint->eagerBytes(context_.self);
  const std::size_t cost = eagerCost(operation.bytes);
  if (waiting.load(std::memory_order_relaxed) + cost > kEagerWindowBytes) return false;
  auto payload = std::make_unique_for_overwrite<std::byte[]>(operation.bytes);
  PieceCursor(operation.pieces).gather({payload.get(), operation.bytes});
  waiting.fetch_add(cost, std::memory_order_relaxed);
  MessageHeader header{operation.tag, operation.bytes, operation.envelope};
  // A peer that has closed sent its goodbye before; until that is read, messages to it are lost as on any wire.
  to.endpoint->put({Mail::Kind::eager, context_.self, header, std::move(payload), {}});
  return true;
}

void LoopbackTransport::offer(SendOperation& operation, Peer& to) {
  auto offered = std::make_shared<Offer>();
  offered->operation = &operation;
  offers_.emplace(&operation, offered);
  MessageHeader header{operation.tag, operation.bytes, operation.envelope};
  // If the peer has closed, its goodbye is in our inbox and will complete the operation.
  to.endpoint->put({Mail::Kind::offer, context_.self, header, {}, std::move(offered)});
}

void LoopbackTransport::recv(RecvOperation& operation) {
  Peer& from = peer(operation.peer);
  if (!from.refused.isOk()) {
    deferred_.add(operation, from.refused);
  } else {
    from.matcher.post(operation);
  }
}

void LoopbackTransport::cancel(SendOperation& operation) {
  deferred_.cancel(operation);
  auto at = offers_.find(&operation);
  if (at == offers_.end()) return;
  {
    std::lock_guard lock(at->second->mutex);
    at->second->operation = nullptr;
  }
  offers_.erase(at);
  peer(operation.peer).endpoint->put({Mail::Kind::withdrawn, context_.self, {}, {}, {}});
}

void LoopbackTransport::cancel(RecvOperation& operation) {
  deferred_.cancel(operation);
  peer(operation.peer).matcher.cancel(operation);
}

bool LoopbackTransport::progress() {
  bool any = deferred_.drain();
  if (endpoint_ && endpoint_->hasMail()) any |= sortMail();
  for (auto& from : peers_) {
    if (from->hasWork()) any |= handleMails(*from);
  }
  return any;
}

bool LoopbackTransport::sortMail() {
  endpoint_->take(incoming_);
  for (Mail& mail : incoming_) {
    // What frees a sender's buffers must not queue behind a stalled message.
    if (mail.kind == Mail::Kind::taken) {
      completeSend(mail.offer);
      continue;
    }
    Peer& from = peer(mail.from);
    from.retry |= mail.kind == Mail::Kind::withdrawn || mail.kind == Mail::Kind::goodbye;
    if (mail.kind != Mail::Kind::withdrawn) from.mails.push_back(std::move(mail));
  }
  bool any = !incoming_.empty();
  incoming_.clear();
  return any;
}

bool LoopbackTransport::handleMails(Peer& from) {
  bool any = from.matcher.drain();
  from.retry = false;
  while (!from.mails.empty()) {
    if (!handle(from, from.mails.front())) break;
    from.mails.pop_front();
    any = true;
  }
  return any;
}

bool LoopbackTransport::handle(Peer& from, Mail& mail) {
  switch (mail.kind) {
    case Mail::Kind::hello:
      from.greeted = true;
      return true;
    case Mail::Kind::goodbye:
      losePeer(from, peerDepartedError(from.rank));
      return true;
    case Mail::Kind::eager:
      if (!from.inflow.begin(mail.header)) return false;
      endpoint_->eagerBytes(from.rank).fetch_sub(eagerCost(mail.header.bytes), std::memory_order_relaxed);
      from.inflow.deliver({mail.payload.get(), static_cast<std::size_t>(mail.header.bytes)});
      return true;
    case Mail::Kind::offer:
      return copyOffer(from, mail);
    case Mail::Kind::taken:
    case Mail::Kind::withdrawn:
      break; // sortMail() saw to them.
  }
  return true;
}

bool LoopbackTransport::copyOffer(Peer& from, Mail& mail) {
  {
    std::lock_guard lock(mail.offer->mutex);
    if (!mail.offer->operation) { // Withdrawn before it was matched: as if never sent.
      from.matcher.forgetRefused();
      return true;
    }
  }
  if (!from.inflow.begin(mail.header)) return false;
  std::byte last{};
  bool withdrawn = false;
  if (mail.header.bytes > 0) {
    std::lock_guard lock(mail.offer->mutex);
    SendOperation* operation = mail.offer->operation;
    withdrawn = operation == nullptr;
    std::uint64_t left = mail.header.bytes - 1;
    // The last byte completes the receive. That callback may cancel operations, which takes the locks of other
    // offers, so it must not run under this one.
    for (std::size_t i = 0; !withdrawn && i < operation->pieces.size(); ++i) {
      const iovec& piece = operation->pieces[i];
      const auto* bytes = static_cast<const std::byte*>(piece.iov_base);
      std::size_t step = static_cast<std::size_t>(std::min<std::uint64_t>(piece.iov_len, left));
      from.inflow.deliver({bytes, step});
      left -= step;
      if (piece.iov_len > 0) last = bytes[piece.iov_len - 1];
    }
  }
  if (withdrawn) {
    // Between the two locks: as if never sent, and whoever it has met waits for the next one.
    from.inflow.waits() ? from.inflow.revoke() : from.inflow.restart();
    return true;
  }
  if (mail.header.bytes > 0) from.inflow.deliver({&last, 1});
  if (from.endpoint) from.endpoint->put({Mail::Kind::taken, context_.self, {}, {}, mail.offer});
  return true;
}

void LoopbackTransport::completeSend(const std::shared_ptr<Offer>& offered) {
  SendOperation* operation = offered->operation; // Written by this thread alone.
  if (!operation) return;
  offers_.erase(operation);
  offered->operation = nullptr;
  operation->onSent(Status::ok());
}

void LoopbackTransport::losePeer(Peer& from, const Status& status) {
  if (from.matcher.hasFailed()) return;
  from.matcher.fail(status);
  std::vector<SendOperation*> lost;
  for (auto& [operation, offered] : offers_) {
    if (operation->peer == from.rank) lost.push_back(operation);
  }
  for (SendOperation* operation : lost) {
    if (!offers_.contains(operation)) continue; // A callback cancelled it.
    cancel(*operation);
    operation->onSent(status);
  }
  context_.listener->onPeerLost(from.rank, status, PeerLoss::departed);
}

bool LoopbackTransport::hasWork() const {
  return !deferred_.empty() ||
         std::any_of(peers_.begin(), peers_.end(), [](const auto& from) { return from->hasWork(); });
}

int LoopbackTransport::pollFd() const { return endpoint_->fd(); }

bool LoopbackTransport::prepareToSleep() { return !hasWork() && endpoint_->prepareToSleep(); }

void LoopbackTransport::sleepEnded() { endpoint_->sleepEnded(); }

void LoopbackTransport::discard(Tag mask, Tag value) {
  for (const auto& from : peers_)
    from->matcher.discard(mask, value);
}

bool LoopbackTransport::peek(int rank, Tag mask, Tag value, Arrived& found) const {
  return peer(rank).matcher.peek(mask, value, found);
}

PeerStatistics LoopbackTransport::statistics(int rank) const { return peer(rank).matcher.statistics(); }

} // namespace goss::transports
