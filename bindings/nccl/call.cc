#include "bindings/nccl/call.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "bindings/nccl/errors.h"

namespace goss::nccl {

namespace {

constexpr std::array kTypes{GOSS_INT8,    GOSS_UINT8,    GOSS_INT32,       GOSS_UINT32,
                            GOSS_INT64,   GOSS_UINT64,   GOSS_FLOAT16,     GOSS_FLOAT32,
                            GOSS_FLOAT64, GOSS_BFLOAT16, GOSS_FLOAT8_E4M3, GOSS_FLOAT8_E5M2};
static_assert(kTypes.size() == ncclNumTypes);

template <typename T>
T load(const void* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// A format of floating-point numbers of fewer bits than 32: sign, exponent, mantissa.
struct NarrowFormat {
  unsigned exponent_bits;
  unsigned mantissa_bits;
  int bias;
  bool has_infinity; ///< False: only the exponent and the mantissa of all ones together are no number.
};
constexpr NarrowFormat kFloat16{5, 10, 15, true};
constexpr NarrowFormat kFloat8E4M3{4, 3, 7, false};
constexpr NarrowFormat kFloat8E5M2{5, 2, 15, true};

double widen(unsigned bits, const NarrowFormat& format) {
  const auto& [exponent_bits, mantissa_bits, bias, has_infinity] = format;
  const unsigned all_ones = (1u << mantissa_bits) - 1;
  const unsigned last_exponent = (1u << exponent_bits) - 1;
  const unsigned mantissa = bits & all_ones;
  const unsigned exponent = (bits >> mantissa_bits) & last_exponent;
  const double sign = (bits >> (mantissa_bits + exponent_bits)) != 0 ? -1.0 : 1.0;
  if (exponent == last_exponent && has_infinity && mantissa == 0) return sign * std::numeric_limits<double>::infinity();
  if (exponent == last_exponent && (has_infinity || mantissa == all_ones))
    return std::numeric_limits<double>::quiet_NaN();
  const double fraction = static_cast<double>(mantissa) / (1u << mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1.0 + fraction, static_cast<int>(exponent) - bias);
}

goss_options optionsOf(const Call& call) {
  goss_options options = GOSS_OPTIONS_INIT;
  options.scale = call.scale;
  options.timeout_ms = call.timeout_ms;
  if (!call.codec.empty()) options.codec = call.codec.c_str();
  if (!call.algorithm.empty()) options.algorithm = call.algorithm.c_str();
  return options;
}

goss_status run(goss_comm_t comm, const Call& call, const goss_options& options, goss_request_t* request) {
  const goss_dtype type = dtypeOf(call.type);
  switch (call.kind) {
    case Kind::allReduce:
      return goss_all_reduce(comm, call.send, call.recv, call.count, type, call.op, &options, request);
    case Kind::reduce:
      return goss_reduce(comm, call.send, call.recv, call.count, type, call.op, call.root, &options, request);
    case Kind::broadcast:
      return goss_broadcast(comm, call.send, call.recv, call.count, type, call.root, &options, request);
    case Kind::allGather:
      return goss_all_gather(comm, call.send, call.recv, call.count, type, &options, request);
    case Kind::reduceScatter:
      return goss_reduce_scatter(comm, call.send, call.recv, call.count, type, call.op, &options, request);
    case Kind::allToAll:
      return goss_all_to_all(comm, call.send, call.recv, call.count, type, &options, request);
    case Kind::gather:
      return goss_gather(comm, call.send, call.recv, call.count, type, call.root, &options, request);
    case Kind::scatter:
      return goss_scatter(comm, call.send, call.recv, call.count, type, call.root, &options, request);
    case Kind::send:
      return goss_send(comm, call.send, call.count, type, call.root, call.tag, &options, request);
    case Kind::recv:
      return goss_recv(comm, call.recv, call.count, type, call.root, call.tag, &options, request);
  }
  return GOSS_ERR_INTERNAL;
}

} // namespace

const char* nameOf(Kind kind) {
  constexpr std::array<const char*, kKinds> names{"AllReduce", "Reduce", "Broadcast", "AllGather", "ReduceScatter",
                                                  "AlltoAll",  "Gather", "Scatter",   "Send",      "Recv"};
  return names[static_cast<std::size_t>(kind)];
}

bool isMessage(Kind kind) { return kind == Kind::send || kind == Kind::recv; }

std::size_t elementBytes(ncclDataType_t type) {
  return type >= 0 && type < ncclNumTypes ? goss_dtype_size(dtypeOf(type)) : 0;
}

goss_dtype dtypeOf(ncclDataType_t type) { return kTypes[static_cast<std::size_t>(type)]; }

std::size_t sendBlocks(const Call& call, int rank, int ranks) {
  const auto all = static_cast<std::size_t>(ranks);
  switch (call.kind) {
    case Kind::broadcast:
      return rank == call.root ? 1 : 0;
    case Kind::reduceScatter:
    case Kind::allToAll:
      return all;
    case Kind::scatter:
      return rank == call.root ? all : 0;
    case Kind::recv:
      return 0;
    default:
      return 1;
  }
}

std::size_t recvBlocks(const Call& call, int rank, int ranks) {
  const auto all = static_cast<std::size_t>(ranks);
  switch (call.kind) {
    case Kind::reduce:
      return rank == call.root ? 1 : 0;
    case Kind::allGather:
    case Kind::allToAll:
      return all;
    case Kind::gather:
      return rank == call.root ? all : 0;
    case Kind::send:
      return 0;
    default:
      return 1;
  }
}

double scalarValue(const void* scalar, ncclDataType_t type) {
  switch (type) {
    case ncclFloat32:
      return load<float>(scalar);
    case ncclFloat64:
      return load<double>(scalar);
    case ncclFloat16:
      return widen(load<std::uint16_t>(scalar), kFloat16);
    case ncclBfloat16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(scalar)) << 16);
    case ncclFloat8e4m3:
      return widen(load<std::uint8_t>(scalar), kFloat8E4M3);
    case ncclFloat8e5m2:
      return widen(load<std::uint8_t>(scalar), kFloat8E5M2);
    default:
      return 1.0;
  }
}

Status start(goss_comm_t comm, const Call& call, void* stream, goss_request_t* request) {
  goss_options options = optionsOf(call);
  options.stream = stream;
  if (stream == nullptr) options.flags = GOSS_ON_HOST;
  return lastFailure(run(comm, call, options, request));
}

} // namespace goss::nccl
