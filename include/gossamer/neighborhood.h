/// A rank's neighbours in one round of gossip.
#ifndef GOSSAMER_NEIGHBORHOOD_H_
#define GOSSAMER_NEIGHBORHOOD_H_

#include <vector>

namespace goss {

/// A neighbour and the factor of what comes from it, or goes to it.
struct Neighbor {
  int rank = 0;
  double weight = 1;
  friend bool operator==(const Neighbor&, const Neighbor&) = default;
};

/// The neighbours of one rank: `sources` send to it, it sends to `destinations`. Neither list holds the rank itself, or
/// a rank twice. A weighted sum multiplies what it sends by the destination's weight, what arrives by the source's, and
/// its own vector by `self_weight`.
struct Neighborhood {
  double self_weight = 1;
  std::vector<Neighbor> sources;
  std::vector<Neighbor> destinations;
  friend bool operator==(const Neighborhood&, const Neighborhood&) = default;
};

} // namespace goss

#endif // GOSSAMER_NEIGHBORHOOD_H_
