/// One collective or message as NCCL's functions describe it, and how it becomes a call of the C ABI.
#ifndef GOSS_BINDINGS_NCCL_CALL_H_
#define GOSS_BINDINGS_NCCL_CALL_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "bindings/nccl/nccl_api.h"
#include "gossamer/gossamer.h"
#include "gossamer/status.h"

namespace goss::nccl {

enum class Kind : std::uint8_t {
  allReduce,
  reduce,
  broadcast,
  allGather,
  reduceScatter,
  allToAll,
  gather,
  scatter,
  send,
  recv
};
inline constexpr std::size_t kKinds = 10;
/// Messages of the program have tags below this one.
inline constexpr std::int32_t kOwnTag = 0x7fffffff;
const char* nameOf(Kind kind);

struct Call {
  Kind kind = Kind::allReduce;
  const std::byte* send = nullptr; ///< Device memory, as are recv and device_scalar.
  std::byte* recv = nullptr;
  std::size_t count = 0; ///< Elements of a block.
  ncclDataType_t type = ncclInt8;
  goss_op op = GOSS_SUM;
  double scale = 1.0;                       ///< Factor of GOSS_PREMUL_SUM.
  const std::byte* device_scalar = nullptr; ///< Not null: where the stream reads the scale.
  int root = 0;                             ///< Or the other rank of a message.
  std::int32_t tag = 0;                     ///< Counts the messages between the two ranks.
  std::string codec;
  std::string algorithm;
  std::int64_t timeout_ms = 0;
  cudaStream_t stream = nullptr;
};

bool isMessage(Kind kind);
/// Bytes of an element; 0 for a type that does not exist.
std::size_t elementBytes(ncclDataType_t type);
goss_dtype dtypeOf(ncclDataType_t type);
/// Blocks of `count` elements that this rank reads of `send` and writes of `recv`.
std::size_t sendBlocks(const Call& call, int rank, int ranks);
std::size_t recvBlocks(const Call& call, int rank, int ranks);
/// The number at `scalar` in host memory.
double scalarValue(const void* scalar, ncclDataType_t type);

/// Starts the call as a part of `stream`; its request says when it is complete. Null: all is memory of the host, and no
/// driver is asked.
Status start(goss_comm_t comm, const Call& call, void* stream, goss_request_t* request);

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_CALL_H_
