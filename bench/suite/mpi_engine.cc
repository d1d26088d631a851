#include "bench/suite/mpi_engine.h"

#include <fmt/format.h>
#include <mpi.h>
#include "gossamer/gossamer_mpi.h"

#include <array>
#include <climits>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/suite/goss_engine.h"

namespace goss::bench {

namespace {

void checkMpi(int status, const char* what) {
  if (status != MPI_SUCCESS) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(status, text.data(), &length);
    throw std::runtime_error(fmt::format("{} failed: {}", what, text.data()));
  }
}

MPI_Datatype mpiType(goss_dtype dtype) {
  switch (dtype) {
    case GOSS_INT8:
      return MPI_INT8_T;
    case GOSS_UINT8:
      return MPI_UINT8_T;
    case GOSS_INT32:
      return MPI_INT32_T;
    case GOSS_UINT32:
      return MPI_UINT32_T;
    case GOSS_INT64:
      return MPI_INT64_T;
    case GOSS_UINT64:
      return MPI_UINT64_T;
    case GOSS_FLOAT32:
      return MPI_FLOAT;
    case GOSS_FLOAT64:
      return MPI_DOUBLE;
    case GOSS_BOOL:
      return MPI_C_BOOL;
    default:
      throw std::runtime_error("MPI has no such element type; compare with float32, float64 or integers");
  }
}

MPI_Op mpiOp(goss_op op) {
  switch (op) {
    case GOSS_SUM:
      return MPI_SUM;
    case GOSS_PROD:
      return MPI_PROD;
    case GOSS_MIN:
      return MPI_MIN;
    case GOSS_MAX:
      return MPI_MAX;
    case GOSS_BAND:
      return MPI_BAND;
    case GOSS_BOR:
      return MPI_BOR;
    case GOSS_BXOR:
      return MPI_BXOR;
    case GOSS_LAND:
      return MPI_LAND;
    case GOSS_LOR:
      return MPI_LOR;
    case GOSS_LXOR:
      return MPI_LXOR;
    default:
      throw std::runtime_error("MPI has no such reduction; choose any but avg and premul_sum");
  }
}

int mpiCount(std::size_t count) {
  if (count > INT_MAX) {
    throw std::runtime_error("MPI counts end at 2^31 - 1 elements; choose a smaller largest size with -m");
  }
  return static_cast<int>(count);
}

class MpiEngine final : public Engine {
 public:
  MpiEngine() { checkMpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size"); }
  [[nodiscard]] const char* name() const override { return "MPI"; }
  [[nodiscard]] std::string version() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string whole = text.data();
    return whole.substr(0, whole.find(',')); // Open MPI continues with who built it where.
  }

  void run(const CollectiveCall& c) override {
    if (c.collective == Collective::barrier) {
      barrier();
      return;
    }
    const MPI_Datatype type = mpiType(c.dtype);
    const int count = mpiCount(c.count);
    switch (c.collective) {
      case Collective::allReduce:
        return checkMpi(MPI_Allreduce(c.send, c.recv, count, type, mpiOp(c.op), world_), "MPI_Allreduce");
      case Collective::reduce:
        return checkMpi(MPI_Reduce(c.send, c.recv, count, type, mpiOp(c.op), c.root, world_), "MPI_Reduce");
      case Collective::broadcast:
        return checkMpi(MPI_Bcast(c.recv, count, type, c.root, world_), "MPI_Bcast");
      case Collective::allGather:
        return checkMpi(MPI_Allgather(c.send, count, type, c.recv, count, type, world_), "MPI_Allgather");
      case Collective::gather:
        return checkMpi(MPI_Gather(c.send, count, type, c.recv, count, type, c.root, world_), "MPI_Gather");
      case Collective::scatter:
        return checkMpi(MPI_Scatter(c.send, count, type, c.recv, count, type, c.root, world_), "MPI_Scatter");
      case Collective::allToAll:
        return checkMpi(MPI_Alltoall(c.send, count, type, c.recv, count, type, world_), "MPI_Alltoall");
      case Collective::scan:
        return checkMpi(MPI_Scan(c.send, c.recv, count, type, mpiOp(c.op), world_), "MPI_Scan");
      case Collective::exscan:
        return checkMpi(MPI_Exscan(c.send, c.recv, count, type, mpiOp(c.op), world_), "MPI_Exscan");
      default:
        return runUneven(c, type);
    }
  }

  void barrier() override { checkMpi(MPI_Barrier(world_), "MPI_Barrier"); }
  void begin(const CollectiveCall&) override { blockingOnly(); }
  bool test() override { blockingOnly(); }
  void wait() override { blockingOnly(); }
  void prepare(const CollectiveCall&) override { blockingOnly(); }
  void start() override { blockingOnly(); }
  void release() override { blockingOnly(); }

  void send(const void* buffer, std::size_t bytes, int peer) override {
    checkMpi(MPI_Send(buffer, mpiCount(bytes), MPI_CHAR, peer, 0, world_), "MPI_Send");
  }
  void recv(void* buffer, std::size_t bytes, int peer) override {
    checkMpi(MPI_Recv(buffer, mpiCount(bytes), MPI_CHAR, peer, 0, world_, MPI_STATUS_IGNORE), "MPI_Recv");
  }
  void startSend(const void* buffer, std::size_t bytes, int peer) override {
    checkMpi(MPI_Isend(buffer, mpiCount(bytes), MPI_CHAR, peer, 0, world_, &requests_.emplace_back()), "MPI_Isend");
  }
  void startRecv(void* buffer, std::size_t bytes, int peer) override {
    checkMpi(MPI_Irecv(buffer, mpiCount(bytes), MPI_CHAR, peer, 0, world_, &requests_.emplace_back()), "MPI_Irecv");
  }
  void waitAll() override {
    checkMpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    requests_.clear();
  }

 private:
  [[noreturn]] static void blockingOnly() {
    throw std::runtime_error("the comparison with MPI is for blocking calls; leave out --nonblocking and --persistent");
  }

  /// Collectives with a count for each rank. The counts are converted when they change, not in the timed call.
  void runUneven(const CollectiveCall& c, MPI_Datatype type) {
    if (c.counts != converted_ || counts_.empty() || counts_[0] != mpiCount(c.counts[0])) {
      convertCounts(c.counts);
    }
    switch (c.collective) {
      case Collective::reduceScatter:
        return checkMpi(MPI_Reduce_scatter(c.send, c.recv, counts_.data(), type, mpiOp(c.op), world_),
                        "MPI_Reduce_scatter");
      case Collective::allGatherv:
        return checkMpi(
            MPI_Allgatherv(c.send, mpiCount(c.count), type, c.recv, counts_.data(), displs_.data(), type, world_),
            "MPI_Allgatherv");
      case Collective::allToAllv:
        return checkMpi(MPI_Alltoallv(c.send, counts_.data(), displs_.data(), type, c.recv, counts_.data(),
                                      displs_.data(), type, world_),
                        "MPI_Alltoallv");
      default:
        throw std::runtime_error("this benchmark has no MPI counterpart");
    }
  }

  void convertCounts(const std::size_t* counts) {
    converted_ = counts;
    counts_.clear();
    displs_.clear();
    std::size_t sum = 0;
    for (int i = 0; i < size_; ++i) {
      counts_.push_back(mpiCount(counts[i]));
      displs_.push_back(mpiCount(sum));
      sum += counts[i];
    }
  }

  MPI_Comm world_ = MPI_COMM_WORLD;
  int size_ = 1;
  const std::size_t* converted_ = nullptr;
  std::vector<int> counts_;
  std::vector<int> displs_;
  std::vector<MPI_Request> requests_;
};

} // namespace

MpiSession::MpiSession() {
  checkMpi(MPI_Init(nullptr, nullptr), "MPI_Init");
  checkMpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

MpiSession::~MpiSession() { MPI_Finalize(); }

goss_comm_t MpiSession::createComm(const goss_config& config) const {
  goss_comm_t comm = nullptr;
  check(goss_comm_create_from_mpi(MPI_COMM_WORLD, &config, &comm), "goss_comm_create_from_mpi");
  return comm;
}

std::unique_ptr<Engine> MpiSession::makeEngine() const { return std::make_unique<MpiEngine>(); }

void MpiSession::abort() const {
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort(); // MPI_Abort does not return, but MPI does not promise it
}

} // namespace goss::bench
