/// Where a peer can be called from this rank, and in which order the addresses are tried. Pure.
#ifndef GOSS_TRANSPORTS_TCP_MEET_REACH_H_
#define GOSS_TRANSPORTS_TCP_MEET_REACH_H_

#include <vector>

#include "gossamer/transport_context.h"
#include "platform/socket.h"
#include "transports/tcp/stream/wire.h"

namespace goss::transports::tcp {

struct Reach {
  std::vector<platform::SocketAddress> sockets; ///< Best first.
  /// Sockets at which a router may answer: what it refuses says nothing about the peer.
  std::vector<platform::SocketAddress> of_routers;
  bool one_host = false; ///< Both ranks are on one host.
};

/// `own` and `peer` are the addresses of two ranks, and `own_site` and `peer_site` where rank 0 saw them. On one host
/// loopback comes first. On the same side of all routers the peer's own addresses come first, else those that it
/// advertises, and then, with the port that it listens on, the address at which a router may take calls for it: the one
/// from which it was seen to call, or, when it is at rank 0's site, the one at which this rank called rank 0. Addresses
/// that this host has as well come last, because there they belong to another host. Empty: both ends know that they
/// cannot meet.
Reach reachOf(const Address& own, const Site& own_site, const Address& peer, const Site& peer_site);

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_MEET_REACH_H_
