#include "transports/tcp/tcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "gossamer/config.h"
#include "platform/bbr_state.h"
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

} // namespace

TcpTransport::TcpTransport(const TransportContext& context, platform::SecurityMaker security)
    : context_(context),
      log_(context.config->log_level, context.self),
      make_security_(std::move(security)),
      path_(*context_.config, log_),
      next_dial_token_(kFirstDialToken),
      change_told_(static_cast<std::size_t>(context.size)) {
  links_.addWhenNeeded(context.size, context.config->unexpected_bytes);
}

TcpTransport::~TcpTransport() {
  awaitGoodbyes();
  for (auto& link : links_)
    link->beginClose();
  // A socket may close only when the peer's system has acknowledged everything: this system answers bytes that come
  // after the close with a reset, and a reset destroys bytes that are still on their way to the peer.
  const Deadline deadline = Deadline::after(kCloseSpan);
  const auto drained = [](const auto& link) { return link->isDrained(); };
  const Deadline relay_deadline = Deadline::after(kRelayOnSpan);
  Deadline quiet = deadline;
  for (;;) {
    const bool closing = !std::all_of(links_.begin(), links_.end(), drained) && !deadline.expired();
    const bool relaying = servesOthers() && !quiet.expired() && !relay_deadline.expired();
    if (!closing && !relaying) break;
    // The ranks for which this one relays may not have completed the operation that this rank has completed.
    if (relaying && relayOnly()) quiet = Deadline::after(kCloseSpan);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

/// Relays, and does nothing else of progress(). Returns whether bytes moved.
bool TcpTransport::relayOnly() {
  const std::uint64_t before = relay_->bytes();
  for (const platform::PollEvent& event : poller_->wait(0))
    if (relay_->owns(event.token)) relay_->handle(event.token);
  relay_->run();
  relay_->tick();
  return relay_->bytes() != before;
}

/// Says goodbye over links with records, and waits until the peers say that they have read it: until then a connection
/// that breaks may lose messages and the goodbye.
void TcpTransport::awaitGoodbyes() {
  closing_ = true;
  const milliseconds span = std::max(kCloseSpan, milliseconds(context_.config->silence_ms));
  Deadline deadline = Deadline::after(span);
  const auto resuming = [](const auto& link) { return link->owesResumption(); };
  const auto underway = [](const auto& link) { return link->hasUndelivered(); };
  std::uint64_t read = 0;
  std::uint64_t moved = 0;
  // No bytes move: the peers are busy, or a middlebox has taken the bytes.
  Deadline patience = Deadline::after(kCloseSpan);
  Deadline courtesy = Deadline::after(goodbye_timeout_);
  for (;;) {
    bool left = true;
    for (auto& link : links_)
      left = link->leave() && left;
    if (left || deadline.expired()) return;
    // As long as the peers read the bytes that this end keeps, it waits: the bytes would be lost with this process.
    std::uint64_t read_now = 0;
    std::uint64_t moved_now = 0;
    for (const auto& link : links_) {
      read_now += link->connections().acknowledged();
      moved_now += link->connections().carried() + link->connections().underway();
    }
    if (read_now != std::exchange(read, read_now)) deadline = Deadline::after(span);
    if (moved_now != std::exchange(moved, moved_now)) patience = Deadline::after(kCloseSpan);
    if (std::any_of(links_.begin(), links_.end(), resuming)) patience = Deadline::after(kCloseSpan);
    if (std::any_of(links_.begin(), links_.end(), underway)) courtesy = Deadline::after(goodbye_timeout_);
    if (patience.expired() || courtesy.expired()) return;
    if (!progress()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void TcpTransport::setPatience(const Patience& patience) {
  goodbye_timeout_ = patience.courtesy;
  connector_->setPatience(patience);
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
  if (make_security_) {
    auto made = make_security_();
    if (!made.isOk()) return made.status();
    security_ = made.take();
  }
  relay_.emplace(context_, log_, *poller_, kFirstRelayToken, kTickerToken);
  connector_.emplace(
      tcp::Connector::Surroundings{context_, log_, *poller_, next_dial_token_, links_, *relay_, path_, security_.get()},
      kFirstAcceptorToken);
  resumer_.emplace(
      context_, *poller_, next_dial_token_, [this](int fd, std::size_t connections) { path_.tune(fd, connections); },
      [this](int peer) { return connector_->target(peer); });
  inquiry_.emplace(context_, *poller_, next_dial_token_, [this](int peer, const Status& why, PeerLoss how) {
    if (closing_) return;
    const tcp::Link& link = links_.getOrMake(peer);
    // A peer that left while the link was being made did not say goodbye over it.
    const bool absent = how == PeerLoss::ended && link.isOnDemand() && !link.isHeard();
    if (absent) return context_.listener->onPeerLost(peer, peerLostError(peer, tcp::kAbsent), PeerLoss::absent);
    context_.listener->onPeerLost(peer, why, how);
  });
  return connector_->open();
}

bool TcpTransport::reaches(std::string_view address) const { return connector_ && connector_->reaches(address); }

Status TcpTransport::connect(int peer, std::string_view address) {
  Status begun = connector_->connect(peer, address);
  if (begun.isOk()) startTicking();
  return begun;
}

Status TcpTransport::prepare(int peer, std::string_view address) { return connector_->prepare(peer, address); }

/// Keeps a message until its link is made. False: the link is ready, or has failed.
bool TcpTransport::keep(SendOperation& operation) {
  if (!links_.getOrMake(operation.peer).keep(operation)) return false;
  connector_->want(operation.peer);
  startTicking();
  return true;
}

bool TcpTransport::progress() {
  bool any = links_.drain();
  if (!poller_) return any;
  if (connector_->hasWanted()) {
    connector_->callWanted();
    any = true;
  }
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

/// Where there is one peer, reads from its socket without asking the poller first, which saves a twentieth of a small
/// message's latency. The poller is still called now and then, because only the poller reports callers, timers and
/// space in a full socket. Returns whether something was read.
bool TcpTransport::pollOnlyPeer() {
  if (links_.size() != 2 || ++shortcuts_ % kTurnsPerPoll == 0) return false;
  tcp::Link& link = links_.getOrMake(1 - context_.self);
  return link.awaitsReading() && runLink(link, false);
}

bool TcpTransport::handle(const platform::PollEvent& event) {
  if (event.token < links_.size()) return runLink(links_.getOrMake(static_cast<int>(event.token)), event.broken);
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
  if (connector_->handle(event.token))
    startTicking(); // Callers have only so long to say who they are.
  else if (!resumer_->handle(event.token))
    inquiry_->handle(event.token);
  stopTickingWhenSettled();
  return true;
}

bool TcpTransport::runLink(tcp::Link& link, bool broken) {
  const bool any = link.run(broken);
  if (link.takeRefusal()) {
    connector_->settle(link.peer());
    report(link, link.error());
    return true;
  }
  if (link.connections().areResumable()) {
    resumer_->update(link);
    if (!resumer_->isIdle()) {
      startTicking();
      tellOfChange(link);
    }
  }
  if (!link.hasEnded() || link.matcher().hasFailed()) return any;
  report(link, link.end());
  return true;
}

/// Reports that a link has ended: at once, or when the peer's host has said whether the peer's process has ended.
void TcpTransport::report(const tcp::Link& link, const Status& why) {
  if (closing_) return;
  if (!link.isUnexplained()) return context_.listener->onPeerLost(link.peer(), why, link.loss());
  tcp::Dialer::Target target = connector_->target(link.peer());
  // An on-demand link connects ranks of one host. It may have no address if the peer ended before the link was made.
  const std::optional<platform::SocketAddress> asked =
      link.isOnDemand() ? target.addresses.front() : link.connections().remote(0);
  inquiry_->ask(std::move(target), asked, why);
  if (!inquiry_->isIdle()) startTicking();
}

/// Logs, once for each peer, that the network corrupts bytes, though none is lost by that.
void TcpTransport::tellOfChange(const tcp::Link& link) {
  const auto peer = static_cast<std::size_t>(link.peer());
  if (change_told_[peer] || link.connections().reasonOfChange() == nullptr) return;
  change_told_[peer] = true;
  log_.warn(
      fmt::format("bytes from rank {} were changed on their way and are sent again: a network card, a cable or a "
                  "box on the way is broken",
                  link.peer()));
}

void TcpTransport::tick() {
  connector_->tick();
  resumer_->tick();
  inquiry_->tick();
  relay_->tick();
  stopTickingWhenSettled();
}

void TcpTransport::startTicking() {
  if (!ticker_->running()) ticker_->start(kTick);
}

void TcpTransport::stopTickingWhenSettled() {
  if (ticker_->running() && connector_->isIdle() && resumer_->isIdle() && inquiry_->isIdle() && relay_->isIdle())
    ticker_->stop();
}

int TcpTransport::pollFd() const { return poller_->fd(); }

double TcpTransport::roundTrip_s(int peer) const {
  const tcp::ConnectionSet& connections = links_.getOrMake(peer).connections();
  const bool direct = connections.via() < 0 && connections.isComplete() && connections.all().front().isOpen();
  return direct ? platform::leastRoundTrip_s(connections.all().front().fd()) : 0;
}

PathUse TcpTransport::pathUse(int peer) const {
  PathUse use;
  const tcp::ConnectionSet& connections = links_.getOrMake(peer).connections();
  if (connections.via() >= 0) return use;
  for (const tcp::Connection& connection : connections.all()) {
    if (!connection.isOpen()) continue;
    const platform::Carried carried = platform::carriedBy(connection.fd());
    use.bytes += carried.bytes;
    use.busy_s = std::max(use.busy_s, carried.busy_s);
    use.rate_bytes_per_s += carried.rate_bytes_per_s;
    use.resent_bytes += carried.resent_bytes;
    use.last_rate_bytes_per_s += carried.last_rate_bytes_per_s;
  }
  return use;
}

bool TcpTransport::prepareToSleep() {
  return !links_.hasWork() && !connector_->hasWanted() && !(relay_ && relay_->hasWork());
}

} // namespace goss::transports
