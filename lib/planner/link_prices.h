/// Prices of messages between ranks by their positions in machine and network: what the planner knows without a link
/// file.
#ifndef GOSS_LIB_PLANNER_LINK_PRICES_H_
#define GOSS_LIB_PLANNER_LINK_PRICES_H_

#include <vector>

#include "mesh/mesh.h"
#include "planner/round_trips.h"
#include "planner/tuning.h"
#include "schedule/links.h"

namespace goss {

/// How near to each other two processes of one host run.
enum class Locality {
  cache,   ///< They share a third-level cache; also used when it is not known where they run.
  numa,    ///< Other caches, the same memory.
  package, ///< They use the memory of different packages, or of different parts of one.
};
[[nodiscard]] Locality levelBetween(const platform::Place& one, const platform::Place& other);

/// Whether this rank talks to other processes of its host through sockets.
[[nodiscard]] bool usesSockets(const PeerCard& card);

struct LinkRules {
  Tuning tuning = Tuning::builtIn();
  double ranks_per_processor = 1; ///< As in oversubscribedPrice().
  /// Round trips between the hosts of the ranks that index the cards. Hosts that are wide apart have the price "wan" of
  /// Links::builtIn, with half of their round trip as the latency. The port of a host whose others are all wide apart
  /// is as fast as one such flow where ranks share it; that of one rank has no rate, because flows would be paced by
  /// it.
  RoundTrips round_trips = {};
};

/// Pure function of the cards, which also tell the transport of each pair: all ranks compute the same. `ranks` index
/// `cards`. Hosts are nodes, whose ranks share their port; on a single host packages are, when all its ranks are bound
/// to one and none uses sockets.
[[nodiscard]] schedule::Links linksBetween(const std::vector<PeerCard>& cards, const std::vector<int>& ranks,
                                           LinkRules rules);

} // namespace goss

#endif // GOSS_LIB_PLANNER_LINK_PRICES_H_
