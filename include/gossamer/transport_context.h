/// What a transport is made with: its rank, its world, and the listener that learns of lost peers.
#ifndef GOSSAMER_TRANSPORT_CONTEXT_H_
#define GOSSAMER_TRANSPORT_CONTEXT_H_

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "gossamer/status.h"

namespace goss {

/// How a transport has lost a peer. A peer that has departed, has ended or is absent does not go on, so that the other
/// ranks may go on without it. A silent peer may go on with other ranks. A peer is silent when neither it nor its host
/// has said more.
enum class PeerLoss {
  departed, ///< The peer said goodbye before it closed: not a failure by itself.
  ended,    ///< The peer's host shows that its process has ended, or refuses calls at the port where it listened.
  silent, ///< The link broke and the peer was not reached again in time, or one end of the link has given up the other.
  absent, ///< The peer has departed or ended before a link to it was made: its host refuses the call.
};

class TransportListener {
 public:
  virtual ~TransportListener() = default;
  /// Called out of progress(), once per peer. Pending operations on the peer have failed or will fail in this
  /// progress().
  virtual void onPeerLost(int peer, const Status& status, PeerLoss how) = 0;
};

struct Config;

/// Addresses of a rank and of rank 0, as routers (NAT) translate them: 4 or 16 bytes in network order; "" where no
/// router translates the address, and for rank 0 itself. Ranks with equal sites are on the same side of all routers.
struct Site {
  std::string from; ///< The address from which this rank's calls arrive.
  std::string at;   ///< The address at which it has reached rank 0.
  friend bool operator==(const Site&, const Site&) = default;
};

struct TransportContext {
  int self = 0;                          ///< World rank.
  int size = 1;                          ///< World size.
  std::array<std::byte, 16> job{};       ///< Secret of this world; both ends of a connection must show the same.
  const Config* config = nullptr;        ///< Outlives the transport.
  TransportListener* listener = nullptr; ///< Outlives the transport.
  /// Sites by rank; filled before connect() is called; outlives the transport. Null: unknown.
  const std::vector<Site>* sites = nullptr;
};

} // namespace goss

#endif // GOSSAMER_TRANSPORT_CONTEXT_H_
