// Reductions. MPI requires type, operation and count to be the same on all ranks, so that all ranks decide alike
// whether Gossamer serves the call.
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "bindings/mpi/call.h"
#include "bindings/mpi/exchange.h"
#include "bindings/mpi/settings.h"
#include "bindings/mpi/types.h"

namespace goss::interposer {

namespace {

constexpr const char* kUnknown = "an operation or type that Gossamer does not have";

/// A reduction in the making: its arithmetic in Gossamer's terms, or why Gossamer refuses it.
struct Reduction {
  Reduction(std::int64_t mpi_count, MPI_Datatype type, MPI_Op op) {
    if (mpi_count < 0 || type == MPI_DATATYPE_NULL || op == MPI_OP_NULL) {
      refusal = refused(kInvalid);
      return;
    }
    const std::optional<Arithmetic> found = arithmeticOf(type, op);
    if (!found.has_value()) {
      refusal = refused(kUnknown, static_cast<std::size_t>(mpi_count) * factsOf(type).bytes);
      return;
    }
    how = *found;
    count = static_cast<std::size_t>(mpi_count) * how.per_element;
    alignment = goss_dtype_size(how.dtype);
    operation = std::make_unique<Operation>();
  }

  /// The memory where Gossamer reads this rank's contribution: `send`, or the result buffer if the call is in place.
  const void* input(const void* send, const Block& whole, void* result) {
    if (send != MPI_IN_PLACE) return operation->input(whole, alignment);
    return result;
  }

  Plan plan() { return operation == nullptr ? std::move(refusal) : Plan{std::move(operation), "", 0}; }

  Arithmetic how;
  std::size_t count = 0; ///< Elements of type `how.dtype`.
  std::size_t alignment = 1;
  std::unique_ptr<Operation> operation; ///< Null: refused.
  Plan refusal;
};

Plan allReduce(const Communicator&, const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op) {
  Reduction made(count, type, op);
  if (made.operation == nullptr) return made.plan();
  const bool in_place = send == MPI_IN_PLACE;
  const Block result = block(recv, count, type);
  void* const to =
      in_place ? made.operation->inOut(result, made.alignment) : made.operation->output(result, made.alignment);
  const void* const from = made.input(send, block(send, count, type), to);
  const bool is_compressed = made.how.dtype == GOSS_FLOAT32 && made.how.op == GOSS_SUM && made.how.per_element == 1;
  const char* const codec = is_compressed && !settings().codec.empty() ? settings().codec.c_str() : nullptr;
  made.operation->setPost([=, n = made.count, how = made.how](goss_comm_t comm, goss_request_t* request) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = codec;
    return goss_all_reduce(comm, from, to, n, how.dtype, how.op, &options, request);
  });
  return made.plan();
}

Plan reduce(const Communicator& on, const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root) {
  if (root < 0 || root >= on.ranks()) return refused(kInvalid);
  Reduction made(count, type, op);
  if (made.operation == nullptr) return made.plan();
  void* to = nullptr;
  if (on.rank() == root) {
    const Block result = block(recv, count, type);
    to = send == MPI_IN_PLACE ? made.operation->inOut(result, made.alignment)
                              : made.operation->output(result, made.alignment);
  }
  const void* const from = made.input(send, block(send, count, type), to);
  made.operation->setPost([=, n = made.count, how = made.how](goss_comm_t comm, goss_request_t* request) {
    return goss_reduce(comm, from, to, n, how.dtype, how.op, root, nullptr, request);
  });
  return made.plan();
}

/// In place, MPI reads all of `recv` and writes this rank's part to its beginning, so that Gossamer reads a copy.
Plan reduceScatterOf(const Communicator& on, const void* send, void* recv, const std::vector<int>& counts,
                     MPI_Datatype type, MPI_Op op) {
  if (std::any_of(counts.begin(), counts.end(), [](int each) { return each < 0; })) return refused(kInvalid);
  const auto all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  Reduction made(static_cast<std::int64_t>(all), type, op);
  if (made.operation == nullptr) return made.plan();
  const void* const from = send == MPI_IN_PLACE ? made.operation->copyOf(block(recv, all, type))
                                                : made.operation->input(block(send, all, type), made.alignment);
  const int mine = counts[static_cast<std::size_t>(on.rank())];
  void* const to = made.operation->output(block(recv, mine, type), made.alignment);
  if (areEqual(counts)) {
    const std::size_t each = static_cast<std::size_t>(mine) * made.how.per_element;
    made.operation->setPost([=, how = made.how](goss_comm_t comm, goss_request_t* request) {
      return goss_reduce_scatter(comm, from, to, each, how.dtype, how.op, nullptr, request);
    });
    return made.plan();
  }
  std::vector<std::size_t> elements;
  for (const int each : counts)
    elements.push_back(static_cast<std::size_t>(each) * made.how.per_element);
  made.operation->setPost([=, how = made.how](goss_comm_t comm, goss_request_t* request) {
    return goss_reduce_scatterv(comm, from, to, elements.data(), how.dtype, how.op, nullptr, request);
  });
  return made.plan();
}

Plan reduceScatter(const Communicator& on, const void* send, void* recv, const int* counts, MPI_Datatype type,
                   MPI_Op op) {
  if (counts == nullptr) return refused(kInvalid);
  Plan plan = reduceScatterOf(on, send, recv, std::vector<int>(counts, counts + on.ranks()), type, op);
  if (plan.operation != nullptr) plan.operation->holdList(counts, static_cast<std::size_t>(on.ranks()));
  return plan;
}

Plan reduceScatterBlock(const Communicator& on, const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op) {
  return reduceScatterOf(on, send, recv, std::vector<int>(static_cast<std::size_t>(on.ranks()), count), type, op);
}

using Prefix = goss_status (*)(goss_comm_t, const void*, void*, std::size_t, goss_dtype, goss_op, const goss_options*,
                               goss_request_t*);

/// MPI_Exscan has no result on rank 0, whose `recv` may be no memory at all and must not change. (In place it is the
/// contribution of rank 0.)
template <Prefix kPrefix>
Plan prefix(const Communicator& on, const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op) {
  Reduction made(count, type, op);
  if (made.operation == nullptr) return made.plan();
  const bool has_none = kPrefix == goss_exscan && on.rank() == 0 && send != MPI_IN_PLACE;
  const Block result = block(recv, count, type);
  void* const to = has_none ? made.operation->discarded(result) : made.operation->inOut(result, made.alignment);
  const void* const from = made.input(send, block(send, count, type), to);
  made.operation->setPost([=, n = made.count, how = made.how](goss_comm_t comm, goss_request_t* request) {
    return kPrefix(comm, from, to, n, how.dtype, how.op, nullptr, request);
  });
  return made.plan();
}

constexpr auto kScan = prefix<goss_scan>;
constexpr auto kExscan = prefix<goss_exscan>;

} // namespace

} // namespace goss::interposer

using namespace goss::interposer;

extern "C" {

int MPI_Allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static const Real<decltype(MPI_Allreduce)> real("PMPI_Allreduce");
  return blocking<allReduce>(real, comm, send, recv, count, type, op);
}

int MPI_Iallreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  static const Real<decltype(MPI_Iallreduce)> real("PMPI_Iallreduce");
  return nonBlocking<allReduce>(real, comm, request, send, recv, count, type, op);
}

int MPIX_Allreduce_init(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                        MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Allreduce_init)> real("PMPIX_Allreduce_init");
  return persistent<allReduce>(real, comm, info, request, send, recv, count, type, op);
}

int MPI_Reduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  static const Real<decltype(MPI_Reduce)> real("PMPI_Reduce");
  return blocking<reduce>(real, comm, send, recv, count, type, op, root);
}

int MPI_Ireduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request* request) {
  static const Real<decltype(MPI_Ireduce)> real("PMPI_Ireduce");
  return nonBlocking<reduce>(real, comm, request, send, recv, count, type, op, root);
}

int MPIX_Reduce_init(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                     MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Reduce_init)> real("PMPIX_Reduce_init");
  return persistent<reduce>(real, comm, info, request, send, recv, count, type, op, root);
}

int MPI_Reduce_scatter(const void* send, void* recv, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static const Real<decltype(MPI_Reduce_scatter)> real("PMPI_Reduce_scatter");
  return blocking<reduceScatter>(real, comm, send, recv, counts, type, op);
}

int MPI_Ireduce_scatter(const void* send, void* recv, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                        MPI_Request* request) {
  static const Real<decltype(MPI_Ireduce_scatter)> real("PMPI_Ireduce_scatter");
  return nonBlocking<reduceScatter>(real, comm, request, send, recv, counts, type, op);
}

int MPIX_Reduce_scatter_init(const void* send, void* recv, const int counts[], MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Reduce_scatter_init)> real("PMPIX_Reduce_scatter_init");
  return persistent<reduceScatter>(real, comm, info, request, send, recv, counts, type, op);
}

int MPI_Reduce_scatter_block(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static const Real<decltype(MPI_Reduce_scatter_block)> real("PMPI_Reduce_scatter_block");
  return blocking<reduceScatterBlock>(real, comm, send, recv, count, type, op);
}

int MPI_Ireduce_scatter_block(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request* request) {
  static const Real<decltype(MPI_Ireduce_scatter_block)> real("PMPI_Ireduce_scatter_block");
  return nonBlocking<reduceScatterBlock>(real, comm, request, send, recv, count, type, op);
}

int MPIX_Reduce_scatter_block_init(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                   MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Reduce_scatter_block_init)> real("PMPIX_Reduce_scatter_block_init");
  return persistent<reduceScatterBlock>(real, comm, info, request, send, recv, count, type, op);
}

int MPI_Scan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static const Real<decltype(MPI_Scan)> real("PMPI_Scan");
  return blocking<kScan>(real, comm, send, recv, count, type, op);
}

int MPI_Iscan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request) {
  static const Real<decltype(MPI_Iscan)> real("PMPI_Iscan");
  return nonBlocking<kScan>(real, comm, request, send, recv, count, type, op);
}

int MPIX_Scan_init(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Info info,
                   MPI_Request* request) {
  static const Real<decltype(MPIX_Scan_init)> real("PMPIX_Scan_init");
  return persistent<kScan>(real, comm, info, request, send, recv, count, type, op);
}

int MPI_Exscan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static const Real<decltype(MPI_Exscan)> real("PMPI_Exscan");
  return blocking<kExscan>(real, comm, send, recv, count, type, op);
}

int MPI_Iexscan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                MPI_Request* request) {
  static const Real<decltype(MPI_Iexscan)> real("PMPI_Iexscan");
  return nonBlocking<kExscan>(real, comm, request, send, recv, count, type, op);
}

int MPIX_Exscan_init(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                     MPI_Info info, MPI_Request* request) {
  static const Real<decltype(MPIX_Exscan_init)> real("PMPIX_Exscan_init");
  return persistent<kExscan>(real, comm, info, request, send, recv, count, type, op);
}

} // extern "C"
