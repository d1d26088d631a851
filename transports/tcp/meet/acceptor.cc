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
      dropOldestUnknown("it says nothing while there are no descriptors");
      continue;
    }
    if (!accepted.value().fd.valid()) return;
    while (unknownCallers() >= kMaxUnknown + knownCallers())
      dropOldestUnknown("too many callers say nothing; the oldest is dropped");
    addCaller(accepted.take());
  }
}

void Acceptor::addCaller(platform::Accepted accepted) {
  platform::tuneForMessages(accepted.fd.get());
  auto stream = secure(std::move(accepted.fd));
  if (!stream.isOk()) return logOnce(accepted.from.text(), stream.status().text());
  const std::uint64_t token = next_token_++;
  if (!poller_.add(stream.value().fd(), true, false, token).isOk()) return;
  Handshake& handshake = handshakes_[token];
  handshake.stream = stream.take();
  handshake.from = accepted.from.text();
  handshake.remote = accepted.from;
  handshake.deadline = Deadline::after(std::chrono::milliseconds(kUnknownMs));
  // Read at once: a caller that sends its hello at once, as ranks do, is never dropped to make space for others.
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
  Handshake& handshake = handshakes_[token];
  handshake.stream = std::move(stream);
  handshake.from = fmt::format("{} relayed by rank {}", from ? from->text() : "an address", via);
  handshake.via = via;
  handshake.remote = from;
  handshake.deadline = Deadline::after(std::chrono::milliseconds(kUnknownMs));
  read(token);
  return Status::ok();
}

bool Acceptor::awaitsGo(int rank) const {
  return std::any_of(handshakes_.begin(), handshakes_.end(), [rank](const auto& entry) {
    const Handshake& handshake = entry.second;
    return handshake.state == State::go && handshake.hello.purpose != Purpose::relay &&
           handshake.hello.from == static_cast<std::uint32_t>(rank);
  });
}

std::size_t Acceptor::relayCallers() const {
  return static_cast<std::size_t>(std::count_if(handshakes_.begin(), handshakes_.end(), [](const auto& entry) {
    return entry.second.state == State::go && entry.second.hello.purpose == Purpose::relay;
  }));
}

Result<platform::Stream> Acceptor::secure(platform::UniqueFd fd) {
  if (security_ == nullptr) return platform::Stream(std::move(fd));
  auto filter = security_->callee();
  if (!filter.isOk()) return filter.status();
  return platform::Stream(std::move(fd), filter.take());
}

std::size_t Acceptor::unknownCallers() const {
  return static_cast<std::size_t>(
      std::count_if(handshakes_.begin(), handshakes_.end(), [](const auto& entry) { return !isKnown(entry.second); }));
}

void Acceptor::dropOldestUnknown(std::string_view why) {
  const auto oldest =
      std::find_if(handshakes_.begin(), handshakes_.end(), [](const auto& entry) { return !isKnown(entry.second); });
  if (oldest == handshakes_.end()) return;
  logOnce(oldest->second.from, why);
  handshakes_.erase(oldest);
}

void Acceptor::read(std::uint64_t token) {
  while (readOnce(token)) {
  }
}

bool Acceptor::readOnce(std::uint64_t token) {
  const auto found = handshakes_.find(token);
  if (found == handshakes_.end()) return false;
  Handshake& handshake = found->second;
  if (handshake.state == State::greeting && !greet(handshake, token)) return false;
  std::array<char, kHelloBytes> bytes;
  if (handshake.state == State::refused || handshake.state == State::unknown) {
    // No bytes may come now; reading shows when the other end closes.
    if (platform::readSome(handshake.stream.fd(), bytes.data(), bytes.size()).ended) handshakes_.erase(found);
    return false;
  }
  // Reads not a byte more than the handshake: the bytes behind it belong to the link.
  const std::size_t size = handshake.state == State::go ? kAnswerBytes : kHelloBytes;
  const platform::StreamResult got = handshake.stream.read(bytes.data(), size - handshake.input.size());
  if (got.ended) {
    if (!handshake.stream.failure().empty()) logOnce(handshake.from, handshake.stream.failure());
    handshakes_.erase(found);
    return false;
  }
  handshake.input.append(bytes.data(), got.bytes);
  if (handshake.state == State::hello) {
    if (handshake.input.size() == kHelloBytes || !helloMayBegin(handshake.input)) judge(handshake);
    return handshake.stream.hasInput() && got.bytes > 0;
  }
  if (handshake.input.size() < kAnswerBytes) return false;
  const auto answer = decodeAnswer(handshake.input);
  if (!answer.isOk() || answer.value().answer != Answer::go) {
    refuse(handshake, "it did not say go");
    return false;
  }
  Caller caller{std::move(handshake.stream), handshake.hello, handshake.from, handshake.via, handshake.remote};
  handshakes_.erase(found);
  poller_.remove(caller.stream.fd());
  handler_(std::move(caller));
  return false;
}

bool Acceptor::greet(Handshake& handshake, std::uint64_t token) {
  const platform::Greeting greeting = handshake.stream.greet();
  if (greeting == platform::Greeting::ready) handshake.state = State::hello;
  if (greeting == platform::Greeting::failed) {
    if (!handshake.stream.failure().empty()) logOnce(handshake.from, handshake.stream.failure());
    platform::endWriting(handshake.stream.fd());
    handshake.state = State::refused;
  }
  if (const bool writes = handshake.stream.hasOutput(); writes != handshake.writes) {
    handshake.writes = writes;
    [[maybe_unused]] const Status watched = poller_.change(handshake.stream.fd(), true, writes, token);
  }
  return greeting == platform::Greeting::ready;
}

void Acceptor::judge(Handshake& handshake) {
  const auto decoded = decodeHello(handshake.input);
  if (decoded.status().kind() == GOSS_ERR_PEER_LOST) {
    logOnce(handshake.from, decoded.status().text());
    return close(handshake);
  }
  if (!decoded.isOk()) return refuse(handshake, decoded.status().text());
  const Hello& hello = decoded.value();
  if (!platform::equalInConstantTime(hello.job, context_.job)) return refuse(handshake, kAnotherJob);
  if (hello.size != static_cast<std::uint32_t>(context_.size) || hello.to != static_cast<std::uint32_t>(context_.self))
    return refuse(handshake, fmt::format("rank {} of {} means to call rank {}; this is rank {} of {}", hello.from,
                                         hello.size, hello.to, context_.self, context_.size));
  if (isFull(hello.from)) {
    logOnce(handshake.from, "too many callers have the job's secret and say no more");
    // No answer: a refusal could be taken for the end of a link.
    return close(handshake);
  }
  handshake.hello = hello;
  handshake.input.clear();
  judgeIdentity(handshake);
}

/// Whether so many callers of that rank, or of all ranks, have shown the secret and not said "go" that no more are
/// accepted.
bool Acceptor::isFull(std::uint32_t rank) const {
  std::size_t known = 0;
  std::size_t of_rank = 0;
  for (const auto& [token, handshake] : handshakes_) {
    if (!isKnown(handshake)) continue;
    ++known;
    if (handshake.hello.from == rank) ++of_rank;
  }
  return of_rank >= kMaxKnownOfRank || known >= kMaxKnown + knownCallers();
}

/// All ranks may make all of their connections at once, and dropping one ends its link.
std::size_t Acceptor::knownCallers() const {
  const auto of_rank = static_cast<std::size_t>(std::max(1, context_.config->connections_per_peer)) + 1;
  return static_cast<std::size_t>(context_.size) * of_rank;
}

void Acceptor::judgeIdentity(Handshake& handshake) {
  if (const platform::StreamFilter* filter = handshake.stream.filter()) {
    const int rank = static_cast<int>(handshake.hello.from);
    if (!filter->mayBe(rank))
      return refuse(handshake, fmt::format("it claims rank {}, which the credentials of \"{}\" do not allow", rank,
                                           filter->name()));
    const std::string* identity = identities_(rank);
    if (identity == nullptr) {
      handshake.state = State::unknown;
      handshake.deadline = Deadline::after(std::chrono::milliseconds(context_.config->bootstrap_timeout_ms));
      return;
    }
    if (*identity != filter->identity())
      return refuse(handshake, fmt::format("it claims rank {}, which is another process", rank));
  }
  welcome(handshake);
}

void Acceptor::welcome(Handshake& handshake) {
  if (gate_) {
    const Status judged = gate_(handshake.hello);
    if (judged.kind() == GOSS_ERR_PROTOCOL) return refuse(handshake, judged.text());
    if (!judged.isOk()) return refuseAndLog(handshake, judged.text());
  }
  handshake.state = State::go;
  handshake.deadline = Deadline::after(welcome_span_);
  const std::string welcome = encodeAnswer(Answer::welcome);
  // A new socket has space for the answer; if not, the caller gets none and calls again.
  handshake.stream.write(welcome);
}

void Acceptor::refuse(Handshake& handshake, std::string_view reason) {
  logOnce(handshake.from, reason);
  refuseAndLog(handshake, reason);
}

/// Refuses a caller that belongs here, without logging it.
void Acceptor::refuseAndLog(Handshake& handshake, std::string_view reason) {
  const std::string answer = encodeAnswer(Answer::refused, reason);
  handshake.stream.write(answer);
  close(handshake);
}

void Acceptor::close(Handshake& handshake) {
  platform::endWriting(handshake.stream.fd());
  // The socket stays until the caller has closed or its time is over: closing it with unread bytes would destroy the
  // answer.
  handshake.state = State::refused;
  handshake.deadline = Deadline::after(std::chrono::milliseconds(kUnknownMs));
}

bool Acceptor::isIdle() const {
  const auto rests = [](const auto& listener) { return !listener.restsUntil().never(); };
  return handshakes_.empty() && std::none_of(listeners_.begin(), listeners_.end(), rests);
}

void Acceptor::tick() {
  for (platform::ListeningSocket& listener : listeners_)
    listener.tick();
  for (auto& [token, handshake] : handshakes_)
    if (handshake.state == State::unknown) judgeIdentity(handshake);
  dropExpired();
}

void Acceptor::dropExpired() {
  std::vector<std::uint64_t> expired;
  for (const auto& [token, handshake] : handshakes_)
    if (handshake.deadline.expired()) expired.push_back(token);
  for (const std::uint64_t token : expired) {
    // This rank may have been the slow one: bytes that it has not read yet count.
    if (handshakes_.at(token).state == State::go) read(token);
    const auto at = handshakes_.find(token);
    if (at == handshakes_.end()) continue;
    const Handshake& handshake = at->second;
    if (handshake.state == State::greeting || handshake.state == State::hello)
      logOnce(handshake.from, "it did not introduce itself in time");
    if (handshake.state == State::go) logOnce(handshake.from, "it was welcomed and said nothing");
    handshakes_.erase(at);
  }
}

void Acceptor::logOnce(const std::string& from, std::string_view reason) {
  const std::string key = from.substr(0, from.rfind(':')) + std::string(reason);
  if (logged_.size() < kMaxLogged && logged_.insert(key).second)
    log_.warn(fmt::format("TCP caller {} refused: {}", from, reason));
}

} // namespace goss::transports::tcp
