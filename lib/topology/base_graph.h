/// Graphs that reach the exact mean after finitely many rounds, for any number of ranks.
#ifndef GOSS_LIB_TOPOLOGY_BASE_GRAPH_H_
#define GOSS_LIB_TOPOLOGY_BASE_GRAPH_H_

#include <vector>

#include "topology/mixing.h"

namespace goss::topology {

/// The Base-(k+1) graph of Takezawa, Sato, Bao, Niwa and Yamada (NeurIPS 2023, arXiv 2305.11420): no rank has more than
/// k neighbours in a round, and after the rounds together every rank holds the mean. Matrices are symmetric. 1 <= k <
/// `ranks`, or one rank.
std::vector<Mixing> baseGraph(int ranks, int k);

} // namespace goss::topology

#endif // GOSS_LIB_TOPOLOGY_BASE_GRAPH_H_
