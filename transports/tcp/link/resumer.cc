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
  auto handler = [this, &repair, index](Dialer::Made made) { takeStream(repair, std::move(made), index); };
  pauses_[link.peer()] = Deadline::after(calls ? kCallInterval : kRecallInterval);
  auto dialer = std::make_unique<Dialer>(context_, poller_, next_token_, std::move(target), std::move(handler));
  dialer->start();
  repair.calls[index] = std::move(dialer);
}

void Resumer::takeStream(Repair& repair, Dialer::Made made, std::size_t index) {
  if (!repair.link->connections().areCalledFromHere()) {
    // The peer knows the link and will call.
    return;
  }
  const Hello hello = repair.link->connections().greeting(index, Purpose::resume);
  tune_(made.stream.fd(), hello.connections);
  const Status resumed = repair.link->resume(std::move(made.stream), hello, poller_, made.remote);
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
    if (!repair.ticks_left || repair.calls.empty() || --*repair.ticks_left != Dialer::kLastTicks) continue;
    for (auto& [index, call] : repair.calls)
      call->callOnceMore();
  }
  settle();
}

/// What the calls have found comes first: one may be answered in the last tick.
void Resumer::judge(Repair& repair) {
  const auto fail = [&](const std::string& why, PeerLoss how) { repair.link->resumptionFailed(why, how); };
  bool pending = false;
  for (const auto& [index, call] : repair.calls) {
    if (call->hostHasAccepted()) repair.ticks_left.reset();
    if (call->foundNobody()) fail(call->error().text(), PeerLoss::ended);
    pending = pending || (!call->isDone() && call->error().isOk());
  }
  for (const auto& [index, call] : repair.calls)
    if (!call->error().isOk()) fail(call->error().text(), PeerLoss::silent);
  // Pending calls know the deadline.
  if (repair.deadline.expired() && !pending) fail("it was not resumed in time", PeerLoss::silent);
  if (repair.ticks_left && *repair.ticks_left <= 0) fail("it does not answer", PeerLoss::silent);
}

void Resumer::settle() {
  std::vector<Link*> links;
  for (auto& [peer, repair] : repairs_) {
    links.push_back(repair.link);
    judge(repair);
  }
  for (Link* link : links)
    update(*link);
}

} // namespace goss::transports::tcp
