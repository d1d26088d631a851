/// What a transport is made with: its rank, its world, and the listener that learns of lost peers.
#ifndef GOSSAMER_TRANSPORT_CONTEXT_H_
#define GOSSAMER_TRANSPORT_CONTEXT_H_

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "gossamer/status.h"

namespace goss {

/// How a transport knows that a peer is lost. The other ranks may go on without a peer that has departed or ended, or
/// is absent. A silent peer may itself go on, on the other side of a cut. A loss that neither the peer nor its host has
/// told is silence.
enum class PeerLoss {
  departed, ///< The peer said goodbye before it closed: not a failure by itself.
  ended,    ///< The peer's host shows that its process has ended, or refuses calls at the port where it listened.
  silent,   ///< The link to the peer broke, or either end gave it up, and the peer was not reached again in time.
  absent,   ///< The peer has departed or ended: its host refuses the first call, so that it could not say goodbye.
};

class TransportListener {
 public:
  virtual ~TransportListener() = default;
  /// Called out of progress(), once per peer. Pending operations on the peer have failed or will fail in this
  /// progress().
  virtual void onPeerLost(int peer, const Status& status, PeerLoss how) = 0;
};

struct Config;

/// How this rank's and rank 0's addresses look to each other: 4 or 16 bytes in network order; "" where no router
/// translates that address (NAT), and throughout for rank 0. Ranks with equal sites are on the same side of all
/// routers.
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
