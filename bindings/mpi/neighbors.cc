// Collectives among the neighbours of a topology; Gossamer sees bytes. When the communicator was made, all ranks agreed
// whether Gossamer serves the topology.
#include <mpi.h>

#include "bindings/mpi/call.h"
#include "bindings/mpi/exchange.h"

namespace goss::interposer {

namespace {

constexpr const char* kTopology = "no topology, or one with a rank that is its own neighbour or another's twice";

/// The parts of all neighbours; blocks(i) is the block of neighbour i.
template <class Blocks>
std::vector<Part> partsOf(const std::vector<int>& neighbors, const Blocks& blocks) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < neighbors.size(); ++i)
    parts.push_back({neighbors[i], blocks(i)});
  return parts;
}

template <class Sends, class Recvs>
Plan amongNeighbors(const Communicator& on, const Sends& sends, const Recvs& recvs) {
  return exchange(std::make_unique<Operation>(), partsOf(on.destinations(), sends), partsOf(on.sources(), recvs));
}

/// Blocks of equal counts, one behind the other.
auto row(const void* base, int count, MPI_Datatype type) {
  return [=](std::size_t i) { return block(base, static_cast<MPI_Aint>(i) * count, count, type); };
}

template <class Blocks>
auto each(const Blocks& blocks) {
  return [blocks](std::size_t i) { return blocks[i]; };
}

Plan neighborAllGather(const Communicator& on, const void* send, int send_count, MPI_Datatype send_type, void* recv,
                       int recv_count, MPI_Datatype recv_type) {
  if (!on.serves_neighbors) return refused(kTopology);
  if (!isBlock(send_count, send_type) || !isBlock(recv_count, recv_type)) return refused(kInvalid);
  return amongNeighbors(
      on, [=](std::size_t) { return block(send, send_count, send_type); }, row(recv, recv_count, recv_type));
}

Plan neighborAllGatherv(const Communicator& on, const void* send, int send_count, MPI_Datatype send_type, void* recv,
                        const int* recv_counts, const int* displs, MPI_Datatype recv_type) {
  if (!on.serves_neighbors) return refused(kTopology);
  const Vector recvs{recv, recv_counts, displs, recv_type};
  if (!isBlock(send_count, send_type) || !recvs.isValid(on.sources().size())) return refused(kInvalid);
  Plan plan = amongNeighbors(
      on, [=](std::size_t) { return block(send, send_count, send_type); }, each(recvs));
  recvs.holdLists(*plan.operation, on.sources().size());
  return plan;
}

Plan neighborAllToAll(const Communicator& on, const void* send, int send_count, MPI_Datatype send_type, void* recv,
                      int recv_count, MPI_Datatype recv_type) {
  if (!on.serves_neighbors) return refused(kTopology);
  if (!isBlock(send_count, send_type) || !isBlock(recv_count, recv_type)) return refused(kInvalid);
  return amongNeighbors(on, row(send, send_count, send_type), row(recv, recv_count, recv_type));
}

template <class Blocks>
Plan neighborAllToAllOf(const Communicator& on, const Blocks& sends, const Blocks& recvs) {
  if (!on.serves_neighbors) return refused(kTopology);
  if (!sends.isValid(on.destinations().size()) || !recvs.isValid(on.sources().size())) return refused(kInvalid);
  Plan plan = amongNeighbors(on, each(sends), each(recvs));
  sends.holdLists(*plan.operation, on.destinations().size());
  recvs.holdLists(*plan.operation, on.sources().size());
  return plan;
}

Plan neighborAllToAllv(const Communicator& on, const void* send, const int* send_counts, const int* send_displs,
                       MPI_Datatype send_type, void* recv, const int* recv_counts, const int* recv_displs,
                       MPI_Datatype recv_type) {
  return neighborAllToAllOf(on, Vector{send, send_counts, send_displs, send_type},
                            Vector{recv, recv_counts, recv_displs, recv_type});
}

Plan neighborAllToAllw(const Communicator& on, const void* send, const int* send_counts, const MPI_Aint* send_displs,
                       const MPI_Datatype* send_types, void* recv, const int* recv_counts, const MPI_Aint* recv_displs,
                       const MPI_Datatype* recv_types) {
  return neighborAllToAllOf(on, TypedVector<MPI_Aint>{send, send_counts, send_displs, send_types},
                            TypedVector<MPI_Aint>{recv, recv_counts, recv_displs, recv_types});
}

} // namespace

} // namespace goss::interposer

using namespace goss::interposer;

extern "C" {

int MPI_Neighbor_allgather(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                           MPI_Datatype recv_type, MPI_Comm comm) {
  static const Real<decltype(MPI_Neighbor_allgather)> real("PMPI_Neighbor_allgather");
  return blocking<neighborAllGather>(real, comm, send, send_count, send_type, recv, recv_count, recv_type);
}

int MPI_Ineighbor_allgather(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                            MPI_Datatype recv_type, MPI_Comm comm, MPI_Request* request) {
  static const Real<decltype(MPI_Ineighbor_allgather)> real("PMPI_Ineighbor_allgather");
  return nonBlocking<neighborAllGather>(real, comm, request, send, send_count, send_type, recv, recv_count, recv_type);
}

int MPIX_Neighbor_allgather_init(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                                 MPI_Datatype recv_type, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Neighbor_allgather_init)> real("PMPIX_Neighbor_allgather_init");
  return persistent<neighborAllGather>(real, comm, info, request, send, send_count, send_type, recv, recv_count,
                                       recv_type);
}

int MPI_Neighbor_allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                            const int recv_counts[], const int displs[], MPI_Datatype recv_type, MPI_Comm comm) {
  static const Real<decltype(MPI_Neighbor_allgatherv)> real("PMPI_Neighbor_allgatherv");
  return blocking<neighborAllGatherv>(real, comm, send, send_count, send_type, recv, recv_counts, displs, recv_type);
}

int MPI_Ineighbor_allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                             const int recv_counts[], const int displs[], MPI_Datatype recv_type, MPI_Comm comm,
                             MPI_Request* request) {
  static const Real<decltype(MPI_Ineighbor_allgatherv)> real("PMPI_Ineighbor_allgatherv");
  return nonBlocking<neighborAllGatherv>(real, comm, request, send, send_count, send_type, recv, recv_counts, displs,
                                         recv_type);
}

int MPIX_Neighbor_allgatherv_init(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                                  const int recv_counts[], const int displs[], MPI_Datatype recv_type, MPI_Comm comm,
                                  MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Neighbor_allgatherv_init)> real("PMPIX_Neighbor_allgatherv_init");
  return persistent<neighborAllGatherv>(real, comm, info, request, send, send_count, send_type, recv, recv_counts,
                                        displs, recv_type);
}

int MPI_Neighbor_alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                          MPI_Datatype recv_type, MPI_Comm comm) {
  static const Real<decltype(MPI_Neighbor_alltoall)> real("PMPI_Neighbor_alltoall");
  return blocking<neighborAllToAll>(real, comm, send, send_count, send_type, recv, recv_count, recv_type);
}

int MPI_Ineighbor_alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                           MPI_Datatype recv_type, MPI_Comm comm, MPI_Request* request) {
  static const Real<decltype(MPI_Ineighbor_alltoall)> real("PMPI_Ineighbor_alltoall");
  return nonBlocking<neighborAllToAll>(real, comm, request, send, send_count, send_type, recv, recv_count, recv_type);
}

int MPIX_Neighbor_alltoall_init(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                                MPI_Datatype recv_type, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Neighbor_alltoall_init)> real("PMPIX_Neighbor_alltoall_init");
  return persistent<neighborAllToAll>(real, comm, info, request, send, send_count, send_type, recv, recv_count,
                                      recv_type);
}

int MPI_Neighbor_alltoallv(const void* send, const int send_counts[], const int send_displs[], MPI_Datatype send_type,
                           void* recv, const int recv_counts[], const int recv_displs[], MPI_Datatype recv_type,
                           MPI_Comm comm) {
  static const Real<decltype(MPI_Neighbor_alltoallv)> real("PMPI_Neighbor_alltoallv");
  return blocking<neighborAllToAllv>(real, comm, send, send_counts, send_displs, send_type, recv, recv_counts,
                                     recv_displs, recv_type);
}

int MPI_Ineighbor_alltoallv(const void* send, const int send_counts[], const int send_displs[], MPI_Datatype send_type,
                            void* recv, const int recv_counts[], const int recv_displs[], MPI_Datatype recv_type,
                            MPI_Comm comm, MPI_Request* request) {
  static const Real<decltype(MPI_Ineighbor_alltoallv)> real("PMPI_Ineighbor_alltoallv");
  return nonBlocking<neighborAllToAllv>(real, comm, request, send, send_counts, send_displs, send_type, recv,
                                        recv_counts, recv_displs, recv_type);
}

int MPIX_Neighbor_alltoallv_init(const void* send, const int send_counts[], const int send_displs[],
                                 MPI_Datatype send_type, void* recv, const int recv_counts[], const int recv_displs[],
                                 MPI_Datatype recv_type, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Neighbor_alltoallv_init)> real("PMPIX_Neighbor_alltoallv_init");
  return persistent<neighborAllToAllv>(real, comm, info, request, send, send_counts, send_displs, send_type, recv,
                                       recv_counts, recv_displs, recv_type);
}

int MPI_Neighbor_alltoallw(const void* send, const int send_counts[], const MPI_Aint send_displs[],
                           const MPI_Datatype send_types[], void* recv, const int recv_counts[],
                           const MPI_Aint recv_displs[], const MPI_Datatype recv_types[], MPI_Comm comm) {
  static const Real<decltype(MPI_Neighbor_alltoallw)> real("PMPI_Neighbor_alltoallw");
  return blocking<neighborAllToAllw>(real, comm, send, send_counts, send_displs, send_types, recv, recv_counts,
                                     recv_displs, recv_types);
}

int MPI_Ineighbor_alltoallw(const void* send, const int send_counts[], const MPI_Aint send_displs[],
                            const MPI_Datatype send_types[], void* recv, const int recv_counts[],
                            const MPI_Aint recv_displs[], const MPI_Datatype recv_types[], MPI_Comm comm,
                            MPI_Request* request) {
  static const Real<decltype(MPI_Ineighbor_alltoallw)> real("PMPI_Ineighbor_alltoallw");
  return nonBlocking<neighborAllToAllw>(real, comm, request, send, send_counts, send_displs, send_types, recv,
                                        recv_counts, recv_displs, recv_types);
}

int MPIX_Neighbor_alltoallw_init(const void* send, const int send_counts[], const MPI_Aint send_displs[],
                                 const MPI_Datatype send_types[], void* recv, const int recv_counts[],
                                 const MPI_Aint recv_displs[], const MPI_Datatype recv_types[], MPI_Comm comm,
                                 MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Neighbor_alltoallw_init)> real("PMPIX_Neighbor_alltoallw_init");
  return persistent<neighborAllToAllw>(real, comm, info, request, send, send_counts, send_displs, send_types, recv,
                                       recv_counts, recv_displs, recv_types);
}

} // extern "C"
