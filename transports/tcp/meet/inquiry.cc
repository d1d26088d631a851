#include "transports/tcp/meet/inquiry.h"

#include <algorithm>
#include <utility>

#include "gossamer/config.h"

namespace goss::transports::tcp {

void Inquiry::ask(Dialer::Target target, const std::optional<platform::SocketAddress>& remote, const Status& why) {
  const int peer = target.peer;
  std::erase_if(target.addresses, [&](const auto& address) { return !remote || !remote->sameHost(address); });
  if (target.addresses.empty()) return verdict_(peer, why, PeerLoss::silent);
  const std::int64_t silence_ms = context_.config->silence_ms;
  const std::int64_t span_ms = silence_ms > 0 ? std::min(kSpanMs, silence_ms) : kSpanMs;
  target.connections = 1;
  target.hello.connections = 1;
  target.hello.purpose = Purpose::recall;
  target.hello.token.fill(std::byte{1}); // A link that is not resumed has no token.
  target.deadline = platform::Deadline::after(std::chrono::milliseconds(span_ms));
  target.refusing_host = remote;
  Case& one = cases_[peer];
  one.why = why;
  one.call = std::make_unique<Dialer>(context_, poller_, next_token_, std::move(target), [](Dialer::Made) {});
  one.call->start();
  settle(); // On one host the call is answered at once.
}

bool Inquiry::handle(std::uint64_t token) {
  const bool ours =
      std::any_of(cases_.begin(), cases_.end(), [token](const auto& one) { return one.second.call->handle(token); });
  if (ours) settle();
  return ours;
}

void Inquiry::tick() {
  for (auto& [peer, one] : cases_)
    one.call->tick();
  settle();
}

void Inquiry::settle() {
  for (auto at = cases_.begin(); at != cases_.end();) {
    const Dialer& call = *at->second.call;
    if (!call.isDone() && call.error().isOk()) {
      ++at;
      continue;
    }
    verdict_(at->first, at->second.why, call.foundNobody() ? PeerLoss::ended : PeerLoss::silent);
    at = cases_.erase(at);
  }
}

} // namespace goss::transports::tcp
