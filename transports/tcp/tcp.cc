#include "transports/tcp/tcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "gossamer/config.h"
#include "platform/advertisement.h"
#include "platform/host.h"
#include "transports/common/errors.h"

namespace goss::transports {

namespace {

using platform::Deadline;
using std::chrono::milliseconds;

// Smaller tokens are the peers of links.
constexpr std::uint64_t kFirstDialToken = std::uint64_t{1} << 32;
constexpr std::uint64_t kFirstRelayToken = std::uint64_t{1} << 40;
constexpr std::uint64_t kTickerToken = std::uint64_t{1} << 47;
constexpr std::uint64_t kFirstAcceptorToken = std::uint64_t{1} << 48;

constexpr int kTurnsPerPoll = 16;
constexpr milliseconds kTick(50);
constexpr milliseconds kCloseSpan(2000);
/// How long, at most, this rank goes on relaying after it has left.
constexpr milliseconds kRelayOnSpan(10000);

/// The checks for `setting`, which is Config::tcp_checksum.
tcp::Checks checksOf(const std::string& setting) {
  if (setting == "off") return tcp::Checks::none;
  return setting == "on" ? tcp::Checks::all : tcp::Checks::between_hosts;
}

} // namespace

TcpTransport::TcpTransport(const TransportContext& context, platform::SecurityMaker security)
    : context_(context),
      log_(context.config->log_level, context.self),
      make_security_(std::move(security)),
      ways_(static_cast<std::size_t>(context.size)),
      next_dial_token_(kFirstDialToken) {
  for (int peer = 0; peer < context.size; ++peer)
    links_.add(context.config->unexpected_bytes, links_.deferred());
}

TcpTransport::~TcpTransport() {
  awaitGoodbyes();
  for (auto& link : links_)
    link->beginClose();
  // The sockets may close only when the peers' systems have acknowledged everything: a system answers bytes that come
  // later with a reset, which would destroy what is still on its way from here.
  const Deadline deadline = Deadline::after(kCloseSpan);
  const auto drained = [](const auto& link) { return link->isDrained(); };
  const Deadline relay_deadline = Deadline::after(kRelayOnSpan);
  Deadline quiet = deadline;
  for (;;) {
    const bool closing = !std::all_of(links_.begin(), links_.end(), drained) && !deadline.expired();
    const bool relaying = servesOthers() && !quiet.expired() && !relay_deadline.expired();
    if (!closing && !relaying) break;
    // Other ranks may still be in the middle of the operation that this rank has completed.
    if (relaying && relayOnly()) quiet = Deadline::after(kCloseSpan);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

/// progress() on behalf of relayed ranks only. Returns whether any of their bytes moved.
bool TcpTransport::relayOnly() {
  const std::uint64_t before = relay_->bytes();
  for (const platform::PollEvent& event : poller_->wait(0))
    if (relay_->owns(event.token)) relay_->handle(event.token);
  relay_->run();
  relay_->tick();
  return relay_->bytes() != before;
}

/// Waits for goodbyes: messages that were sent over a connection may be lost with it, and the goodbye too, until the
/// peer says that it has read it.
void TcpTransport::awaitGoodbyes() {
  closing_ = true;
  const milliseconds span = std::max(kCloseSpan, milliseconds(context_.config->silence_ms));
  Deadline deadline = Deadline::after(span);
  const auto resuming = [](const auto& link) { return link->owesResumption(); };
  const auto underway = [](const auto& link) { return link->hasUndelivered(); };
  std::uint64_t read = 0;
  std::uint64_t moved = 0;
  // Bytes that all peers' systems have received are up to peers that may be busy, or to a middlebox.
  Deadline patience = Deadline::after(kCloseSpan);
  Deadline courtesy = Deadline::after(patience_.courtesy);
  for (;;) {
    bool left = true;
    for (auto& link : links_)
      left = link->leave() && left;
    if (left || deadline.expired()) return;
    // A slow path takes long for the bytes kept here, which would be lost with this process.
    std::uint64_t read_now = 0;
    std::uint64_t moved_now = 0;
    for (const auto& link : links_) {
      read_now += link->acknowledged();
      moved_now += link->carried() + link->underway();
    }
    if (read_now != std::exchange(read, read_now)) deadline = Deadline::after(span);
    if (moved_now != std::exchange(moved, moved_now)) patience = Deadline::after(kCloseSpan);
    if (std::any_of(links_.begin(), links_.end(), resuming)) patience = Deadline::after(kCloseSpan);
    if (std::any_of(links_.begin(), links_.end(), underway)) courtesy = Deadline::after(patience_.courtesy);
    if (patience.expired() || courtesy.expired()) return;
    if (!progress()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void TcpTransport::setPatience(const Patience& patience) {
  patience_ = patience;
  acceptor_->setWelcomeSpan(patience.welcomed);
}

Result<std::string> TcpTransport::open() {
  auto poller = platform::Poller::create();
  if (!poller.isOk()) return poller.status();
  auto ticker = platform::Ticker::create();
  if (!ticker.isOk()) return ticker.status();
  poller_.emplace(poller.take());
  ticker_.emplace(ticker.take());
  Status watched = poller_->add(ticker_->fd(), true, false, kTickerToken);
  if (!watched.isOk()) return watched;
  acceptor_.emplace(context_, log_, *poller_, kFirstAcceptorToken);
  if (make_security_) {
    auto made = make_security_();
    if (!made.isOk()) return made.status();
    security_ = made.take();
    acceptor_->setSecurity(*security_, [this](int rank) -> const std::string* {
      const std::string& identity = ways_[static_cast<std::size_t>(rank)].identity;
      return identity.empty() ? nullptr : &identity;
    });
  }
  resumer_.emplace(context_, *poller_, next_dial_token_,
                   [this](int fd, std::size_t connections) { tunePath(fd, connections); });
  inquiry_.emplace(context_, *poller_, next_dial_token_, [this](int peer, const Status& why, PeerLoss how) {
    if (!closing_) context_.listener->onPeerLost(peer, why, how);
  });
  acceptor_->setHandler([this](tcp::Acceptor::Caller caller) { adopt(std::move(caller)); });
  acceptor_->setGate([this](const tcp::Hello& hello) { return judge(hello); });
  relay_.emplace(context_, log_, *poller_, kFirstRelayToken, kTickerToken);
  detour_.emplace(
      context_, *poller_, next_dial_token_, [this](int rank) { return candidate(rank); },
      [this](int peer, int via, platform::Stream stream) { takeRelayed(peer, via, std::move(stream)); });
  Status listening = listen();
  if (!listening.isOk()) return listening;
  return (security_ ? std::string(security_->identity()) : std::string()) + tcp::encodeAddress(address_);
}

Status TcpTransport::listen() {
  const Config& config = *context_.config;
  auto advertised = platform::Advertisement::parse(config.advertise, {config.port_min, config.port_max});
  if (!advertised.isOk()) return advertised.status();
  auto own = acceptor_->listen(advertised.value().listening());
  if (!own.isOk()) return own.status();
  auto sockets = advertised.value().addresses(own.value().front().port());
  if (!sockets.isOk()) return sockets.status();
  // Encryption detects corrupted bytes itself.
  const tcp::Checks checks = security_ ? tcp::Checks::none : checksOf(config.tcp_checksum);
  address_ = {platform::hostIdentity().text(), sockets.take(), 0, checks};
  address_.advertised = address_.sockets.size();
  address_.sockets.insert(address_.sockets.end(), own.value().begin(), own.value().end());
  return Status::ok();
}

Result<TcpTransport::Peer> TcpTransport::decode(std::string_view address) const {
  Peer peer;
  if (make_security_) {
    if (address.size() < platform::kIdentityBytes)
      return Status::error(GOSS_ERR_PROTOCOL, "an address without an identity");
    peer.identity = address.substr(0, platform::kIdentityBytes);
    address.remove_prefix(platform::kIdentityBytes);
  }
  auto decoded = tcp::decodeAddress(address);
  if (!decoded.isOk()) return decoded.status();
  peer.address = decoded.take();
  return peer;
}

tcp::Reach TcpTransport::reachOf(int peer, const tcp::Address& address) const {
  if (context_.sites == nullptr) return tcp::reachOf(address_, {}, address, {});
  const std::vector<Site>& sites = *context_.sites;
  return tcp::reachOf(address_, sites.at(static_cast<std::size_t>(context_.self)), address,
                      sites.at(static_cast<std::size_t>(peer)));
}

bool TcpTransport::reaches(std::string_view address) const {
  const auto decoded = decode(address);
  return decoded.isOk() && !tcp::reachOf(address_, {}, decoded.value().address, {}).sockets.empty();
}

Status TcpTransport::connect(int peer, std::string_view address) {
  tcp::Link& link = links_.at(peer);
  const auto decoded = decode(address);
  const tcp::Reach reach = decoded.isOk() ? reachOf(peer, decoded.value().address) : tcp::Reach();
  if (reach.sockets.empty()) {
    link.refuse(protocolError(
        peer, decoded.isOk() ? "TCP addresses that this host cannot reach" : "an address that is no TCP address"));
    return link.error();
  }
  link.setWanted();
  Way& way = ways_[static_cast<std::size_t>(peer)];
  way = {decoded.value().identity, reach, Deadline::after(patience_.call_back), Deadline::after(patience_.detour)};
  accept_deadline_ = Deadline::after(milliseconds(context_.config->bootstrap_timeout_ms));
  startTicking();
  way.resumable = isResumable(decoded.value().address);
  way.checked = tcp::isChecked(address_, decoded.value().address);
  resumer_->setTarget(target(peer));
  if (!link.isBegun() && (peer < context_.self || way.call_back.expired())) dial(peer);
  return Status::ok();
}

tcp::Dialer::Target TcpTransport::target(int peer) const {
  const Way& way = ways_[static_cast<std::size_t>(peer)];
  tcp::Dialer::Target target;
  target.peer = peer;
  target.addresses = way.reach.sockets;
  target.of_routers = way.reach.of_routers;
  target.security = security_.get();
  target.identity = way.identity;
  return target;
}

void TcpTransport::dial(int peer) {
  tcp::Dialer::Target called = target(peer);
  const int payload = context_.config->connections_per_peer;
  if (payload > 1) called.connections += static_cast<std::size_t>(std::min(payload, tcp::kMaxPayloadConnections));
  called.hello.connections = static_cast<std::uint16_t>(called.connections);
  called.hello.checked = ways_[static_cast<std::size_t>(peer)].checked;
  if (ways_[static_cast<std::size_t>(peer)].resumable) {
    called.hello.purpose = tcp::Purpose::resumable;
    const Status random = platform::fillRandom(called.hello.token);
    if (!random.isOk()) return links_.at(peer).refuse(random);
  }
  dialers_.push_back(
      std::make_unique<tcp::Dialer>(context_, *poller_, next_dial_token_, std::move(called),
                                    [this, peer](tcp::Dialer::Made made) { adoptOwn(peer, std::move(made)); }));
  dialers_.back()->start();
}

tcp::Dialer* TcpTransport::dialerOf(int peer) {
  const auto found =
      std::find_if(dialers_.begin(), dialers_.end(), [peer](const auto& dialer) { return dialer->peer() == peer; });
  return found == dialers_.end() ? nullptr : found->get();
}

/// Takes a connection that this end has made.
void TcpTransport::adoptOwn(int peer, tcp::Dialer::Made made) {
  tunePath(made.stream.fd(), made.hello.connections);
  if (made.via >= 0) log_.info(fmt::format("the link to rank {} is relayed by rank {}", peer, made.via));
  const Status adopted = links_.at(peer).adopt(std::move(made.stream), made.hello, *poller_, made.via);
  if (!adopted.isOk()) links_.at(peer).refuse(adopted);
  detour_->settle(peer);
}

bool TcpTransport::isResumable(const tcp::Address& peer) const {
  const std::string& reconnect = context_.config->reconnect;
  return reconnect == "on" || (reconnect == "auto" && peer.host_identity != address_.host_identity);
}

void TcpTransport::tunePath(int fd, std::size_t connections) {
  // Payload connections share the bound; connection 0 carries little beside them.
  const std::size_t pace = context_.config->tcp_pacing_bytes_per_s / std::max<std::size_t>(1, connections - 1);
  if (pace > 0 && !platform::limitPace(fd, pace) && !std::exchange(pacing_refused_, true))
    log_.warn("GOSS_TCP_PACING is set, but this system does not pace TCP");
  const std::string& named = context_.config->tcp_congestion;
  if (platform::tuneForPath(fd, named) || std::exchange(congestion_refused_, true)) return;
  log_.warn(fmt::format("GOSS_TCP_CONGESTION={} is not offered by this system; TCP uses {}", named,
                        platform::congestionControl(fd)));
}

void TcpTransport::adopt(tcp::Acceptor::Caller caller) {
  if (caller.hello.purpose == tcp::Purpose::relay) return relay_->add(std::move(caller));
  const int peer = static_cast<int>(caller.hello.from);
  if (caller.hello.purpose == tcp::Purpose::recall) return links_.at(peer).recall(caller.hello);
  tunePath(caller.stream.fd(), caller.hello.connections);
  if (caller.via >= 0) log_.info(fmt::format("the link to rank {} is relayed by rank {}", peer, caller.via));
  const bool resumes = caller.hello.purpose == tcp::Purpose::resume;
  const Status adopted = resumes ? links_.at(peer).resume(std::move(caller.stream), caller.hello, *poller_)
                                 : links_.at(peer).adopt(std::move(caller.stream), caller.hello, *poller_, caller.via);
  if (!adopted.isOk()) return acceptor_->logOnce(caller.from, adopted.text());
  settle(peer);
}

/// The peer has connected: neither calls nor relays are needed any more.
void TcpTransport::settle(int peer) {
  std::erase_if(dialers_, [peer](const auto& dialer) { return dialer->peer() == peer; });
  detour_->settle(peer);
}

/// Whether a member's call is accepted. Of both ends of a pair the rank with the higher number decides: it says "go" to
/// one of its calls or welcomes one of the other's, and never does both.
Status TcpTransport::judge(const tcp::Hello& hello) {
  const auto not_wanted = [](std::string why) { return Status::error(GOSS_ERR_PEER_LOST, std::move(why)); };
  const int peer = static_cast<int>(hello.from);
  if (hello.purpose == tcp::Purpose::relay) {
    std::string why = relay_->whyNot(hello, acceptor_->relayCallers());
    return why.empty() ? Status::ok() : not_wanted(std::move(why));
  }
  if (hello.purpose != tcp::Purpose::plain && hello.purpose != tcp::Purpose::resumable)
    return links_.at(peer).judge(hello);
  if (peer > context_.self) {
    // This end may be about to resume the connection that stands, and then the peer knows it too.
    const bool stands = links_.at(peer).isResumable() && links_.at(peer).state() == LinkState::ready;
    return stands ? not_wanted("another connection was chosen") : Status::ok();
  }
  if (!links_.at(peer).wanted() || links_.at(peer).state() != LinkState::connecting)
    return not_wanted("it is not waited for");
  tcp::Dialer* dialer = dialerOf(peer);
  if (hello.connection > 0 && (dialer == nullptr || dialer->yields())) return Status::ok();
  return dialer != nullptr && dialer->yield() ? Status::ok() : not_wanted("another connection was chosen");
}

/// Takes a relayed stream, which both ends have joined. The higher rank speaks first, as over a connection of its own.
void TcpTransport::takeRelayed(int peer, int via, platform::Stream stream) {
  if (links_.at(peer).state() != LinkState::connecting) return;
  if (peer > context_.self) {
    const Status taken = acceptor_->take(std::move(stream), via);
    if (!taken.isOk()) log_.warn(fmt::format("a call relayed by rank {} is lost: {}", via, taken.text()));
  } else if (tcp::Dialer* dialer = dialerOf(peer)) {
    dialer->takeRelayed(std::move(stream), via);
  }
}

std::optional<tcp::RelaySearch::Candidate> TcpTransport::candidate(int rank) const {
  const tcp::Link& link = links_.at(rank);
  if (!link.wanted() || link.state() == LinkState::failed || link.via() >= 0) return std::nullopt;
  return tcp::RelaySearch::Candidate{target(rank), link.state() == LinkState::ready};
}

void TcpTransport::tryOtherWays() {
  for (auto& link : links_) {
    const int peer = link->peer();
    if (!link->wanted() || link->state() != LinkState::connecting || link->isBegun()) continue;
    Way& way = ways_[static_cast<std::size_t>(peer)];
    tcp::Dialer* dialer = dialerOf(peer);
    if (dialer != nullptr && dialer->yields() && !acceptor_->awaitsGo(peer)) dialer->resume();
    if (peer > context_.self && way.call_back.expired()) {
      way.call_back = Deadline();
      // A dialer that became ready late has not waited for anybody yet.
      way.detour = Deadline::after(patience_.detour - patience_.call_back);
      if (dialer == nullptr) dial(peer);
    }
    if (!way.detour.expired()) continue;
    // A process that is only busy needs no relay.
    const bool waits = dialer != nullptr && dialer->isHeard() && !std::exchange(way.patient, true);
    way.detour = waits ? Deadline::after(patience_.detour_anyway) : Deadline();
    if (!waits) detour_->want(peer);
  }
}

/// What else was tried to reach the peer, for an error's text.
std::string TcpTransport::otherWays(int peer) const {
  const std::string relays = detour_->trouble(peer);
  return fmt::format(
      "rank {} and rank {} can at most call others, not be called, and {}; let one of the two be called, "
      "or add a rank that both can call",
      std::min(peer, context_.self), std::max(peer, context_.self), relays);
}

bool TcpTransport::progress() {
  bool any = links_.drain();
  if (!poller_) return any;
  if (pollOnlyPeer()) return true;
  for (const platform::PollEvent& event : poller_->wait(0))
    any = handle(event) || any;
  for (auto& link : links_)
    if (link->hasWork()) any = runLink(*link, false) || any;
  if (servesOthers()) {
    any = relay_->run() || any;
    if (!relay_->isIdle()) startTicking();
  }
  return any;
}

/// With one peer there is nothing to choose: reading at once saves the call to the poller in front of it, a twentieth
/// of a small message's latency. The poller is still called now and then, because only the poller reports callers,
/// timers and space in a full socket. Returns whether something came.
bool TcpTransport::pollOnlyPeer() {
  if (links_.size() != 2 || ++shortcuts_ % kTurnsPerPoll == 0) return false;
  tcp::Link& link = links_.at(1 - context_.self);
  return link.awaitsReading() && runLink(link, false);
}

bool TcpTransport::handle(const platform::PollEvent& event) {
  if (event.token < links_.size()) return runLink(links_.at(static_cast<int>(event.token)), event.broken);
  if (event.token == kTickerToken) {
    ticker_->drain();
    tick();
    return true;
  }
  if (relay_->owns(event.token)) {
    relay_->handle(event.token);
    if (!relay_->isIdle()) startTicking();
    return true;
  }
  if (acceptor_->owns(event.token)) {
    acceptor_->handle(event.token);
    startTicking();
    stopTickingWhenSettled();
    return true;
  }
  const auto takes = [&event](const auto& dialer) { return dialer->handle(event.token); };
  if (std::none_of(dialers_.begin(), dialers_.end(), takes) && !detour_->handle(event.token) &&
      !resumer_->handle(event.token))
    inquiry_->handle(event.token);
  return mindDialers();
}

bool TcpTransport::runLink(tcp::Link& link, bool broken) {
  const bool any = link.run(broken);
  if (link.isResumable()) {
    resumer_->update(link);
    if (!resumer_->isIdle()) {
      startTicking();
      tellOfChange(link);
    }
  }
  if (!link.hasEnded() || link.matcher().hasFailed()) return any;
  const Status why = link.end();
  if (closing_) return true;
  if (!link.isUnexplained()) {
    context_.listener->onPeerLost(link.peer(), why, link.loss());
    return true;
  }
  inquiry_->ask(target(link.peer()), link.remote(0), why);
  if (!inquiry_->isIdle()) startTicking();
  return true;
}

/// Logs, once for each peer, that the network corrupts bytes, though none is lost by that.
void TcpTransport::tellOfChange(const tcp::Link& link) {
  if (!link.wasChanged() || std::exchange(ways_[static_cast<std::size_t>(link.peer())].change_told, true)) return;
  log_.warn(
      fmt::format("bytes from rank {} were changed on their way and are sent again: a network card, a cable or a "
                  "box on the way is broken",
                  link.peer()));
}

void TcpTransport::tick() {
  acceptor_->tick();
  for (auto& dialer : dialers_)
    dialer->tick();
  mindDialers();
  resumer_->tick();
  inquiry_->tick();
  if (accept_deadline_.expired()) refuseLateCallers();
  tryOtherWays();
  detour_->tick();
  relay_->tick();
  stopTickingWhenSettled();
}

/// Removes the dialers that are done. Returns true, because an event was handled.
bool TcpTransport::mindDialers() {
  for (auto& dialer : dialers_) {
    const Status& error = dialer->error();
    if (error.isOk()) continue;
    links_.at(error.peer())
        .refuse(Status::error(error.kind(), fmt::format("{}; {}", error.text(), otherWays(error.peer())),
                              ErrorScope::peer, error.peer()));
    detour_->settle(error.peer());
  }
  std::erase_if(dialers_, [](const auto& dialer) { return dialer->isDone() || !dialer->error().isOk(); });
  stopTickingWhenSettled();
  return true;
}

/// Whether a peer with a lower rank calls because this end could not, and no other deadline applies.
bool TcpTransport::awaitsCalls(const tcp::Link& link) const {
  return link.wanted() && link.state() == LinkState::connecting &&
         (link.peer() > context_.self || (link.isBegun() && !link.calls()));
}

bool TcpTransport::awaitsCallers() const {
  return std::any_of(links_.begin(), links_.end(), [this](const auto& link) { return awaitsCalls(*link); });
}

void TcpTransport::refuseLateCallers() {
  for (auto& link : links_) {
    if (!awaitsCalls(*link)) continue;
    link->refuse(Status::error(
        GOSS_ERR_PEER_LOST,
        fmt::format("rank {} did not call rank {} over TCP within {} ms; check firewalls, or choose the network with "
                    "GOSS_INTERFACE; {}",
                    link->peer(), context_.self, context_.config->bootstrap_timeout_ms, otherWays(link->peer())),
        ErrorScope::peer, link->peer()));
    settle(link->peer());
  }
}

void TcpTransport::startTicking() {
  if (!ticker_->running()) ticker_->start(kTick);
}

void TcpTransport::stopTickingWhenSettled() {
  if (ticker_->running() && dialers_.empty() && resumer_->isIdle() && inquiry_->isIdle() && acceptor_->isIdle() &&
      detour_->isIdle() && relay_->isIdle() && !awaitsCallers())
    ticker_->stop();
}

int TcpTransport::pollFd() const { return poller_->fd(); }

bool TcpTransport::prepareToSleep() { return !links_.hasWork() && !(relay_ && relay_->hasWork()); }

} // namespace goss::transports
