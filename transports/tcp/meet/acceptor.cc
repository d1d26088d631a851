#include "transports/tcp/meet/acceptor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "gossamer/config.h"
#include "platform/host.h"
#include "platform/stream.h"

namespace goss::transports::tcp {

namespace {

using platform::Deadline;
using platform::SocketAddress;

constexpr std::size_t kMaxListeners = 64;
constexpr std::size_t kMaxLogged = 64;

} // namespace

Acceptor::Acceptor(const TransportContext& context, const base::Log& log, platform::Poller& poller,
                   std::uint64_t first_token)
    : context_(context),
      log_(log),
      poller_(poller),
      first_token_(first_token),
      next_token_(first_token + kMaxListeners) {}

Result<std::vector<SocketAddress>> Acceptor::listen(platform::PortRange ports) {
  const Config& config = *context_.config;
  auto addresses = platform::interfaceAddresses(config.interface);
  if (!addresses.isOk()) return addresses;
  std::vector<SocketAddress>& open = addresses.value();
  if (open.size() > kMaxListeners) open.resize(kMaxListeners);
  // All interfaces share one socket; a chosen interface gets a socket for each of its addresses, so that nobody can
  // connect to another.
  const std::size_t sockets = config.interface.empty() ? 1 : open.size();
  for (std::size_t i = 0; i < sockets; ++i) {
    auto listener = config.interface.empty() ? platform::listenOnAll(ports) : platform::listenOn(open[i], ports);
    if (!listener.isOk()) return listener.status();
    const auto at = platform::localAddress(listener.value().get());
    if (!at) return Status::error(GOSS_ERR_RESOURCE, "a listening socket has no address");
    auto watched = platform::ListeningSocket::create(listener.take(), poller_, first_token_ + i);
    if (!watched.isOk()) return watched.status();
    listeners_.push_back(watched.take());
    if (config.interface.empty())
      for (SocketAddress& address : open)
        address.setPort(at->port());
    else
      open[i].setPort(at->port());
  }
  return addresses;
}

void Acceptor::handle(std::uint64_t token) {
  const std::uint64_t index = token - first_token_;
  if (index < listeners_.size())
    acceptAll(listeners_[index]);
  else
    read(token);
}

void Acceptor::acceptAll(platform::ListeningSocket& listener) {
  for (int i = 0; i < kMaxAtOnce; ++i) {
    auto accepted = listener.accept();
    if (!accepted.isOk()) {
      logOnce("accept", accepted.status().text());
      dropOldestSilent("it says nothing while there are no descriptors");
      continue;
    }
    if (!accepted.value().fd.valid()) return;
    while (silent() >= kMaxStrangers + rightfulCallers())
      dropOldestSilent("too many callers say nothing; the oldest is dropped");
    admit(accepted.take());
  }
}

void Acceptor::admit(platform::Accepted accepted) {
  platform::tuneForMessages(accepted.fd.get());
  auto stream = secure(std::move(accepted.fd));
  if (!stream.isOk()) return logOnce(accepted.from.text(), stream.status().text());
  const std::uint64_t token = next_token_++;
  if (!poller_.add(stream.value().fd(), true, false, token).isOk()) return;
  Stranger& stranger = strangers_[token];
  stranger.stream = stream.take();
  stranger.from = accepted.from.text();
  stranger.deadline = Deadline::after(std::chrono::milliseconds(kStrangerMs));
  // Read at once: a caller that speaks at once, as ranks do, is never dropped to make space for others.
  read(token);
}

Status Acceptor::take(platform::Stream stream, int via) {
  if (security_ != nullptr) {
    auto filter = security_->callee();
    if (!filter.isOk()) return filter.status();
    stream.nest(filter.take());
  }
  const std::uint64_t token = next_token_++;
  if (Status watched = poller_.add(stream.fd(), true, false, token); !watched.isOk()) return watched;
  const auto from = platform::remoteAddress(stream.fd());
  Stranger& stranger = strangers_[token];
  stranger.stream = std::move(stream);
  stranger.from = fmt::format("{} relayed by rank {}", from ? from->text() : "an address", via);
  stranger.via = via;
  stranger.deadline = Deadline::after(std::chrono::milliseconds(kStrangerMs));
  read(token);
  return Status::ok();
}

bool Acceptor::awaitsGo(int rank) const {
  return std::any_of(strangers_.begin(), strangers_.end(), [rank](const auto& entry) {
    const Stranger& stranger = entry.second;
    return stranger.phase == Phase::go && stranger.hello.purpose != Purpose::relay &&
           stranger.hello.from == static_cast<std::uint32_t>(rank);
  });
}

std::size_t Acceptor::relayCallers() const {
  return static_cast<std::size_t>(std::count_if(strangers_.begin(), strangers_.end(), [](const auto& entry) {
    return entry.second.phase == Phase::go && entry.second.hello.purpose == Purpose::relay;
  }));
}

Result<platform::Stream> Acceptor::secure(platform::UniqueFd fd) {
  if (security_ == nullptr) return platform::Stream(std::move(fd));
  auto filter = security_->callee();
  if (!filter.isOk()) return filter.status();
  return platform::Stream(std::move(fd), filter.take());
}

std::size_t Acceptor::silent() const {
  return static_cast<std::size_t>(
      std::count_if(strangers_.begin(), strangers_.end(), [](const auto& entry) { return !isKnown(entry.second); }));
}

void Acceptor::dropOldestSilent(std::string_view why) {
  const auto oldest =
      std::find_if(strangers_.begin(), strangers_.end(), [](const auto& entry) { return !isKnown(entry.second); });
  if (oldest == strangers_.end()) return;
  logOnce(oldest->second.from, why);
  strangers_.erase(oldest);
}

void Acceptor::read(std::uint64_t token) {
  while (readOnce(token)) {
  }
}

bool Acceptor::readOnce(std::uint64_t token) {
  const auto found = strangers_.find(token);
  if (found == strangers_.end()) return false;
  Stranger& stranger = found->second;
  if (stranger.phase == Phase::greeting && !greet(stranger, token)) return false;
  std::array<char, kHelloBytes> bytes;
  if (stranger.phase == Phase::refused || stranger.phase == Phase::unknown) {
    // No bytes may come now; reading shows when the other end closes.
    if (platform::readSome(stranger.stream.fd(), bytes.data(), bytes.size()).ended) strangers_.erase(found);
    return false;
  }
  // Reads not a byte more than the handshake: the bytes behind it belong to the link.
  const std::size_t size = stranger.phase == Phase::go ? kAnswerBytes : kHelloBytes;
  const platform::StreamResult got = stranger.stream.read(bytes.data(), size - stranger.input.size());
  if (got.ended) {
    if (!stranger.stream.failure().empty()) logOnce(stranger.from, stranger.stream.failure());
    strangers_.erase(found);
    return false;
  }
  stranger.input.append(bytes.data(), got.bytes);
  if (stranger.phase == Phase::hello) {
    if (stranger.input.size() == kHelloBytes || !helloMayBegin(stranger.input)) judge(stranger);
    return stranger.stream.hasInput() && got.bytes > 0;
  }
  if (stranger.input.size() < kAnswerBytes) return false;
  const auto answer = decodeAnswer(stranger.input);
  if (!answer.isOk() || answer.value().answer != Answer::go) {
    refuse(stranger, "it did not say go");
    return false;
  }
  Caller caller{std::move(stranger.stream), stranger.hello, stranger.from, stranger.via};
  strangers_.erase(found);
  poller_.remove(caller.stream.fd());
  handler_(std::move(caller));
  return false;
}

bool Acceptor::greet(Stranger& stranger, std::uint64_t token) {
  const platform::Greeting greeting = stranger.stream.greet();
  if (greeting == platform::Greeting::ready) stranger.phase = Phase::hello;
  if (greeting == platform::Greeting::failed) {
    if (!stranger.stream.failure().empty()) logOnce(stranger.from, stranger.stream.failure());
    platform::endWriting(stranger.stream.fd());
    stranger.phase = Phase::refused;
  }
  if (const bool writes = stranger.stream.hasOutput(); writes != stranger.writes) {
    stranger.writes = writes;
    [[maybe_unused]] const Status watched = poller_.change(stranger.stream.fd(), true, writes, token);
  }
  return greeting == platform::Greeting::ready;
}

void Acceptor::judge(Stranger& stranger) {
  const auto decoded = decodeHello(stranger.input);
  if (decoded.status().kind() == GOSS_ERR_PEER_LOST) {
    logOnce(stranger.from, decoded.status().text());
    return hangUp(stranger);
  }
  if (!decoded.isOk()) return refuse(stranger, decoded.status().text());
  const Hello& hello = decoded.value();
  if (!platform::equalInConstantTime(hello.job, context_.job)) return refuse(stranger, "it belongs to another job");
  if (hello.size != static_cast<std::uint32_t>(context_.size) || hello.to != static_cast<std::uint32_t>(context_.self))
    return refuse(stranger, fmt::format("rank {} of {} means to call rank {}; this is rank {} of {}", hello.from,
                                        hello.size, hello.to, context_.self, context_.size));
  if (isFull(hello.from)) {
    logOnce(stranger.from, "too many callers have the job's secret and say no more");
    // No answer: a refusal could be taken for the end of a link.
    return hangUp(stranger);
  }
  stranger.hello = hello;
  stranger.input.clear();
  judgeIdentity(stranger);
}

/// Whether so many callers of that rank, or of all ranks, have shown the secret and not said "go" that no more are
/// accepted.
bool Acceptor::isFull(std::uint32_t rank) const {
  std::size_t known = 0;
  std::size_t of_rank = 0;
  for (const auto& [token, stranger] : strangers_) {
    if (!isKnown(stranger)) continue;
    ++known;
    if (stranger.hello.from == rank) ++of_rank;
  }
  return of_rank >= kMaxKnownOfRank || known >= kMaxKnown + rightfulCallers();
}

/// All ranks may make all of their connections at once, and dropping one ends its link.
std::size_t Acceptor::rightfulCallers() const {
  const auto of_rank = static_cast<std::size_t>(std::max(1, context_.config->connections_per_peer)) + 1;
  return static_cast<std::size_t>(context_.size) * of_rank;
}

void Acceptor::judgeIdentity(Stranger& stranger) {
  if (const platform::StreamFilter* filter = stranger.stream.filter()) {
    const int rank = static_cast<int>(stranger.hello.from);
    if (!filter->mayBe(rank))
      return refuse(stranger, fmt::format("it claims rank {}, which the credentials of \"{}\" do not allow", rank,
                                          filter->name()));
    const std::string* identity = identities_(rank);
    if (identity == nullptr) {
      stranger.phase = Phase::unknown;
      stranger.deadline = Deadline::after(std::chrono::milliseconds(context_.config->bootstrap_timeout_ms));
      return;
    }
    if (*identity != filter->identity())
      return refuse(stranger, fmt::format("it claims rank {}, which is another process", rank));
  }
  welcome(stranger);
}

void Acceptor::welcome(Stranger& stranger) {
  if (gate_) {
    const Status judged = gate_(stranger.hello);
    if (judged.kind() == GOSS_ERR_PROTOCOL) return refuse(stranger, judged.text());
    if (!judged.isOk()) return turnAway(stranger, judged.text());
  }
  stranger.phase = Phase::go;
  stranger.deadline = Deadline::after(welcome_span_);
  const std::string welcome = encodeAnswer(Answer::welcome);
  // A new socket has space for the answer; if not, the caller gets none and calls again.
  stranger.stream.write(welcome);
}

void Acceptor::refuse(Stranger& stranger, std::string_view reason) {
  logOnce(stranger.from, reason);
  turnAway(stranger, reason);
}

/// Refuses a caller that belongs here, without logging it.
void Acceptor::turnAway(Stranger& stranger, std::string_view reason) {
  const std::string answer = encodeAnswer(Answer::refused, reason);
  stranger.stream.write(answer);
  hangUp(stranger);
}

void Acceptor::hangUp(Stranger& stranger) {
  platform::endWriting(stranger.stream.fd());
  // The socket stays until the caller has closed or its time is over: closing it with unread bytes would destroy the
  // answer.
  stranger.phase = Phase::refused;
  stranger.deadline = Deadline::after(std::chrono::milliseconds(kStrangerMs));
}

bool Acceptor::isIdle() const {
  const auto rests = [](const auto& listener) { return !listener.restsUntil().never(); };
  return strangers_.empty() && std::none_of(listeners_.begin(), listeners_.end(), rests);
}

void Acceptor::tick() {
  for (platform::ListeningSocket& listener : listeners_)
    listener.tick();
  for (auto& [token, stranger] : strangers_)
    if (stranger.phase == Phase::unknown) judgeIdentity(stranger);
  dropExpired();
}

void Acceptor::dropExpired() {
  std::vector<std::uint64_t> expired;
  for (const auto& [token, stranger] : strangers_)
    if (stranger.deadline.expired()) expired.push_back(token);
  for (const std::uint64_t token : expired) {
    // This rank may have been the slow one: bytes that it has not read yet count.
    if (strangers_.at(token).phase == Phase::go) read(token);
    const auto at = strangers_.find(token);
    if (at == strangers_.end()) continue;
    const Stranger& stranger = at->second;
    if (stranger.phase == Phase::greeting || stranger.phase == Phase::hello)
      logOnce(stranger.from, "it did not introduce itself in time");
    if (stranger.phase == Phase::go) logOnce(stranger.from, "it was welcomed and said nothing");
    strangers_.erase(at);
  }
}

void Acceptor::logOnce(const std::string& from, std::string_view reason) {
  const std::string key = from.substr(0, from.rfind(':')) + std::string(reason);
  if (logged_.size() < kMaxLogged && logged_.insert(key).second)
    log_.warn(fmt::format("TCP caller {} refused: {}", from, reason));
}

} // namespace goss::transports::tcp
