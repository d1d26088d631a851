// Collectives that move blocks of one length. MPI requires equal type signatures, not equal types, so that only the
// number of bytes is the same on all ranks. Gossamer serves all of these collectives, and sees bytes.
#include <mpi.h>

#include "bindings/mpi/call.h"
#include "bindings/mpi/types.h"

namespace goss::interposer {

namespace {

template <class Post>
Plan planned(std::unique_ptr<Operation> operation, Post post) {
  operation->setPost(std::move(post));
  return {std::move(operation), "", 0};
}

Plan barrier(const Communicator&) {
  return planned(std::make_unique<Operation>(),
                 [](goss_comm_t comm, goss_request_t* request) { return goss_barrier(comm, nullptr, request); });
}

Plan broadcast(const Communicator& on, void* buffer, int count, MPI_Datatype type, int root) {
  if (!isBlock(count, type) || root < 0 || root >= on.ranks()) return refused(kInvalid);
  auto made = std::make_unique<Operation>();
  const Block whole = block(buffer, count, type);
  // Gossamer reads and writes the root's buffer, but does not change it: MPI's root only sends it.
  void* const at = on.rank() == root ? const_cast<void*>(made->input(whole)) : made->output(whole);
  return planned(std::move(made), [=, bytes = bytesOf(whole)](goss_comm_t comm, goss_request_t* request) {
    return goss_broadcast(comm, at, at, bytes, GOSS_UINT8, root, nullptr, request);
  });
}

/// A buffer of one block for each rank, each of `count` elements.
Block blocksOf(const Communicator& on, const void* at, int count, MPI_Datatype type) {
  Block all = block(at, count, type);
  all.count *= static_cast<std::size_t>(on.ranks());
  return all;
}

/// The memory where Gossamer reads this rank's block: `send`, or its part of the result `all` if the call is in place.
const void* contribution(const Communicator& on, Operation& made, const void* send, int count, MPI_Datatype type,
                         void* all, const void* recv, int recv_count, MPI_Datatype recv_type) {
  if (send != MPI_IN_PLACE) return made.input(block(send, count, type));
  const Block mine = block(recv, static_cast<MPI_Aint>(on.rank()) * recv_count, recv_count, recv_type);
  std::byte* const at = static_cast<std::byte*>(all) + static_cast<std::size_t>(on.rank()) * bytesOf(mine);
  made.preload(mine, at);
  return at;
}

Plan gather(const Communicator& on, const void* send, int send_count, MPI_Datatype send_type, void* recv,
            int recv_count, MPI_Datatype recv_type, int root) {
  if (root < 0 || root >= on.ranks()) return refused(kInvalid);
  const bool is_root = on.rank() == root;
  const bool in_place = send == MPI_IN_PLACE;
  if ((!in_place && !isBlock(send_count, send_type)) || (is_root && !isBlock(recv_count, recv_type)))
    return refused(kInvalid);
  auto made = std::make_unique<Operation>();
  void* const to = is_root ? made->output(blocksOf(on, recv, recv_count, recv_type)) : nullptr;
  const void* const from = contribution(on, *made, send, send_count, send_type, to, recv, recv_count, recv_type);
  const std::size_t bytes = bytesOf(in_place ? block(recv, recv_count, recv_type) : block(send, send_count, send_type));
  return planned(std::move(made), [=](goss_comm_t comm, goss_request_t* request) {
    return goss_gather(comm, from, to, bytes, GOSS_UINT8, root, nullptr, request);
  });
}

Plan scatter(const Communicator& on, const void* send, int send_count, MPI_Datatype send_type, void* recv,
             int recv_count, MPI_Datatype recv_type, int root) {
  if (root < 0 || root >= on.ranks()) return refused(kInvalid);
  const bool is_root = on.rank() == root;
  const bool in_place = recv == MPI_IN_PLACE;
  if ((!in_place && !isBlock(recv_count, recv_type)) || (is_root && !isBlock(send_count, send_type)))
    return refused(kInvalid);
  auto made = std::make_unique<Operation>();
  const std::size_t bytes = bytesOf(in_place ? block(send, send_count, send_type) : block(recv, recv_count, recv_type));
  const void* const from = is_root ? made->input(blocksOf(on, send, send_count, send_type)) : nullptr;
  void* to = nullptr;
  if (in_place)
    to = static_cast<std::byte*>(const_cast<void*>(from)) + static_cast<std::size_t>(root) * bytes;
  else
    to = made->output(block(recv, recv_count, recv_type));
  return planned(std::move(made), [=](goss_comm_t comm, goss_request_t* request) {
    return goss_scatter(comm, from, to, bytes, GOSS_UINT8, root, nullptr, request);
  });
}

Plan allGather(const Communicator& on, const void* send, int send_count, MPI_Datatype send_type, void* recv,
               int recv_count, MPI_Datatype recv_type) {
  if ((send != MPI_IN_PLACE && !isBlock(send_count, send_type)) || !isBlock(recv_count, recv_type))
    return refused(kInvalid);
  auto made = std::make_unique<Operation>();
  void* const to = made->output(blocksOf(on, recv, recv_count, recv_type));
  const void* const from = contribution(on, *made, send, send_count, send_type, to, recv, recv_count, recv_type);
  const std::size_t bytes = bytesOf(block(recv, recv_count, recv_type));
  return planned(std::move(made), [=](goss_comm_t comm, goss_request_t* request) {
    return goss_all_gather(comm, from, to, bytes, GOSS_UINT8, nullptr, request);
  });
}

Plan allToAll(const Communicator& on, const void* send, int send_count, MPI_Datatype send_type, void* recv,
              int recv_count, MPI_Datatype recv_type) {
  const bool in_place = send == MPI_IN_PLACE;
  if ((!in_place && !isBlock(send_count, send_type)) || !isBlock(recv_count, recv_type)) return refused(kInvalid);
  auto made = std::make_unique<Operation>();
  const Block result = blocksOf(on, recv, recv_count, recv_type);
  void* const to = in_place ? made->inOut(result) : made->output(result);
  const void* const from = in_place ? to : made->input(blocksOf(on, send, send_count, send_type));
  const std::size_t bytes = bytesOf(block(recv, recv_count, recv_type));
  return planned(std::move(made), [=](goss_comm_t comm, goss_request_t* request) {
    return goss_all_to_all(comm, from, to, bytes, GOSS_UINT8, nullptr, request);
  });
}

} // namespace

} // namespace goss::interposer

using namespace goss::interposer;

extern "C" {

int MPI_Barrier(MPI_Comm comm) {
  static const Real<decltype(MPI_Barrier)> real("PMPI_Barrier");
  return blocking<barrier>(real, comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  static const Real<decltype(MPI_Ibarrier)> real("PMPI_Ibarrier");
  return nonBlocking<barrier>(real, comm, request);
}

int MPIX_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Barrier_init)> real("PMPIX_Barrier_init");
  return persistent<barrier>(real, comm, info, request);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static const Real<decltype(MPI_Bcast)> real("PMPI_Bcast");
  return blocking<broadcast>(real, comm, buffer, count, type, root);
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  static const Real<decltype(MPI_Ibcast)> real("PMPI_Ibcast");
  return nonBlocking<broadcast>(real, comm, request, buffer, count, type, root);
}

int MPIX_Bcast_init(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                    MPI_Request* request) {
  static const Real<decltype(MPIX_Bcast_init)> real("PMPIX_Bcast_init");
  return persistent<broadcast>(real, comm, info, request, buffer, count, type, root);
}

int MPI_Gather(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
               MPI_Datatype recv_type, int root, MPI_Comm comm) {
  static const Real<decltype(MPI_Gather)> real("PMPI_Gather");
  return blocking<gather>(real, comm, send, send_count, send_type, recv, recv_count, recv_type, root);
}

int MPI_Igather(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Request* request) {
  static const Real<decltype(MPI_Igather)> real("PMPI_Igather");
  return nonBlocking<gather>(real, comm, request, send, send_count, send_type, recv, recv_count, recv_type, root);
}

int MPIX_Gather_init(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                     MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Gather_init)> real("PMPIX_Gather_init");
  return persistent<gather>(real, comm, info, request, send, send_count, send_type, recv, recv_count, recv_type, root);
}

int MPI_Scatter(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                MPI_Datatype recv_type, int root, MPI_Comm comm) {
  static const Real<decltype(MPI_Scatter)> real("PMPI_Scatter");
  return blocking<scatter>(real, comm, send, send_count, send_type, recv, recv_count, recv_type, root);
}

int MPI_Iscatter(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                 MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Request* request) {
  static const Real<decltype(MPI_Iscatter)> real("PMPI_Iscatter");
  return nonBlocking<scatter>(real, comm, request, send, send_count, send_type, recv, recv_count, recv_type, root);
}

int MPIX_Scatter_init(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                      MPI_Datatype recv_type, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Scatter_init)> real("PMPIX_Scatter_init");
  return persistent<scatter>(real, comm, info, request, send, send_count, send_type, recv, recv_count, recv_type, root);
}

int MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                  MPI_Datatype recv_type, MPI_Comm comm) {
  static const Real<decltype(MPI_Allgather)> real("PMPI_Allgather");
  return blocking<allGather>(real, comm, send, send_count, send_type, recv, recv_count, recv_type);
}

int MPI_Iallgather(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                   MPI_Datatype recv_type, MPI_Comm comm, MPI_Request* request) {
  static const Real<decltype(MPI_Iallgather)> real("PMPI_Iallgather");
  return nonBlocking<allGather>(real, comm, request, send, send_count, send_type, recv, recv_count, recv_type);
}

int MPIX_Allgather_init(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                        MPI_Datatype recv_type, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Allgather_init)> real("PMPIX_Allgather_init");
  return persistent<allGather>(real, comm, info, request, send, send_count, send_type, recv, recv_count, recv_type);
}

int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                 MPI_Datatype recv_type, MPI_Comm comm) {
  static const Real<decltype(MPI_Alltoall)> real("PMPI_Alltoall");
  return blocking<allToAll>(real, comm, send, send_count, send_type, recv, recv_count, recv_type);
}

int MPI_Ialltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                  MPI_Datatype recv_type, MPI_Comm comm, MPI_Request* request) {
  static const Real<decltype(MPI_Ialltoall)> real("PMPI_Ialltoall");
  return nonBlocking<allToAll>(real, comm, request, send, send_count, send_type, recv, recv_count, recv_type);
}

int MPIX_Alltoall_init(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
                       MPI_Datatype recv_type, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Alltoall_init)> real("PMPIX_Alltoall_init");
  return persistent<allToAll>(real, comm, info, request, send, send_count, send_type, recv, recv_count, recv_type);
}

} // extern "C"
