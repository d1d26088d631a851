// goss_neighbor_all_reduce beside the same exchange written with MPI's MPI_Neighbor_allgather and a local sum, on a
// ring and in turn: x becomes the mean of a rank's vector and its two neighbours'.
//
//   mpirun -np 4 --mca pml ob1 --mca btl tcp,self goss-neighbor-bench 64 9     with GOSS_TRANSPORT=tcp: MiB, rounds
//   mpirun -np 4 --mca pml ob1 --mca btl vader,self goss-neighbor-bench 64 9   with GOSS_TRANSPORT=shm
//   ... goss-neighbor-bench 64 9 registered     with vectors in memory of goss_mem_alloc, and of MPI_Alloc_mem
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "gossamer/gossamer_mpi.h"
#include "gossamer/gossip.h"

namespace {

/// The vectors of one of the two.
struct Vectors {
  std::span<float> x, result, gathered;
};

struct Exchange {
  int rank = 0, ranks = 1;
  Vectors ours, theirs;
  MPI_Comm ring = MPI_COMM_NULL;
  goss_comm_t comm = nullptr;
  goss_neighborhood neighborhood = GOSS_NEIGHBORHOOD_INIT;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "goss-neighbor-bench: %s\n", what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void byGossamer(Exchange& e) {
  const Vectors& v = e.ours;
  if (goss_neighbor_all_reduce(e.comm, v.x.data(), v.result.data(), v.x.size(), GOSS_FLOAT32, &e.neighborhood, nullptr,
                               nullptr) != GOSS_SUCCESS) {
    fail(goss_last_error());
  }
}

void byMpi(Exchange& e) {
  const Vectors& v = e.theirs;
  const auto count = static_cast<int>(v.x.size());
  MPI_Neighbor_allgather(v.x.data(), count, MPI_FLOAT, v.gathered.data(), count, MPI_FLOAT, e.ring);
  const float* left = v.gathered.data();
  const float* right = left + v.x.size();
  constexpr float kThird = 1.0F / 3;
  for (std::size_t i = 0; i < v.x.size(); ++i)
    v.result[i] = kThird * v.x[i] + kThird * left[i] + kThird * right[i];
}

/// Seconds of the slowest rank. Clears the result first, so that the previous exchange's result cannot pass for this
/// one's.
double timed(Exchange& e, const Vectors& vectors, void (*exchange)(Exchange&)) {
  std::fill(vectors.result.begin(), vectors.result.end(), 0.0F);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  exchange(e);
  const double own = MPI_Wtime() - begin;
  double slowest = 0;
  MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

void check(const Exchange& e, const Vectors& vectors, const char* who) {
  const int left = (e.rank + e.ranks - 1) % e.ranks, right = (e.rank + 1) % e.ranks;
  const double mean = (e.rank + left + right + 3) / 3.0;
  for (const float value : vectors.result) {
    if (std::abs(value - mean) > 1e-5) fail(std::string(who) + " computed something else than the mean");
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The process's end frees what it returns.
std::span<float> memory(Exchange& e, std::size_t count, bool is_registered, bool is_ours) {
  void* at = nullptr;
  const std::size_t bytes = count * sizeof(float);
  if (!is_registered) {
    at = std::malloc(bytes);
  } else if (is_ours) {
    if (goss_mem_alloc(e.comm, bytes, &at) != GOSS_SUCCESS) fail(goss_last_error());
  } else {
    MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &at);
  }
  if (at == nullptr) fail("no memory");
  const std::span<float> floats(static_cast<float*>(at), count);
  std::fill(floats.begin(), floats.end(), static_cast<float>(e.rank + 1));
  return floats;
}

void run(Exchange& e, std::size_t mib, int rounds, bool is_registered) {
  const std::size_t count = mib * 1024 * 1024 / sizeof(float);
  const int sides[2] = {(e.rank + e.ranks - 1) % e.ranks, (e.rank + 1) % e.ranks};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sides, MPI_UNWEIGHTED, 2, sides, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &e.ring);
  goss_topology_t topology = nullptr;
  if (goss_comm_create_from_mpi(MPI_COMM_WORLD, nullptr, &e.comm) != GOSS_SUCCESS ||
      goss_topology_create("ring", e.ranks, &topology) != GOSS_SUCCESS ||
      goss_topology_neighbors(topology, 0, e.rank, &e.neighborhood) != GOSS_SUCCESS) {
    fail(goss_last_error());
  }
  const auto make = [&](std::size_t length, bool is_ours) { return memory(e, length, is_registered, is_ours); };
  e.ours = {make(count, true), make(count, true), {}};
  e.theirs = {make(count, false), make(count, false), make(2 * count, false)};
  std::vector<double> ours, theirs;
  for (int round = -1; round < rounds; ++round) { // the first connects
    const double one = timed(e, e.ours, byGossamer);
    check(e, e.ours, "goss_neighbor_all_reduce");
    const double other = timed(e, e.theirs, byMpi);
    check(e, e.theirs, "MPI_Neighbor_allgather with a sum");
    if (round < 0) continue;
    ours.push_back(one);
    theirs.push_back(other);
  }
  if (e.rank == 0) {
    std::printf(
        "%zu MiB, %d ranks, %d rounds in turn, medians: goss_neighbor_all_reduce %.1f ms, MPI_Neighbor_allgather and a "
        "sum "
        "%.1f ms: %.2f times as fast\n",
        mib, e.ranks, rounds, 1e3 * median(ours), 1e3 * median(theirs), median(theirs) / median(ours));
  }
  goss_topology_destroy(topology);
  goss_comm_destroy(e.comm);
  MPI_Comm_free(&e.ring);
}

} // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Exchange e;
  MPI_Comm_rank(MPI_COMM_WORLD, &e.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &e.ranks);
  const std::size_t mib = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  if (e.ranks < 3 || mib < 1 || mib > 1024 || rounds < 1) fail("it needs 3 ranks, 1 to 1024 MiB and a round");
  run(e, mib, rounds, argc > 3 && std::string(argv[3]) == "registered");
  MPI_Finalize();
}
