/// The matrix by which a round of gossip mixes the ranks' vectors.
#ifndef GOSS_LIB_TOPOLOGY_MIXING_H_
#define GOSS_LIB_TOPOLOGY_MIXING_H_

#include <vector>

#include "gossamer/neighborhood.h"

namespace goss::topology {

/// One round's mixing matrix W, sparse: after the round rank i holds the sum over j of W(i, j) x_j. rows[i] lists the
/// columns that are not zero, in increasing order; the diagonal is always listed.
struct Mixing {
  std::vector<std::vector<Neighbor>> rows;
  [[nodiscard]] double at(int row, int column) const;
};

} // namespace goss::topology

#endif // GOSS_LIB_TOPOLOGY_MIXING_H_
