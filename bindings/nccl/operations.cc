// Collectives, messages and reductions.
#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "bindings/nccl/communicator.h"
#include "bindings/nccl/config.h"
#include "bindings/nccl/errors.h"
#include "bindings/nccl/group.h"
#include "bindings/nccl/settings.h"

namespace goss::nccl {

namespace {

/// Arguments that all collectives and messages have.
struct Given {
  Kind kind;
  const void* send;
  void* recv;
  std::size_t count;
  ncclDataType_t type;
  ncclComm_t comm;
  cudaStream_t stream;
  ncclRedOp_t op = ncclSum;
  int root = 0;
  const ncclCollConfig_t* config = nullptr;
};

Status checkMemory(const void* memory, const char* what, Kind kind) {
  if (memory == nullptr) return invalid(fmt::format("nccl{}: {} is NULL", nameOf(kind), what));
  auto provider = devices();
  if (!provider.isOk()) return provider.status();
  const auto info = provider.value()->classify(memory);
  if (!info.isOk()) return info.status();
  if (info.value().kind != MemoryKind::host) return {};
  return invalid(
      fmt::format("nccl{}: {} is neither device memory nor pinned memory; allocate it with cudaMalloc or "
                  "cudaHostAlloc",
                  nameOf(kind), what));
}

/// Whether sums of the type overflow where their average does not.
bool sumsOverflow(ncclDataType_t type) {
  return type == ncclFloat16 || type == ncclFloat8e4m3 || type == ncclFloat8e5m2;
}

Status setOp(Call& call, ncclComm& comm, ncclRedOp_t op) {
  switch (op) {
    case ncclSum:
      call.op = GOSS_SUM;
      return {};
    case ncclProd:
      call.op = GOSS_PROD;
      return {};
    case ncclMax:
      call.op = GOSS_MAX;
      return {};
    case ncclMin:
      call.op = GOSS_MIN;
      return {};
    case ncclAvg:
      call.op = GOSS_AVG;
      if (!sumsOverflow(call.type)) return {};
      call.op = GOSS_PREMUL_SUM; // as NCCL does
      call.scale = 1.0 / comm.ranks;
      return {};
    default:
      break;
  }
  const std::lock_guard lock(comm.mutex);
  const auto found = comm.ops.find(static_cast<int>(op));
  if (found == comm.ops.end())
    return invalid(fmt::format("nccl{}: reduction {} does not exist in this communicator", nameOf(call.kind),
                               static_cast<int>(op)));
  if (found->second.type != call.type)
    return invalid(fmt::format("nccl{}: the reduction was made for another type than the buffers'", nameOf(call.kind)));
  call.op = GOSS_PREMUL_SUM;
  call.scale = found->second.scale;
  call.device_scalar = found->second.device_scalar;
  return {};
}

bool reduces(Kind kind) { return kind == Kind::allReduce || kind == Kind::reduce || kind == Kind::reduceScatter; }

Status check(const Call& call, const ncclComm& comm) {
  if (call.root < 0 || call.root >= comm.ranks)
    return invalid(
        fmt::format("nccl{}: there is no rank {} among {}", nameOf(call.kind), call.root, comm.ranks.load()));
  if (call.count == 0) return {};
  if (sendBlocks(call, comm.rank, comm.ranks) > 0)
    if (Status status = checkMemory(call.send, "the send buffer", call.kind); !status.isOk()) return status;
  if (recvBlocks(call, comm.rank, comm.ranks) > 0) return checkMemory(call.recv, "the receive buffer", call.kind);
  return {};
}

/// Sets the codec, the algorithm and the deadline from the environment and from the call's own config.
Status choose(Call& call, const ncclCollConfig_t* given) {
  auto config = readCallConfig(given);
  if (!config.isOk()) return config.status();
  const bool floating = call.type == ncclFloat16 || call.type == ncclFloat32 || call.type == ncclBfloat16;
  const bool adds = call.op == GOSS_SUM || call.op == GOSS_AVG || call.op == GOSS_PREMUL_SUM;
  if (call.kind == Kind::allReduce && floating && adds) call.codec = settings().codec;
  if (!isMessage(call.kind)) call.algorithm = settings().algorithm;
  if (!config.value().codec.empty()) call.codec = config.value().codec;
  if (!config.value().algorithm.empty()) call.algorithm = config.value().algorithm;
  call.timeout_ms = config.value().timeout_ms;
  return {};
}

ncclResult_t enqueue(const Given& given) {
  const std::string name = fmt::format("nccl{}", nameOf(given.kind));
  const auto comm = find(given.comm, name.c_str());
  if (comm == nullptr) return ncclInvalidArgument;
  if (const ncclResult_t result = comm->ready(name.c_str()); result != ncclSuccess) return result;
  if (elementBytes(given.type) == 0)
    return refuse(ncclInvalidArgument, fmt::format("{}: type {} does not exist", name, static_cast<int>(given.type)));
  auto call = std::make_shared<Call>();
  call->kind = given.kind;
  call->send = static_cast<const std::byte*>(given.send);
  call->recv = static_cast<std::byte*>(given.recv);
  call->count = given.count;
  call->type = given.type;
  call->root = given.root;
  call->stream = given.stream;
  Status status = check(*call, *comm);
  if (status.isOk() && reduces(given.kind)) status = setOp(*call, *comm, given.op);
  if (status.isOk()) status = choose(*call, given.config);
  if (!status.isOk()) return report(status);
  return launch(comm, std::move(call));
}

ncclResult_t run(const Given& given) { return refusedInGroup(enqueue(given)); }

} // namespace

} // namespace goss::nccl

using goss::nccl::Kind;
using goss::nccl::run;

ncclResult_t ncclAllReduceConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                 ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  return run({Kind::allReduce, send, recv, count, type, comm, stream, op, 0, config});
}
ncclResult_t ncclAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return ncclAllReduceConfig(send, recv, count, type, op, comm, stream, nullptr);
}
ncclResult_t ncclReduceConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                              ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  return run({Kind::reduce, send, recv, count, type, comm, stream, op, root, config});
}
ncclResult_t ncclReduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return ncclReduceConfig(send, recv, count, type, op, root, comm, stream, nullptr);
}
ncclResult_t ncclBroadcastConfig(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                                 ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  return run({Kind::broadcast, send, recv, count, type, comm, stream, ncclSum, root, config});
}
ncclResult_t ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return ncclBroadcastConfig(send, recv, count, type, root, comm, stream, nullptr);
}
ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return ncclBroadcastConfig(buffer, buffer, count, type, root, comm, stream, nullptr);
}
ncclResult_t ncclReduceScatterConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                     ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  return run({Kind::reduceScatter, send, recv, count, type, comm, stream, op, 0, config});
}
ncclResult_t ncclReduceScatter(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return ncclReduceScatterConfig(send, recv, count, type, op, comm, stream, nullptr);
}
ncclResult_t ncclAllGatherConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t* config) {
  return run({Kind::allGather, send, recv, count, type, comm, stream, ncclSum, 0, config});
}
ncclResult_t ncclAllGather(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return ncclAllGatherConfig(send, recv, count, type, comm, stream, nullptr);
}
ncclResult_t ncclAlltoAllConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                                cudaStream_t stream, const ncclCollConfig_t* config) {
  return run({Kind::allToAll, send, recv, count, type, comm, stream, ncclSum, 0, config});
}
ncclResult_t ncclAlltoAll(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream) {
  return ncclAlltoAllConfig(send, recv, count, type, comm, stream, nullptr);
}
ncclResult_t ncclGatherConfig(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                              ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  return run({Kind::gather, send, recv, count, type, comm, stream, ncclSum, root, config});
}
ncclResult_t ncclGather(const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return ncclGatherConfig(send, recv, count, type, root, comm, stream, nullptr);
}
ncclResult_t ncclScatterConfig(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                               ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config) {
  return run({Kind::scatter, send, recv, count, type, comm, stream, ncclSum, root, config});
}
ncclResult_t ncclScatter(const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                         cudaStream_t stream) {
  return ncclScatterConfig(send, recv, count, type, root, comm, stream, nullptr);
}
ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return run({Kind::send, send, nullptr, count, type, comm, stream, ncclSum, peer});
}
ncclResult_t ncclRecv(void* recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return run({Kind::recv, nullptr, recv, count, type, comm, stream, ncclSum, peer});
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t handle) {
  const auto comm = goss::nccl::find(handle, "ncclRedOpCreatePreMulSum");
  if (comm == nullptr) return ncclInvalidArgument;
  if (op == nullptr || scalar == nullptr)
    return goss::nccl::refuse(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: op or scalar is NULL");
  const bool floating = type >= ncclFloat16 && type < ncclNumTypes;
  if (!floating)
    return goss::nccl::refuse(ncclInvalidArgument,
                              "ncclRedOpCreatePreMulSum: for floating types only; multiply the "
                              "integers before, and use ncclSum");
  const bool on_device = residence == ncclScalarDevice;
  static std::atomic<int> next{ncclNumOps};
  const int made = next++;
  const std::lock_guard lock(comm->mutex);
  comm->ops[made] = {type, on_device ? 1.0 : goss::nccl::scalarValue(scalar, type),
                     on_device ? static_cast<const std::byte*>(scalar) : nullptr};
  *op = static_cast<ncclRedOp_t>(made);
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t handle) {
  const auto comm = goss::nccl::find(handle, "ncclRedOpDestroy");
  if (comm == nullptr) return ncclInvalidArgument;
  const std::lock_guard lock(comm->mutex);
  if (comm->ops.erase(static_cast<int>(op)) > 0) return ncclSuccess;
  return goss::nccl::refuse(ncclInvalidArgument, "ncclRedOpDestroy: this is no reduction that the program made");
}
