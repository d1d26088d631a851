/// Gossamer's gossip (C99): who averages with whom, and collectives among neighbours.
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
///   one-peer-exponential     one of these a round: exact after log2(ranks) rounds where that is whole
///                            (Ying et al. 2021)
///   base:k=1                 Base-(k+1): at most k neighbours, exact after finitely many rounds for any
///                            number of ranks (Takezawa et al. 2023)
///   random-regular:d=4,seed=1 a connected random graph of d neighbours
///   shift-one                Bagua's pairs, which change in every round
///   grid:8x8                 Moshpit's groups: round t averages along dimension t; exact after all dimensions where no
///                            rank is missing (Ryabinin et al. 2021). Without lengths: a square that has room for all
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
/// exact_after: rounds after which all ranks hold the mean to 1e-12, within a period. Both are null for more than 256
/// ranks; the gap also if neither rows nor columns sum to 1, and exact_after also if a period does not lead to the
/// mean.
GOSS_API goss_status goss_topology_describe(goss_topology_t topology, char** json);

/// The graph as SVG text, the arcs of `round`, or with -1 those of all rounds; free it with goss_free.
GOSS_API goss_status goss_topology_draw(goss_topology_t topology, int64_t round, char** svg);

// ---- Collectives among neighbours ----
//
// Collective: all ranks of the communicator call them, in the same order as all its collectives, each with its own
// neighbours (which may be none). If rank i lists j among its sources, j lists i among its destinations, and the
// reverse; a rank that waits for one that does not send fails at its deadline, and the error names that rank.
// Everything is read before the call returns, but for the buffers. Options, requests and errors are as for the
// collectives of gossamer.h; GOSS_ERR_INVALID_ARGUMENT also for a rank among its own neighbours, twice in a list, or
// none of the communicator, and for weights that are not finite. `options->algorithm` must be NULL or "neighbors".

/// recv = self_weight * send + the sum over the sources of weight * (what the source sends, which is its send times the
/// weight that it has for this rank among its destinations). With goss_topology_neighbors of round t: row `rank` of W_t
/// times the ranks' vectors. `count` elements of a floating type, equal on all ranks; sums are made in float32
/// (float64: in float64) in the order of the list, own vector first, and rounded once. In place: recv == send. With a
/// codec, a rank that has destinations replaces its own vector, too, by the values that the destinations decode, so
/// that the sum over the ranks is kept where W's columns sum to 1. Error feedback needs equal weights of all
/// destinations (else GOSS_ERR_UNSUPPORTED). Run to run, the same bits.
GOSS_API goss_status goss_neighbor_all_reduce(goss_comm_t comm, const void* send, void* recv, size_t count,
                                              goss_dtype dtype, const goss_neighborhood* neighborhood,
                                              const goss_options* options, goss_request_t* request);

/// Sends `count` elements to every destination. Block k of recv (`count` elements) = what source k sends, as in
/// MPI_Neighbor_allgather. Weights are not used. Buffers must not overlap.
GOSS_API goss_status goss_neighbor_all_gather(goss_comm_t comm, const void* send, void* recv, size_t count,
                                              goss_dtype dtype, const goss_neighborhood* neighborhood,
                                              const goss_options* options, goss_request_t* request);

/// As goss_neighbor_all_gather with send_count elements, and recv_counts[k] elements of source k at element
/// displacement recv_displs[k] (NULL: packed). Counts must match at both ends (else GOSS_ERR_MISMATCH).
GOSS_API goss_status goss_neighbor_all_gatherv(goss_comm_t comm, const void* send, size_t send_count, void* recv,
                                               const size_t* recv_counts, const size_t* recv_displs, goss_dtype dtype,
                                               const goss_neighborhood* neighborhood, const goss_options* options,
                                               goss_request_t* request);

/// Block k of send (`count` elements) goes to destination k, block k of recv comes from source k, as in
/// MPI_Neighbor_alltoall. Weights are not used. Buffers must not overlap.
GOSS_API goss_status goss_neighbor_all_to_all(goss_comm_t comm, const void* send, void* recv, size_t count,
                                              goss_dtype dtype, const goss_neighborhood* neighborhood,
                                              const goss_options* options, goss_request_t* request);

/// As goss_neighbor_all_to_all with send_counts[k] elements at send_displs[k] for destination k, and recv_counts[k] at
/// recv_displs[k] from source k. displs may be NULL: packed. Counts must match at both ends (else GOSS_ERR_MISMATCH).
GOSS_API goss_status goss_neighbor_all_to_allv(goss_comm_t comm, const void* send, const size_t* send_counts,
                                               const size_t* send_displs, void* recv, const size_t* recv_counts,
                                               const size_t* recv_displs, goss_dtype dtype,
                                               const goss_neighborhood* neighborhood, const goss_options* options,
                                               goss_request_t* request);

#ifdef __cplusplus
}
#endif

#endif // GOSSAMER_GOSSIP_H_
