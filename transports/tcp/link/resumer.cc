#include "transports/tcp/link/resumer.h"

#include <algorithm>
#include <utility>

#include "gossamer/config.h"

namespace goss::transports::tcp {

namespace {

using platform::Deadline;
using std::chrono::milliseconds;

constexpr milliseconds kCallInterval(50);
constexpr milliseconds kRecallInterval(300);
/// The peer's system closes the connections of a process that has died; middleboxes seldom close both ends. If a
/// middlebox did, the peer, which makes the connections, is back before this time.
constexpr int kTicksAfterOrderlyEnd = 16; // 0.8 s.

} // namespace

platform::Deadline Resumer::patience() const {
  const Config& config = *context_.config;
  return Deadline::after(milliseconds(config.silence_ms > 0 ? config.silence_ms : config.bootstrap_timeout_ms));
}

void Resumer::update(Link& link) {
  const std::vector<std::size_t> lost = link.lostConnections();
  const auto found = repairs_.find(link.peer());
  if (lost.empty()) {
    if (found != repairs_.end()) repairs_.erase(found);
    return;
  }
  Repair& repair = found != repairs_.end() ? found->second : begin(link);
  std::erase_if(repair.calls, [&](const auto& call) {
    return std::find(lost.begin(), lost.end(), call.first) == lost.end() || call.second->isDone();
  });
  const auto pause = pauses_.find(link.peer());
  if (pause != pauses_.end() && !pause->second.expired()) return;
  if (link.connections().areCalledFromHere()) {
    for (const std::size_t index : lost)
      if (!repair.calls.contains(index)) callFor(repair, index);
  } else if (repair.calls.empty()) {
    // All lost connections are called at once: one after the other they would take longer than the link has.
    for (const std::size_t index : lost)
      callFor(repair, index);
  }
}

Resumer::Repair& Resumer::begin(Link& link) {
  Repair& repair = repairs_[link.peer()];
  repair.link = &link;
  repair.deadline = patience();
  const std::vector<std::size_t> lost = link.lostConnections();
  const bool closed = std::any_of(lost.begin(), lost.end(),
                                  [&](std::size_t index) { return link.connections().all()[index].wasClosed(); });
  if (!link.connections().areCalledFromHere() && closed) repair.ticks_left = kTicksAfterOrderlyEnd;
  return repair;
}

void Resumer::callFor(Repair& repair, std::size_t index) {
  Link& link = *repair.link;
  Dialer::Target target = directory_(link.peer());
  const bool calls = link.connections().areCalledFromHere();
  const auto& remote = link.connections().remote(index);
  target.connections = 1;
  target.hello = link.connections().greeting(index, calls ? Purpose::resume : Purpose::recall);
  target.deadline = repair.deadline;
  target.refusing_host = remote;
  if (calls && remote) {
    // The address of the lost connection comes first.
    std::erase_if(target.addresses, [&](const auto& address) { return address.text() == remote->text(); });
    target.addresses.insert(target.addresses.begin(), *remote);
  }
  auto handler = [this, &repair, index](Dialer::Made made) { takeStream(repair, std::move(made.stream), index); };
  pauses_[link.peer()] = Deadline::after(calls ? kCallInterval : kRecallInterval);
  auto dialer = std::make_unique<Dialer>(context_, poller_, next_token_, std::move(target), std::move(handler));
  dialer->start();
  repair.calls[index] = std::move(dialer);
}

void Resumer::takeStream(Repair& repair, platform::Stream stream, std::size_t index) {
  if (!repair.link->connections().areCalledFromHere()) {
    // The peer knows the link and will call.
    return;
  }
  const Hello hello = repair.link->connections().greeting(index, Purpose::resume);
  tune_(stream.fd(), hello.connections);
  const Status resumed = repair.link->resume(std::move(stream), hello, poller_);
  if (!resumed.isOk()) repair.link->resumptionFailed(resumed.text(), PeerLoss::silent);
}

bool Resumer::handle(std::uint64_t token) {
  for (auto& [peer, repair] : repairs_)
    for (auto& [index, call] : repair.calls)
      if (call->handle(token)) {
        settle();
        return true;
      }
  return false;
}

void Resumer::tick() {
  for (auto& [peer, repair] : repairs_) {
    for (auto& [index, call] : repair.calls)
      call->tick();
    const bool counts = repair.ticks_left > 0 && !repair.calls.empty();
    if (counts && --repair.ticks_left == 0) repair.link->resumptionFailed("it does not answer", PeerLoss::silent);
  }
  settle();
}

void Resumer::settle() {
  std::vector<Link*> links;
  for (auto& [peer, repair] : repairs_) {
    links.push_back(repair.link);
    for (auto& [index, call] : repair.calls) {
      if (call->hostHasAccepted()) repair.ticks_left = 0;
      const PeerLoss how = call->foundNobody() ? PeerLoss::ended : PeerLoss::silent;
      if (!call->error().isOk()) repair.link->resumptionFailed(call->error().text(), how);
    }
    if (repair.deadline.expired()) repair.link->resumptionFailed("it was not resumed in time", PeerLoss::silent);
  }
  for (Link* link : links)
    update(*link);
}

} // namespace goss::transports::tcp
