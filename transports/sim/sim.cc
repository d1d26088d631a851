#include "transports/sim/sim.h"

#include <errno.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <utility>

#include "gossamer/config.h"
#include "transports/common/errors.h"
#include "transports/common/local_address.h"
#include "transports/common/local_recvs.h"
#include "transports/common/matcher.h"

namespace goss::transports {

using sim::Event;
using sim::Hub;
using sim::Message;

namespace {

constexpr std::string_view kMagic = "GSI2";
// Sends of up to kEagerBytes are complete at once while no more than kWindowBytes are on their way to the peer.
constexpr std::size_t kEagerBytes = 64 * 1024;
constexpr std::size_t kWindowBytes = 1 << 20;
constexpr std::size_t kMessageCost = 256;
constexpr std::uint64_t kWakeToken = 0;
constexpr std::uint64_t kTimerToken = 1;

bool isTakenBack(const std::shared_ptr<Message>& message) { return message->offer && message->offer->isWithdrawn(); }

/// Gives all bytes to `sink`. False: the sender has cancelled the message.
bool fetch(const std::shared_ptr<Message>& message, MessageSink& sink) {
  if (message->offer) return message->offer->copyTo(sink);
  sink.deliver({message->payload.get(), static_cast<std::size_t>(message->header.bytes)});
  return true;
}

/// Ranks of one process share nothing but addresses, so the registry is static. It is never destroyed, because static
/// objects of the program may use it at the very end.
LocalRegistry<Hub>& hubs() {
  static auto& registry = *new LocalRegistry<Hub>();
  return registry;
}

sim::SimOptions optionsFrom(const Config& config) {
  sim::SimOptions options;
  options.seed = config.sim_seed;
  return options;
}

} // namespace

struct SimTransport::Peer {
  Peer(int peer_rank, Deferred& deferred) : rank(peer_rank), matcher(peer_rank, deferred), recvs(matcher) {}

  const int rank;
  bool wanted = false; ///< connect() was called.
  bool ready = false;  ///< connect() was called at both ends.
  Status refused;      ///< Why connect() failed.
  std::size_t window_bytes = 0;
  Matcher matcher;
  LocalRecvs<std::shared_ptr<Message>> recvs;

  [[nodiscard]] bool hasWork() const { return matcher.hasWork() || recvs.hasWork(); }
};

SimTransport::SimTransport(const TransportContext& context) : SimTransport(context, optionsFrom(*context.config)) {}

SimTransport::SimTransport(const TransportContext& context, sim::SimOptions options)
    : context_(context), options_(std::move(options)) {
  for (int rank = 0; rank < context.size; ++rank) {
    peers_.push_back(std::make_unique<Peer>(rank, deferred_));
  }
}

SimTransport::~SimTransport() {
  if (!hub_) return;
  hubs().remove(hub_number_);
  for (auto& [operation, message] : pending_)
    message->offer->withdraw();
  for (auto& to : peers_) {
    if (to->wanted && to->rank != context_.self) hub_->post(context_.self, to->rank, Event::Kind::goodbye, {}, 0);
    if (to->wanted && to->rank != context_.self) hub_->poke(context_.self, to->rank);
  }
  hub_->leave(context_.self);
}

Result<std::string> SimTransport::open() {
  Result<platform::Wakeup> wakeup = platform::Wakeup::create();
  if (!wakeup.isOk()) return wakeup.status();
  wakeup_.emplace(wakeup.take());
  Result<platform::Poller> poller = platform::Poller::create();
  if (!poller.isOk()) return poller.status();
  poller_.emplace(poller.take());
  timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_.valid()) return systemError(-1, "cannot make a timer", errno);
  for (auto [fd, token] : {std::pair{wakeup_->fd(), kWakeToken}, std::pair{timer_.get(), kTimerToken}}) {
    Status added = poller_->add(fd, true, false, token);
    if (!added.isOk()) return added;
  }
  if (context_.self == 0) {
    enter(std::make_shared<Hub>(context_, options_));
    hub_number_ = hubs().add(hub_);
  }
  return encodeLocalAddress(kMagic, hub_number_);
}

bool SimTransport::reaches(std::string_view address) const { return decodeLocalAddress(kMagic, address).has_value(); }

Status SimTransport::connect(int rank, std::string_view address) {
  Peer& to = peer(rank);
  const auto hub_number = decodeLocalAddress(kMagic, address);
  if (!hub_number.has_value()) return to.refused = protocolError(rank, "a sim address that is not of this process");
  to.wanted = true;
  if (!hub_ && rank == 0) {
    std::shared_ptr<Hub> hub = hubs().find(*hub_number);
    if (hub == nullptr) return to.refused = peerDepartedError(rank);
    if (hub->job() != context_.job) return to.refused = protocolError(rank, "the address of another world");
    enter(std::move(hub));
  } else if (hub_) {
    hub_->connect(context_.self, rank);
  }
  return Status::ok();
}

void SimTransport::enter(std::shared_ptr<Hub> hub) {
  hub_ = std::move(hub);
  hub_->join(context_.self, *wakeup_);
  for (auto& to : peers_) {
    if (to->wanted) hub_->connect(context_.self, to->rank);
  }
}

LinkState SimTransport::link(int rank) const {
  Peer& to = peer(rank);
  if (!to.refused.isOk() || to.matcher.hasFailed()) return LinkState::failed;
  if (!to.ready) to.ready = to.wanted && hub_ && hub_->linked(context_.self, rank);
  return to.ready ? LinkState::ready : LinkState::connecting;
}

Status SimTransport::linkError(int rank) const {
  return peer(rank).refused.isOk() ? peer(rank).matcher.failure() : peer(rank).refused;
}

bool SimTransport::send(SendOperation& operation) {
  Peer& to = peer(operation.peer);
  LinkState state = link(to.rank);
  if (state != LinkState::ready) {
    deferred_.add(operation, state == LinkState::failed ? linkError(to.rank) : notConnectedError(to.rank, name()));
    return false;
  }
  to.matcher.statistics().countSent(operation.bytes);
  auto message = std::make_shared<Message>();
  message->header = {operation.tag, operation.bytes, operation.envelope};
  const std::size_t cost = kMessageCost + operation.bytes;
  const bool complete = operation.bytes <= kEagerBytes &&
                        to.window_bytes + cost <= std::min(kWindowBytes, context_.config->unexpected_bytes);
  if (complete) {
    message->payload = std::make_unique_for_overwrite<std::byte[]>(operation.bytes);
    PieceCursor(operation.pieces).gather({message->payload.get(), operation.bytes});
    message->window_bytes = cost;
    to.window_bytes += cost;
  } else {
    message->offer = std::make_unique<Offer>(operation);
    pending_.emplace(&operation, message);
  }
  hub_->post(context_.self, to.rank, Event::Kind::message, std::move(message), operation.bytes);
  return complete;
}

void SimTransport::recv(RecvOperation& operation) {
  Peer& from = peer(operation.peer);
  if (!from.refused.isOk()) {
    deferred_.add(operation, from.refused);
  } else {
    from.matcher.post(operation);
  }
  if (hub_) hub_->touch(context_.self);
}

void SimTransport::cancel(SendOperation& operation) {
  deferred_.cancel(operation);
  auto at = pending_.find(&operation);
  if (at == pending_.end()) return;
  at->second->offer->withdraw();
  pending_.erase(at);
  hub_->poke(context_.self, operation.peer);
}

void SimTransport::cancel(RecvOperation& operation) {
  deferred_.cancel(operation);
  peer(operation.peer).matcher.cancel(operation);
}

bool SimTransport::progress() {
  bool any = deferred_.drain();
  if (hub_) hub_->take(context_.self, !any && !hasWork(), incoming_);
  any = any || !incoming_.empty();
  for (const Event& event : incoming_)
    handle(peer(event.from), event);
  incoming_.clear();
  for (auto& from : peers_) {
    if (from->hasWork()) any |= settle(*from);
  }
  return any;
}

void SimTransport::complete(Message& message) {
  SendOperation* operation = message.offer ? message.offer->withdraw() : nullptr;
  if (!operation) return;
  pending_.erase(operation);
  operation->onSent(Status::ok());
}

void SimTransport::handle(Peer& from, const Event& event) {
  switch (event.kind) {
    case Event::Kind::taken:
      from.window_bytes -= event.message->window_bytes;
      complete(*event.message);
      break;
    case Event::Kind::wake:
      from.recvs.withdrawIf(isTakenBack);
      break;
    case Event::Kind::message:
      begin(from, event.message);
      break;
    case Event::Kind::goodbye:
      losePeer(from, peerDepartedError(from.rank), PeerLoss::departed);
      break;
  }
}

void SimTransport::begin(Peer& from, const std::shared_ptr<Message>& message) {
  if (from.matcher.hasFailed() || isTakenBack(message)) return;
  if (!from.recvs.begin(message->header, message)) {
    // Tells the peer, so that no operation there waits for ever.
    hub_->post(context_.self, from.rank, Event::Kind::goodbye, {}, 0);
    return losePeer(from, memoryError(from.rank), PeerLoss::silent);
  }
  settle(from);
}

bool SimTransport::settle(Peer& from) {
  const bool any = from.matcher.drain();
  const auto over = [&](const std::shared_ptr<Message>& message) {
    hub_->post(context_.self, from.rank, Event::Kind::taken, message, 0);
  };
  return from.recvs.settle(fetch, over) || any;
}

void SimTransport::losePeer(Peer& from, const Status& status, PeerLoss how) {
  if (from.matcher.hasFailed()) return;
  settle(from);
  from.recvs.withdrawIf(isTakenBack);
  from.recvs.keepAll(fetch);
  from.matcher.fail(status);
  std::vector<SendOperation*> lost;
  for (auto& [operation, message] : pending_) {
    if (operation->peer == from.rank) lost.push_back(operation);
  }
  for (SendOperation* operation : lost) {
    if (!pending_.contains(operation)) continue; // A callback has cancelled it.
    cancel(*operation);
    operation->onSent(status);
  }
  context_.listener->onPeerLost(from.rank, status, how);
}

bool SimTransport::hasWork() const {
  return !deferred_.empty() ||
         std::any_of(peers_.begin(), peers_.end(), [](const auto& from) { return from->hasWork(); });
}

bool SimTransport::prepareToSleep() {
  if (hasWork()) return false;
  const Hub::Sleep sleep = hub_ ? hub_->prepareToSleep(context_.self) : Hub::Sleep{true, options_.patience};
  if (!sleep.allowed) return false;
  if (sleep.look_again.count() > 0) setTimer(sleep.look_again);
  return true;
}

void SimTransport::sleepEnded() {
  if (hub_) hub_->sleepEnded(context_.self);
  setTimer(std::chrono::milliseconds(0));
  wakeup_->drain();
}

// Sets the timer; 0 turns it off and makes it unreadable.
void SimTransport::setTimer(std::chrono::milliseconds span) {
  itimerspec at{};
  at.it_value.tv_sec = static_cast<time_t>(span.count() / 1000);
  at.it_value.tv_nsec = static_cast<long>(span.count() % 1000) * 1000000;
  ::timerfd_settime(timer_.get(), 0, &at, nullptr);
}

void SimTransport::discard(Tag mask, Tag value) {
  for (const auto& from : peers_)
    from->matcher.discard(mask, value);
}

bool SimTransport::peek(int rank, Tag mask, Tag value, Arrived& found) const {
  return peer(rank).matcher.peek(mask, value, found);
}

PeerStatistics SimTransport::statistics(int rank) const { return peer(rank).matcher.statistics(); }

double SimTransport::now_s() const { return hub_ ? static_cast<double>(hub_->now()) * 1e-9 : 0; }

} // namespace goss::transports
