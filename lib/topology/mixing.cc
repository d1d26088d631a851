#include "topology/mixing.h"

#include <algorithm>
#include <cstddef>

namespace goss::topology {

double Mixing::at(int row, int column) const {
  const std::vector<Neighbor>& entries = rows[static_cast<std::size_t>(row)];
  const auto found = std::ranges::lower_bound(entries, column, {}, &Neighbor::rank);
  return found != entries.end() && found->rank == column ? found->weight : 0;
}

} // namespace goss::topology
