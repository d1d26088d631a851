/// The graphs of gossip without weights.
#ifndef GOSS_LIB_TOPOLOGY_GRAPHS_H_
#define GOSS_LIB_TOPOLOGY_GRAPHS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace goss::topology {

/// One round: sources[i] are the ranks that send to rank i, in increasing order, without i.
struct Graph {
  std::vector<std::vector<int>> sources;
  [[nodiscard]] std::vector<std::vector<int>> destinations() const;
};

/// Rank r is joined with r - 1 and r + 1 along each dimension; ranks are numbered with the last dimension fastest. The
/// product of `dims` is the number of ranks; a ring has one dimension.
Graph torus(std::span<const int> dims);
/// Ranks whose numbers differ in one bit are joined; `ranks` is a power of two.
Graph hypercube(int ranks);
/// Rank 0 is joined with all others.
Graph star(int ranks);
Graph full(int ranks);
/// Rank r sends to r + 1, r + 2, r + 4, ... (Assran et al. 2019; Ying et al. 2021).
Graph exponential(int ranks);
/// Round t: rank r sends to r + 2^(t mod ceil(log2 ranks)) (Ying et al., NeurIPS 2021).
std::vector<Graph> onePeerExponential(int ranks);
/// Bagua's pairs: round t joins rank r of the first half with the rank (t + r) mod (ranks / 2) of the second half, for
/// an even number of ranks.
std::vector<Graph> shiftOne(int ranks);
/// A connected random graph in which every rank has `degree` neighbours: seeded switches of a circulant graph's edges.
/// `ranks` * `degree` is even and 2 <= degree < ranks, or both are a pair's.
Graph randomRegular(int ranks, int degree, std::uint64_t seed);
/// Moshpit's groups (Ryabinin et al. 2021): round t joins all ranks that differ in coordinate t mod dims.size() alone.
/// Places of the grid beyond the last rank stay empty.
std::vector<Graph> grid(std::span<const int> dims, int ranks);

/// Whether every rank can reach every other along the arcs of all rounds together.
bool isConnected(std::span<const Graph> rounds);

} // namespace goss::topology

#endif // GOSS_LIB_TOPOLOGY_GRAPHS_H_
