/// Weights for the arcs of a graph.
#ifndef GOSS_LIB_TOPOLOGY_WEIGHTS_H_
#define GOSS_LIB_TOPOLOGY_WEIGHTS_H_

#include "gossamer/status.h"
#include "topology/graphs.h"
#include "topology/mixing.h"

namespace goss::topology {

enum class Rule : std::uint8_t {
  uniform,    ///< A rank averages itself and its sources: rows sum to 1.
  metropolis, ///< 1 / (1 + the larger degree), the rest stays (Metropolis-Hastings); for graphs without direction.
  pushSum,    ///< A rank cuts its vector into equal parts for itself and its destinations: columns sum to 1.
};

/// The matrix of a round. Errors: invalidArgument, for Rule::metropolis and an arc that has no opposite.
Result<Mixing> weighted(const Graph& graph, Rule rule);

} // namespace goss::topology

#endif // GOSS_LIB_TOPOLOGY_WEIGHTS_H_
