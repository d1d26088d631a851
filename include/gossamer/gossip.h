/// Gossamer's gossip (C99): who averages with whom, as values.
///
/// The conventions of gossamer.h hold. A **topology** says for every round which ranks send to which, and with what
/// weights: after round t rank i holds the sum over j of W_t(i, j) x_j. Rounds are numbered from 0 and repeat with the
/// topology's period. It is immutable, and any number of threads may use one at a time. docs/relaxations.md is about
/// what to do with them.
///
///   ring                     each rank and its two neighbours
///   torus:4x4                neighbours along each dimension; any number of dimensions
///   hypercube                ranks whose numbers differ in one bit
///   star                     rank 0 with all others
///   full                     all with all
///   exponential              rank r sends to r + 1, r + 2, r + 4, ... (Assran et al. 2019)
///   one-peer-exponential     one of these a round: exact after log2(ranks) rounds where that is whole (Ying et al.
///   2021) base:k=1                 Base-(k+1): at most k neighbours, exact after finitely many rounds for any number
///   of ranks
///                            (Takezawa et al. 2023)
///   random-regular:d=4,seed=1 a connected random graph of d neighbours
///   shift-one                Bagua's pairs, which change in every round
///   grid:8x8                 Moshpit's groups: round t averages along dimension t; exact after all dimensions where no
///                            rank is missing (Ryabinin et al. 2021)
///   matrix:FILE              the numbers of W_t in rows; several rounds with an empty line between
///
/// All but base and matrix take `weights=`: uniform (a rank averages itself and its sources), metropolis (Metropolis
/// and Hastings: 1 / (1 + the larger degree), for graphs without direction), push-sum (a rank cuts its vector into
/// equal parts for itself and its destinations). Default: metropolis for star, else uniform. Inside of another spec ';'
/// stands for ','.
#ifndef GOSSAMER_GOSSIP_H_
#define GOSSAMER_GOSSIP_H_

#include "gossamer/gossamer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct goss_topology* goss_topology_t;

/// A neighbour and the factor of what comes from it, or goes to it. The struct never grows.
typedef struct goss_neighbor {
  int32_t rank;
  int32_t reserved; ///< Not read.
  double weight;
} goss_neighbor;

/// The neighbours of one rank in one round: `sources` send to it, it sends to `destinations`. Neither list may hold the
/// rank itself, or a rank twice.
typedef struct goss_neighborhood {
  size_t size;                       ///< sizeof(goss_neighborhood)
  double self_weight;                ///< Factor of the rank's own vector.
  const goss_neighbor* sources;      ///< Weight: factor of what this rank receives.
  size_t source_count;               ///< Number of sources.
  const goss_neighbor* destinations; ///< Weight: factor with which this rank multiplies what it sends.
  size_t destination_count;          ///< Number of destinations.
} goss_neighborhood;

#define GOSS_NEIGHBORHOOD_INIT \
  { sizeof(goss_neighborhood), 1.0, NULL, 0, NULL, 0 }

/// Gives `neighborhood` the values of GOSS_NEIGHBORHOOD_INIT. Errors: GOSS_ERR_INVALID_ARGUMENT.
GOSS_API goss_status goss_neighborhood_init(goss_neighborhood* neighborhood, size_t size);

/// What a method may need of every round's matrix.
typedef enum goss_topology_property {
  GOSS_TOPOLOGY_ROW_STOCHASTIC = 0,    ///< Rows sum to 1: equal vectors stay equal.
  GOSS_TOPOLOGY_COLUMN_STOCHASTIC = 1, ///< Columns sum to 1: the sum over the ranks is kept, as push-sum needs.
  GOSS_TOPOLOGY_DOUBLY_STOCHASTIC = 2, ///< Both: the ranks tend to their mean.
  GOSS_TOPOLOGY_SYMMETRIC = 3,         ///< W(i, j) = W(j, i).
  GOSS_TOPOLOGY_CONSTANT = 4           ///< One matrix for all rounds.
} goss_topology_property;

/// Local, no communication. Makes a topology of `ranks` ranks; free it with goss_topology_destroy. Equal arguments give
/// equal topologies on all machines. Errors: GOSS_ERR_INVALID_ARGUMENT that says what is wrong with the spec, or with
/// which row and column of the file.
GOSS_API goss_status goss_topology_create(const char* spec, int32_t ranks, goss_topology_t* topology);
GOSS_API goss_status goss_topology_destroy(goss_topology_t topology);

/// The number of rounds after which the topology repeats.
GOSS_API goss_status goss_topology_period(goss_topology_t topology, uint64_t* period);

/// W(to, from) of `round`.
GOSS_API goss_status goss_topology_weight(goss_topology_t topology, uint64_t round, int32_t to, int32_t from,
                                          double* weight);

/// The neighbours of `rank` in `round`: sources with the weights of its row, destinations with weight 1. Sets all
/// fields but `size`, which the caller has set; the lists live as long as the topology.
GOSS_API goss_status goss_topology_neighbors(goss_topology_t topology, uint64_t round, int32_t rank,
                                             goss_neighborhood* neighborhood);

/// Succeeds if every round has the goss_topology_property. Errors: GOSS_ERR_INVALID_ARGUMENT, naming round, row and
/// column; also for an unknown property.
GOSS_API goss_status goss_topology_require(goss_topology_t topology, int32_t property);

/// The topology's properties as JSON text; free it with goss_free. {"spec", "ranks", "period", "min_degree",
/// "max_degree" (destinations of a rank in a round), "row_stochastic", "column_stochastic", "doubly_stochastic",
/// "symmetric", "connected" (over a period), "spectral_gap", "exact_after"}. The gap is 1 - |lambda|^(1 / period),
/// lambda the second largest eigenvalue of a period's product: a round leaves 1 - gap of the ranks' differences.
/// exact_after: rounds after which all ranks hold the mean to 1e-12, within a period. Both may be null; they are for
/// more than 256 ranks.
GOSS_API goss_status goss_topology_describe(goss_topology_t topology, char** json);

/// The graph as SVG text, the arcs of `round`, or with -1 those of all rounds; free it with goss_free.
GOSS_API goss_status goss_topology_draw(goss_topology_t topology, int64_t round, char** svg);

#ifdef __cplusplus
}
#endif

#endif // GOSSAMER_GOSSIP_H_
