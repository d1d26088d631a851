#include "transports/tcp/connector.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gossamer/config.h"
#include "platform/advertisement.h"
#include "platform/host.h"
#include "transports/common/errors.h"

namespace goss::transports::tcp {

namespace {

using platform::Deadline;
using std::chrono::milliseconds;

/// How many peers are called at a time. A peer that has not answered for a while no longer counts.
constexpr std::ptrdiff_t kMaxCalled = 16;
/// Ticks come every 50 ms. A tick that comes more than kLateTick after the one before shows that this rank got no
/// processor.
constexpr milliseconds kLateTick(150);
/// How long at most ranks that share processors wait for each other before they try other ways.
constexpr milliseconds kMaxBusyWait(10000);

/// The checks for `setting`, which is Config::tcp_checksum.
Checks checksOf(const std::string& setting) {
  if (setting == "off") return Checks::none;
  return setting == "on" ? Checks::all : Checks::betweenHosts;
}

} // namespace

Connector::Connector(const Surroundings& surroundings, std::uint64_t first_token)
    : with_(surroundings),
      acceptor_(with_.context, with_.log, with_.poller, first_token),
      relay_search_(
          with_.context, with_.poller, with_.next_token, [this](int rank) { return relayContact(rank); },
          [this](int peer, int via, platform::Stream stream) { takeRelayed(peer, via, std::move(stream)); }) {
  acceptor_.setHandler([this](Acceptor::Caller caller) { adopt(std::move(caller)); });
  acceptor_.setGate([this](const Hello& hello) { return judge(hello); });
  if (with_.security == nullptr) return;
  acceptor_.setSecurity(*with_.security, [this](int rank) -> const std::string* {
    const std::string& identity = way(rank).identity;
    return identity.empty() ? nullptr : &identity;
  });
}

void Connector::setPatience(const Patience& patience) {
  patience_ = patience;
  acceptor_.setWelcomeSpan(patience.welcomed);
}

Result<std::string> Connector::open() {
  const Config& config = *with_.context.config;
  auto advertised = platform::Advertisement::parse(config.advertise, {config.port_min, config.port_max});
  if (!advertised.isOk()) return advertised.status();
  auto own = acceptor_.listen(advertised.value().listening());
  if (!own.isOk()) return own.status();
  auto sockets = advertised.value().addresses(own.value().front().port());
  if (!sockets.isOk()) return sockets.status();
  // Encryption detects corrupted bytes itself.
  const Checks checks = with_.security != nullptr ? Checks::none : checksOf(config.tcp_checksum);
  address_ = {platform::hostIdentity().text(), sockets.take(), 0, checks};
  address_.advertised = address_.sockets.size();
  address_.sockets.insert(address_.sockets.end(), own.value().begin(), own.value().end());
  return (with_.security != nullptr ? std::string(with_.security->identity()) : std::string()) +
         encodeAddress(address_);
}

Result<Connector::Peer> Connector::decode(std::string_view address) const {
  Peer peer;
  if (with_.security != nullptr) {
    if (address.size() < platform::kIdentityBytes)
      return Status::error(GOSS_ERR_PROTOCOL, "an address without an identity");
    peer.identity = address.substr(0, platform::kIdentityBytes);
    address.remove_prefix(platform::kIdentityBytes);
  }
  auto decoded = decodeAddress(address);
  if (!decoded.isOk()) return decoded.status();
  peer.address = decoded.take();
  return peer;
}

Reach Connector::reachOf(int peer, const Address& address) const {
  if (with_.context.sites == nullptr) return tcp::reachOf(address_, {}, address, {});
  const std::vector<Site>& sites = *with_.context.sites;
  return tcp::reachOf(address_, sites.at(static_cast<std::size_t>(with_.context.self)), address,
                      sites.at(static_cast<std::size_t>(peer)));
}

bool Connector::reaches(std::string_view address) const {
  const auto decoded = decode(address);
  return decoded.isOk() && !tcp::reachOf(address_, {}, decoded.value().address, {}).sockets.empty();
}

Status Connector::learn(int peer, std::string_view address) {
  Link& link = with_.links.getOrMake(peer);
  const auto decoded = decode(address);
  const Reach reach = decoded.isOk() ? reachOf(peer, decoded.value().address) : Reach();
  if (reach.sockets.empty()) {
    link.refuse(protocolError(
        peer, decoded.isOk() ? "TCP addresses that this host cannot reach" : "an address that is no TCP address"));
    return link.error();
  }
  way(peer).identity = decoded.value().identity;
  way(peer).reach = reach;
  way(peer).resumable = isResumable(decoded.value().address);
  way(peer).checked = isChecked(address_, decoded.value().address);
  way(peer).called = Deadline::after(milliseconds(with_.context.config->bootstrap_timeout_ms));
  return Status::ok();
}

Status Connector::connect(int peer, std::string_view address) {
  if (Status learned = learn(peer, address); !learned.isOk()) return learned;
  Link& link = with_.links.getOrMake(peer);
  link.setWanted();
  way(peer).call_back = Deadline::after(patience_.call_back);
  way(peer).seek_relay = Deadline::after(patience_.seek_relay);
  noteProgress();
  next_tick_ = Deadline::after(kLateTick);
  busy_wait_until_ = Deadline::after(kMaxBusyWait);
  if (!link.connections().isBegun() && (peer < with_.context.self || way(peer).call_back.expired())) {
    enqueue(peer);
    startCalls();
  }
  return Status::ok();
}

Status Connector::prepare(int peer, std::string_view address) {
  if (Status learned = learn(peer, address); !learned.isOk()) return learned;
  with_.links.getOrMake(peer).setWanted(true);
  return Status::ok();
}

void Connector::begin(int peer) {
  with_.links.getOrMake(peer).begin();
  way(peer).called = Deadline::after(milliseconds(with_.context.config->bootstrap_timeout_ms));
}

void Connector::want(int peer) {
  if (with_.links.getOrMake(peer).state() != LinkState::idle) return;
  begin(peer);
  enqueue(peer);
  has_wanted_ = true;
}

void Connector::callWanted() {
  has_wanted_ = false;
  startCalls();
  dropDialers(); // The host of both ends may have refused a call already.
}

Dialer::Target Connector::target(int peer) const {
  Dialer::Target target;
  target.peer = peer;
  target.addresses = way(peer).reach.sockets;
  target.of_routers = way(peer).reach.of_routers;
  target.one_host = way(peer).reach.one_host;
  target.security = with_.security;
  target.identity = way(peer).identity;
  return target;
}

void Connector::enqueue(int peer) {
  way(peer).queued = true;
  to_call_.push_back(peer);
}

void Connector::startCalls() {
  auto called = std::count_if(dialers_.begin(), dialers_.end(), [](const auto& dialer) { return dialer->isFresh(); });
  while (!to_call_.empty() && called < kMaxCalled) {
    const int peer = to_call_.back();
    to_call_.pop_back();
    way(peer).queued = false;
    if (with_.links.getOrMake(peer).state() != LinkState::connecting) continue;
    Dialer* dialer = makeDialer(peer);
    if (dialer == nullptr) continue;
    dialer->start();
    ++called;
  }
}

Dialer* Connector::makeDialer(int peer) {
  way(peer).queued = false;
  if (!way(peer).seek_relay.never()) way(peer).seek_relay = Deadline::after(patience_.seek_relay);
  Dialer::Target called = target(peer);
  const int payload = with_.context.config->connections_per_peer;
  if (payload > 1) called.connections += static_cast<std::size_t>(std::min(payload, kMaxPayloadConnections));
  called.hello.connections = static_cast<std::uint16_t>(called.connections);
  called.hello.checked = way(peer).checked;
  if (with_.links.getOrMake(peer).isOnDemand()) {
    called.refusing_host = called.addresses.front();
    called.persists = true;
  }
  if (way(peer).resumable) {
    called.hello.purpose = Purpose::resumable;
    const Status random = platform::fillRandom(called.hello.token);
    if (!random.isOk()) {
      with_.links.getOrMake(peer).refuse(random);
      return nullptr;
    }
  }
  dialers_.push_back(std::make_unique<Dialer>(with_.context, with_.poller, with_.next_token, std::move(called),
                                              [this, peer](Dialer::Made made) { adoptOwn(peer, std::move(made)); }));
  return dialers_.back().get();
}

Dialer* Connector::dialerOf(int peer) {
  const auto found =
      std::find_if(dialers_.begin(), dialers_.end(), [peer](const auto& dialer) { return dialer->peer() == peer; });
  return found == dialers_.end() ? nullptr : found->get();
}

/// Configures the socket of a connection to `peer`, which the rank `via` relays (-1: none).
void Connector::configure(int peer, int fd, const Hello& hello, int via) {
  with_.path.tune(fd, hello.connections);
  if (via >= 0) with_.log.info(fmt::format("the link to rank {} is relayed by rank {}", peer, via));
}

/// Takes a connection that this end has made.
void Connector::adoptOwn(int peer, Dialer::Made made) {
  configure(peer, made.stream.fd(), made.hello, made.via);
  Link& link = with_.links.getOrMake(peer);
  const Status adopted = link.adopt(std::move(made.stream), made.hello, with_.poller, made.remote, made.via);
  if (!adopted.isOk()) link.refuse(adopted);
  relay_search_.settle(peer);
  noteProgress();
}

bool Connector::isResumable(const Address& peer) const {
  const std::string& reconnect = with_.context.config->reconnect;
  return reconnect == "on" || (reconnect == "auto" && peer.host_identity != address_.host_identity);
}

void Connector::adopt(Acceptor::Caller caller) {
  if (caller.hello.purpose == Purpose::relay) return with_.relay.add(std::move(caller));
  const int peer = static_cast<int>(caller.hello.from);
  if (caller.hello.purpose == Purpose::recall) return with_.links.getOrMake(peer).recall(caller.hello);
  if (with_.links.getOrMake(peer).state() == LinkState::idle) begin(peer);
  configure(peer, caller.stream.fd(), caller.hello, caller.via);
  const bool resumes = caller.hello.purpose == Purpose::resume;
  Link& link = with_.links.getOrMake(peer);
  const Status adopted =
      resumes ? link.resume(std::move(caller.stream), caller.hello, with_.poller, caller.remote)
              : link.adopt(std::move(caller.stream), caller.hello, with_.poller, caller.remote, caller.via);
  if (!adopted.isOk()) return acceptor_.logOnce(caller.from, adopted.text());
  settle(peer);
  noteProgress();
}

void Connector::settle(int peer) {
  std::erase_if(dialers_, [peer](const auto& dialer) { return dialer->peer() == peer; });
  if (std::exchange(way(peer).queued, false)) std::erase(to_call_, peer);
  relay_search_.settle(peer);
}

/// Whether a member's call is accepted. In each pair the higher rank decides: it says "go" over one of its own calls,
/// or welcomes one of the other's, and never both.
Status Connector::judge(const Hello& hello) {
  const auto not_wanted = [](std::string why) { return Status::error(GOSS_ERR_PEER_LOST, std::move(why)); };
  const int peer = static_cast<int>(hello.from);
  if (hello.purpose == Purpose::relay) {
    std::string why = with_.relay.whyNot(hello, acceptor_.relayCallers());
    return why.empty() ? Status::ok() : not_wanted(std::move(why));
  }
  if (hello.purpose != Purpose::plain && hello.purpose != Purpose::resumable)
    return with_.links.getOrMake(peer).judge(hello);
  if (peer > with_.context.self) {
    // The connections of a resumable link, which both ends know, stay: this end may be about to resume them.
    const bool stands = with_.links.getOrMake(peer).connections().areResumable() &&
                        with_.links.getOrMake(peer).state() == LinkState::ready;
    return stands ? not_wanted("another connection was chosen") : Status::ok();
  }
  const Link& link = with_.links.getOrMake(peer);
  // Where the link has failed here, the call is accepted and closed, so that the caller does not wait.
  if (link.isOnDemand() && link.state() == LinkState::failed) return Status::ok();
  const bool idle = link.state() == LinkState::idle;
  if (!link.wanted() || (!idle && link.state() != LinkState::connecting)) return not_wanted("it is not waited for");
  if (idle && hello.connection > 0) return not_wanted("its first connection has not come");
  if (idle) {
    begin(peer);
    way(peer).queued = true; // So that the dialer is made below; it calls if the caller falls silent.
  }
  Dialer* dialer = dialerOf(peer);
  if (hello.connection > 0 && (dialer == nullptr || dialer->yields())) return Status::ok();
  if (way(peer).queued) { // This end has not called yet.
    std::erase(to_call_, peer);
    dialer = makeDialer(peer);
  }
  return dialer != nullptr && dialer->yield() ? Status::ok() : not_wanted("another connection was chosen");
}

/// Takes a relayed stream that both ends have joined. The higher rank sends first, as over a direct connection.
void Connector::takeRelayed(int peer, int via, platform::Stream stream) {
  if (with_.links.getOrMake(peer).state() != LinkState::connecting) return;
  if (peer > with_.context.self) {
    const Status taken = acceptor_.take(std::move(stream), via);
    if (!taken.isOk()) with_.log.warn(fmt::format("a call relayed by rank {} is lost: {}", via, taken.text()));
  } else if (Dialer* dialer = dialerOf(peer)) {
    dialer->takeRelayed(std::move(stream), via);
  }
}

std::optional<RelaySearch::Contact> Connector::relayContact(int rank) const {
  const Link& link = with_.links.getOrMake(rank);
  if (!link.wanted() || link.state() == LinkState::failed || link.connections().via() >= 0) return std::nullopt;
  return RelaySearch::Contact{target(rank), link.state() == LinkState::ready};
}

/// When this rank got no processor for a while, its peers, which may share its processors, may have got none either.
void Connector::noteDelay() {
  if (next_tick_.expired() && !busy_wait_until_.expired()) noteProgress();
  next_tick_ = Deadline::after(kLateTick);
}

void Connector::tryOtherWays() {
  const bool busy = !busy_.expired();
  for (auto& link : with_.links) {
    const int peer = link->peer();
    if (!link->wanted() || link->state() != LinkState::connecting || link->connections().isBegun()) continue;
    Way& known = way(peer);
    Dialer* dialer = dialerOf(peer);
    if (dialer != nullptr && dialer->yields() && !acceptor_.awaitsGo(peer)) dialer->resume();
    if (busy || known.queued) continue;
    if (peer > with_.context.self && known.call_back.expired()) {
      known.call_back = Deadline();
      // The call that this end makes now gets its time before a relay is sought.
      known.seek_relay = Deadline::after(patience_.seek_relay - patience_.call_back);
      if (dialer == nullptr) {
        enqueue(peer);
        startCalls();
      }
    }
    if (!known.seek_relay.expired()) continue;
    // If the peer's process is only busy, no relay is needed.
    const bool waits = dialer != nullptr && dialer->isHeard() && !std::exchange(known.patient, true);
    known.seek_relay = waits ? Deadline::after(patience_.relay_anyway) : Deadline();
    if (!waits) relay_search_.want(peer);
  }
}

/// What else was tried to reach the peer, for an error's text.
std::string Connector::otherWays(int peer) const {
  const std::string relays = relay_search_.trouble(peer);
  return fmt::format(
      "rank {} and rank {} can at most call others, not be called, and {}; let one of the two be called, "
      "or add a rank that both can call",
      std::min(peer, with_.context.self), std::max(peer, with_.context.self), relays);
}

/// Whether the link needs a call of the peer that no dialer's deadline bounds: the peer's first call, or further
/// connections of a link that the peer has begun.
bool Connector::awaitsCalls(const Link& link) const {
  return link.wanted() && link.state() == LinkState::connecting &&
         ((link.peer() > with_.context.self && !link.isOnDemand()) ||
          (link.connections().isBegun() && !link.connections().areCalledFromHere()));
}

bool Connector::awaitsCallers() const {
  return std::any_of(with_.links.begin(), with_.links.end(), [this](const auto& link) { return awaitsCalls(*link); });
}

void Connector::refuseLateCallers() {
  for (auto& link : with_.links) {
    if (!awaitsCalls(*link) || !way(link->peer()).called.expired()) continue;
    link->refuse(Status::error(
        GOSS_ERR_PEER_LOST,
        fmt::format("rank {} did not call rank {} over TCP within {} ms; check firewalls, or choose the network with "
                    "GOSS_INTERFACE; {}",
                    link->peer(), with_.context.self, with_.context.config->bootstrap_timeout_ms,
                    otherWays(link->peer())),
        ErrorScope::peer, link->peer()));
    settle(link->peer());
  }
}

bool Connector::handle(std::uint64_t token) {
  if (acceptor_.owns(token)) {
    acceptor_.handle(token);
    return true;
  }
  const auto takes = [token](const auto& dialer) { return dialer->handle(token); };
  if (std::none_of(dialers_.begin(), dialers_.end(), takes) && !relay_search_.handle(token)) return false;
  dropDialers();
  startCalls();
  return true;
}

void Connector::tick() {
  acceptor_.tick();
  for (auto& dialer : dialers_)
    dialer->tick();
  dropDialers();
  startCalls();
  noteDelay();
  refuseLateCallers();
  tryOtherWays();
  relay_search_.tick();
}

bool Connector::isIdle() const {
  return dialers_.empty() && to_call_.empty() && acceptor_.isIdle() && relay_search_.isIdle() && !awaitsCallers();
}

/// Removes the dialers that have succeeded or failed, and refuses the links of those that have failed.
void Connector::dropDialers() {
  for (auto& dialer : dialers_) {
    const Status& error = dialer->error();
    if (error.isOk()) continue;
    Link& link = with_.links.getOrMake(error.peer());
    if (link.isOnDemand()) {
      if (dialer->foundNobody())
        link.refuse(peerLostError(link.peer(), kAbsent), PeerLoss::absent);
      else
        link.refuse(error);
      continue;
    }
    link.refuse(Status::error(error.kind(), fmt::format("{}; {}", error.text(), otherWays(error.peer())),
                              ErrorScope::peer, error.peer()));
    relay_search_.settle(error.peer());
  }
  std::erase_if(dialers_, [](const auto& dialer) { return dialer->isDone() || !dialer->error().isOk(); });
}

} // namespace goss::transports::tcp
