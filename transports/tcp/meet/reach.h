/// Where a peer can be called from here, and in which order that is tried. Pure.
#ifndef GOSS_TRANSPORTS_TCP_MEET_REACH_H_
#define GOSS_TRANSPORTS_TCP_MEET_REACH_H_

#include <vector>

#include "gossamer/transport_context.h"
#include "platform/socket.h"
#include "transports/tcp/stream/wire.h"

namespace goss::transports::tcp {

struct Reach {
  std::vector<platform::SocketAddress> sockets; ///< Best first.
  /// Those at which, if anybody, a router answers: what it refuses says nothing about the peer.
  std::vector<platform::SocketAddress> of_routers;
};

/// `own` and `peer` are addresses of two ranks, and `own_site` and `peer_site` where rank 0 found them. On one host
/// loopback comes first. On the same side of all routers the peer's own addresses come first, else those that it
/// advertises and then, with the port that it listens on, the one at which a router may take calls for it: from where
/// it was seen to call, or, when it is where rank 0 is, at which rank 0 was called from here. Addresses that are this
/// host's own as well come last, for they are somebody else there. Empty: both ends know that they cannot meet.
Reach reachOf(const Address& own, const Site& own_site, const Address& peer, const Site& peer_site);

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_MEET_REACH_H_
