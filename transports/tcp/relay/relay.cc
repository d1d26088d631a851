#include "transports/tcp/relay/relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gossamer/config.h"

namespace goss::transports::tcp {

using platform::Deadline;

std::string Relay::whyNot(const Hello& hello, std::size_t coming) const {
  if (context_.config->relay == "off") return "it does not relay (GOSS_RELAY=off)";
  if (pairs_.size() >= kMaxPairs || halves_.size() + coming >= kMaxHalves) return "it relays between too many already";
  const auto theirs = std::count_if(pairs_.begin(), pairs_.end(), [&](const auto& entry) {
    const auto both = std::minmax(entry.second.one, entry.second.other);
    return both == std::minmax(hello.from, hello.relayed_to);
  });
  if (theirs >= kMaxPairsOfTwo) return "it relays between these two already";
  return {};
}

void Relay::add(Acceptor::Caller caller) {
  Half half{std::move(caller.stream), caller.hello.from, caller.hello.relayed_to,
            Deadline::after(std::chrono::milliseconds(context_.config->bootstrap_timeout_ms))};
  // A rank that calls again has given up its older call.
  std::erase_if(halves_,
                [&](const auto& entry) { return entry.second.from == half.from && entry.second.to == half.to; });
  const auto other = std::find_if(halves_.begin(), halves_.end(), [&](const auto& entry) {
    return entry.second.from == half.to && entry.second.to == half.from;
  });
  if (other != halves_.end() && pairs_.size() >= kMaxPairs) return;
  if (other != halves_.end()) {
    Half waited = std::move(other->second);
    halves_.erase(other);
    poller_.remove(waited.stream.fd());
    join(std::move(waited), std::move(half));
    return dropEnded();
  }
  const std::uint64_t token = next_token_;
  next_token_ += 2;
  if (poller_.add(half.stream.fd(), true, false, token).isOk()) halves_[token] = std::move(half);
}

void Relay::join(Half one, Half other) {
  const std::string joined = encodeAnswer(Answer::joined);
  // New sockets have space for it; if not, both ranks call again.
  if (one.stream.write(joined).bytes != joined.size() || other.stream.write(joined).bytes != joined.size()) return;
  const std::uint64_t token = next_token_;
  next_token_ += 2;
  auto forwarder = std::make_unique<ByteForwarder>(std::move(one.stream), std::move(other.stream), poller_, token);
  if (!forwarder->open().isOk()) return;
  log_.info(fmt::format("relays between rank {} and rank {}", one.from, other.from));
  Pair& pair = pairs_[token];
  pair = Pair{std::move(forwarder), one.from, other.from};
  runPair(pair);
}

void Relay::handle(std::uint64_t token) {
  if (const auto pair = pairs_.find(token & ~std::uint64_t{1}); pair != pairs_.end()) {
    runPair(pair->second);
    return dropEnded();
  }
  const auto half = halves_.find(token);
  if (half == halves_.end()) return;
  half->second.stream.flush();
  char byte = 0;
  // No bytes may come before "joined"; reading shows when the other end closes.
  const platform::StreamResult got = half->second.stream.read(&byte, 1);
  if (got.ended || got.bytes > 0) halves_.erase(half);
}

bool Relay::run() {
  bool any = false;
  for (auto& [token, pair] : pairs_) {
    if (!pair.forwarder->hasWork()) continue;
    any = true;
    runPair(pair);
  }
  dropEnded();
  return any;
}

void Relay::runPair(Pair& pair) {
  pair.forwarder->run();
  ending_ = ending_ || pair.forwarder->isEnding();
}

bool Relay::hasWork() const {
  return std::any_of(pairs_.begin(), pairs_.end(), [](const auto& entry) { return entry.second.forwarder->hasWork(); });
}

void Relay::tick() {
  std::erase_if(halves_, [](const auto& entry) { return entry.second.deadline.expired(); });
  if (!ending_) return;
  for (auto& [token, pair] : pairs_)
    pair.forwarder->tick();
  dropEnded();
  ending_ =
      std::any_of(pairs_.begin(), pairs_.end(), [](const auto& entry) { return entry.second.forwarder->isEnding(); });
}

void Relay::dropEnded() {
  for (auto at = pairs_.begin(); at != pairs_.end();) {
    const Pair& pair = at->second;
    if (!pair.forwarder->isOver()) {
      ++at;
      continue;
    }
    bytes_of_ended_ += pair.forwarder->bytes();
    log_.info(fmt::format("relays no longer between rank {} and rank {}; {} bytes were passed on", pair.one, pair.other,
                          pair.forwarder->bytes()));
    at = pairs_.erase(at);
  }
}

std::uint64_t Relay::bytes() const {
  std::uint64_t sum = bytes_of_ended_;
  for (const auto& [token, pair] : pairs_)
    sum += pair.forwarder->bytes();
  return sum;
}

} // namespace goss::transports::tcp
