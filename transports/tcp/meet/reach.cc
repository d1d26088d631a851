#include "transports/tcp/meet/reach.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace goss::transports::tcp {

namespace {

using platform::SocketAddress;
using Sockets = std::vector<SocketAddress>;

bool isLoopback(const SocketAddress& socket) { return socket.loopback(); }

bool hasHost(const Sockets& sockets, const SocketAddress& host) {
  return std::any_of(sockets.begin(), sockets.end(), [&](const auto& one) { return one.sameHost(host); });
}

Sockets advertisedOf(const Address& address) {
  return {address.sockets.begin(), address.sockets.begin() + static_cast<std::ptrdiff_t>(address.advertised)};
}

Sockets ownOf(const Address& address) {
  return {address.sockets.begin() + static_cast<std::ptrdiff_t>(address.advertised), address.sockets.end()};
}

/// Addresses at which a router may take calls for the peer although none was advertised.
Sockets guess(const Site& own_site, const Address& peer, const Site& peer_site) {
  const Sockets own = ownOf(peer);
  const std::string& host = !peer_site.from.empty() || !peer_site.at.empty() ? peer_site.from : own_site.at;
  const auto socket = SocketAddress::fromBytes(host, own.empty() ? 0 : own.front().port());
  const bool known = !socket || own.empty() || hasHost(peer.sockets, *socket) || socket->loopback();
  return known ? Sockets() : Sockets{*socket};
}

/// Appends those of `more` that `sockets` does not hold yet.
void append(Sockets& sockets, const Sockets& more) {
  for (const SocketAddress& socket : more)
    if (std::find(sockets.begin(), sockets.end(), socket) == sockets.end()) sockets.push_back(socket);
}

} // namespace

Reach reachOf(const Address& own, const Site& own_site, const Address& peer, const Site& peer_site) {
  Sockets theirs = ownOf(peer);
  Sockets outside = advertisedOf(peer);
  Reach reach;
  if (own.host_identity == peer.host_identity) {
    // On one host nothing can block loopback.
    std::stable_sort(theirs.begin(), theirs.end(),
                     [](const auto& a, const auto& b) { return a.loopback() && !b.loopback(); });
    append(reach.sockets, theirs);
    reach.one_host = true;
    return reach;
  }
  // Both ends must answer alike, whichever of them will call, so guesses do not count here.
  for (const Address* address : {&own, &peer})
    if (std::all_of(address->sockets.begin(), address->sockets.end(), isLoopback)) return {};
  append(outside, guess(own_site, peer, peer_site));
  std::copy_if(outside.begin(), outside.end(), std::back_inserter(reach.of_routers),
               [&](const auto& socket) { return !hasHost(theirs, socket); });
  std::erase_if(theirs, isLoopback);
  const auto mine = std::stable_partition(theirs.begin(), theirs.end(),
                                          [&](const auto& socket) { return !hasHost(own.sockets, socket); });
  const Sockets last(mine, theirs.end());
  theirs.erase(mine, theirs.end());
  const bool near = own_site == peer_site;
  append(reach.sockets, near ? theirs : outside);
  append(reach.sockets, near ? outside : theirs);
  append(reach.sockets, last);
  return reach;
}

} // namespace goss::transports::tcp
