// Collectives of blocks of different lengths. As in movements.cc Gossamer serves all of them, and sees bytes. Where
// only the root knows all lengths (MPI_Gatherv, MPI_Scatterv), they become a neighbour collective between the root and
// the others.
#include <mpi.h>

#include "bindings/mpi/call.h"
#include "bindings/mpi/exchange.h"

namespace goss::interposer {

namespace {

std::size_t sizeOf(const Communicator& on) { return static_cast<std::size_t>(on.ranks()); }

/// The blocks of all ranks but this one.
std::vector<Part> othersOf(const Communicator& on, const Vector& vector) {
  std::vector<Part> parts;
  for (int rank = 0; rank < on.ranks(); ++rank)
    if (rank != on.rank()) parts.push_back({rank, vector[static_cast<std::size_t>(rank)]});
  return parts;
}

Plan gatherv(const Communicator& on, const void* send, int send_count, MPI_Datatype send_type, void* recv,
             const int* recv_counts, const int* displs, MPI_Datatype recv_type, int root) {
  if (root < 0 || root >= on.ranks()) return refused(kInvalid);
  if (send != MPI_IN_PLACE && !isBlock(send_count, send_type)) return refused(kInvalid);
  auto made = std::make_unique<Operation>();
  if (on.rank() != root) return exchange(std::move(made), {{root, block(send, send_count, send_type)}}, {});
  const Vector all{recv, recv_counts, displs, recv_type};
  if (!all.isValid(sizeOf(on))) return refused(kInvalid);
  all.holdLists(*made, sizeOf(on));
  if (send != MPI_IN_PLACE) made->copyLocally(block(send, send_count, send_type), all[static_cast<std::size_t>(root)]);
  return exchange(std::move(made), {}, othersOf(on, all));
}

Plan scatterv(const Communicator& on, const void* send, const int* send_counts, const int* displs,
              MPI_Datatype send_type, void* recv, int recv_count, MPI_Datatype recv_type, int root) {
  if (root < 0 || root >= on.ranks()) return refused(kInvalid);
  if (recv != MPI_IN_PLACE && !isBlock(recv_count, recv_type)) return refused(kInvalid);
  auto made = std::make_unique<Operation>();
  if (on.rank() != root) return exchange(std::move(made), {}, {{root, block(recv, recv_count, recv_type)}});
  const Vector all{send, send_counts, displs, send_type};
  if (!all.isValid(sizeOf(on))) return refused(kInvalid);
  all.holdLists(*made, sizeOf(on));
  if (recv != MPI_IN_PLACE) made->copyLocally(all[static_cast<std::size_t>(root)], block(recv, recv_count, recv_type));
  return exchange(std::move(made), othersOf(on, all), {});
}

/// Counts in bytes are the same on all ranks; displacements need not be. So Gossamer receives the blocks one behind the
/// other. If the program wants them elsewhere, finish() unpacks them.
Plan allGatherv(const Communicator& on, const void* send, int send_count, MPI_Datatype send_type, void* recv,
                const int* recv_counts, const int* displs, MPI_Datatype recv_type) {
  const Vector all{recv, recv_counts, displs, recv_type};
  if ((send != MPI_IN_PLACE && !isBlock(send_count, send_type)) || !all.isValid(sizeOf(on))) return refused(kInvalid);
  auto made = std::make_unique<Operation>();
  all.holdLists(*made, sizeOf(on));
  const Layout to = made->packedOutputs(blocksOf(all, sizeOf(on)));
  const auto mine = static_cast<std::size_t>(on.rank());
  const void* from = nullptr;
  if (send == MPI_IN_PLACE) {
    std::byte* const at = static_cast<std::byte*>(to.base) + to.displs[mine];
    made->preload(all[mine], at);
    from = at;
  } else {
    from = made->input(block(send, send_count, send_type));
  }
  made->setPost([from, to, is_even = areEqual(to.counts)](goss_comm_t comm, goss_request_t* request) {
    if (is_even) return goss_all_gather(comm, from, to.base, to.counts.front(), GOSS_UINT8, nullptr, request);
    return goss_all_gatherv(comm, from, to.base, to.counts.data(), nullptr, GOSS_UINT8, nullptr, request);
  });
  return {std::move(made), "", 0};
}

/// In place, what is sent is copied before it is overwritten.
template <class Blocks>
Plan allToAllOf(const Communicator& on, const void* send, const Blocks& sends, const Blocks& recvs) {
  const bool in_place = send == MPI_IN_PLACE;
  if ((!in_place && !sends.isValid(sizeOf(on))) || !recvs.isValid(sizeOf(on))) return refused(kInvalid);
  auto made = std::make_unique<Operation>();
  if (!in_place) sends.holdLists(*made, sizeOf(on));
  recvs.holdLists(*made, sizeOf(on));
  const std::vector<Block> results = blocksOf(recvs, sizeOf(on));
  const Layout from = in_place ? made->copiesOf(results) : made->inputs(blocksOf(sends, sizeOf(on)));
  made->setPost([from, to = made->outputs(results)](goss_comm_t comm, goss_request_t* request) {
    return goss_all_to_allv(comm, from.base, from.counts.data(), from.displs.data(), to.base, to.counts.data(),
                            to.displs.data(), GOSS_UINT8, nullptr, request);
  });
  return {std::move(made), "", 0};
}

Plan allToAllv(const Communicator& on, const void* send, const int* send_counts, const int* send_displs,
               MPI_Datatype send_type, void* recv, const int* recv_counts, const int* recv_displs,
               MPI_Datatype recv_type) {
  return allToAllOf(on, send, Vector{send, send_counts, send_displs, send_type},
                    Vector{recv, recv_counts, recv_displs, recv_type});
}

Plan allToAllw(const Communicator& on, const void* send, const int* send_counts, const int* send_displs,
               const MPI_Datatype* send_types, void* recv, const int* recv_counts, const int* recv_displs,
               const MPI_Datatype* recv_types) {
  return allToAllOf(on, send, TypedVector<int>{send, send_counts, send_displs, send_types},
                    TypedVector<int>{recv, recv_counts, recv_displs, recv_types});
}

} // namespace

} // namespace goss::interposer

using namespace goss::interposer;

extern "C" {

int MPI_Gatherv(const void* send, int send_count, MPI_Datatype send_type, void* recv, const int recv_counts[],
                const int displs[], MPI_Datatype recv_type, int root, MPI_Comm comm) {
  static const Real<decltype(MPI_Gatherv)> real("PMPI_Gatherv");
  return blocking<gatherv>(real, comm, send, send_count, send_type, recv, recv_counts, displs, recv_type, root);
}

int MPI_Igatherv(const void* send, int send_count, MPI_Datatype send_type, void* recv, const int recv_counts[],
                 const int displs[], MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Request* request) {
  static const Real<decltype(MPI_Igatherv)> real("PMPI_Igatherv");
  return nonBlocking<gatherv>(real, comm, request, send, send_count, send_type, recv, recv_counts, displs, recv_type,
                              root);
}

int MPIX_Gatherv_init(const void* send, int send_count, MPI_Datatype send_type, void* recv, const int recv_counts[],
                      const int displs[], MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Info info,
                      MPI_Request* request) {
  static const Real<decltype(MPIX_Gatherv_init)> real("PMPIX_Gatherv_init");
  return persistent<gatherv>(real, comm, info, request, send, send_count, send_type, recv, recv_counts, displs,
                             recv_type, root);
}

int MPI_Scatterv(const void* send, const int send_counts[], const int displs[], MPI_Datatype send_type, void* recv,
                 int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm) {
  static const Real<decltype(MPI_Scatterv)> real("PMPI_Scatterv");
  return blocking<scatterv>(real, comm, send, send_counts, displs, send_type, recv, recv_count, recv_type, root);
}

int MPI_Iscatterv(const void* send, const int send_counts[], const int displs[], MPI_Datatype send_type, void* recv,
                  int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Request* request) {
  static const Real<decltype(MPI_Iscatterv)> real("PMPI_Iscatterv");
  return nonBlocking<scatterv>(real, comm, request, send, send_counts, displs, send_type, recv, recv_count, recv_type,
                               root);
}

int MPIX_Scatterv_init(const void* send, const int send_counts[], const int displs[], MPI_Datatype send_type,
                       void* recv, int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Info info,
                       MPI_Request* request) {
  static const Real<decltype(MPIX_Scatterv_init)> real("PMPIX_Scatterv_init");
  return persistent<scatterv>(real, comm, info, request, send, send_counts, displs, send_type, recv, recv_count,
                              recv_type, root);
}

int MPI_Allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* recv, const int recv_counts[],
                   const int displs[], MPI_Datatype recv_type, MPI_Comm comm) {
  static const Real<decltype(MPI_Allgatherv)> real("PMPI_Allgatherv");
  return blocking<allGatherv>(real, comm, send, send_count, send_type, recv, recv_counts, displs, recv_type);
}

int MPI_Iallgatherv(const void* send, int send_count, MPI_Datatype send_type, void* recv, const int recv_counts[],
                    const int displs[], MPI_Datatype recv_type, MPI_Comm comm, MPI_Request* request) {
  static const Real<decltype(MPI_Iallgatherv)> real("PMPI_Iallgatherv");
  return nonBlocking<allGatherv>(real, comm, request, send, send_count, send_type, recv, recv_counts, displs,
                                 recv_type);
}

int MPIX_Allgatherv_init(const void* send, int send_count, MPI_Datatype send_type, void* recv, const int recv_counts[],
                         const int displs[], MPI_Datatype recv_type, MPI_Comm comm, MPI_Info info,
                         MPI_Request* request) {
  static const Real<decltype(MPIX_Allgatherv_init)> real("PMPIX_Allgatherv_init");
  return persistent<allGatherv>(real, comm, info, request, send, send_count, send_type, recv, recv_counts, displs,
                                recv_type);
}

int MPI_Alltoallv(const void* send, const int send_counts[], const int send_displs[], MPI_Datatype send_type,
                  void* recv, const int recv_counts[], const int recv_displs[], MPI_Datatype recv_type, MPI_Comm comm) {
  static const Real<decltype(MPI_Alltoallv)> real("PMPI_Alltoallv");
  return blocking<allToAllv>(real, comm, send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs,
                             recv_type);
}

int MPI_Ialltoallv(const void* send, const int send_counts[], const int send_displs[], MPI_Datatype send_type,
                   void* recv, const int recv_counts[], const int recv_displs[], MPI_Datatype recv_type, MPI_Comm comm,
                   MPI_Request* request) {
  static const Real<decltype(MPI_Ialltoallv)> real("PMPI_Ialltoallv");
  return nonBlocking<allToAllv>(real, comm, request, send, send_counts, send_displs, send_type, recv, recv_counts,
                                recv_displs, recv_type);
}

int MPIX_Alltoallv_init(const void* send, const int send_counts[], const int send_displs[], MPI_Datatype send_type,
                        void* recv, const int recv_counts[], const int recv_displs[], MPI_Datatype recv_type,
                        MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Alltoallv_init)> real("PMPIX_Alltoallv_init");
  return persistent<allToAllv>(real, comm, info, request, send, send_counts, send_displs, send_type, recv, recv_counts,
                               recv_displs, recv_type);
}

int MPI_Alltoallw(const void* send, const int send_counts[], const int send_displs[], const MPI_Datatype send_types[],
                  void* recv, const int recv_counts[], const int recv_displs[], const MPI_Datatype recv_types[],
                  MPI_Comm comm) {
  static const Real<decltype(MPI_Alltoallw)> real("PMPI_Alltoallw");
  return blocking<allToAllw>(real, comm, send, send_counts, send_displs, send_types, recv, recv_counts, recv_displs,
                             recv_types);
}

int MPI_Ialltoallw(const void* send, const int send_counts[], const int send_displs[], const MPI_Datatype send_types[],
                   void* recv, const int recv_counts[], const int recv_displs[], const MPI_Datatype recv_types[],
                   MPI_Comm comm, MPI_Request* request) {
  static const Real<decltype(MPI_Ialltoallw)> real("PMPI_Ialltoallw");
  return nonBlocking<allToAllw>(real, comm, request, send, send_counts, send_displs, send_types, recv, recv_counts,
                                recv_displs, recv_types);
}

int MPIX_Alltoallw_init(const void* send, const int send_counts[], const int send_displs[],
                        const MPI_Datatype send_types[], void* recv, const int recv_counts[], const int recv_displs[],
                        const MPI_Datatype recv_types[], MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Alltoallw_init)> real("PMPIX_Alltoallw_init");
  return persistent<allToAllw>(real, comm, info, request, send, send_counts, send_displs, send_types, recv, recv_counts,
                               recv_displs, recv_types);
}

} // extern "C"
