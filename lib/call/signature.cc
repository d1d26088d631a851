#include "call/signature.h"

#define XXH_INLINE_ALL // Inline, the hash of 24 bytes takes a nanosecond, less than a function call.
#include <fmt/format.h>
#include <xxhash.h>

#include "base/wire.h"
#include "schedule/contract.h"

namespace goss {

namespace {

constexpr const char* kDTypeNames[GOSS_DTYPE_COUNT] = {"int8",        "uint8",       "int32",    "uint32",  "int64",
                                                       "uint64",      "float16",     "bfloat16", "float32", "float64",
                                                       "float8_e4m3", "float8_e5m2", "bool"};
constexpr const char* kOpNames[GOSS_OP_COUNT] = {"sum",  "prod", "min",  "max",  "avg", "premul_sum",
                                                 "band", "bor",  "bxor", "land", "lor", "lxor"};

// An envelope has four bits for the dtype and four for the op.
static_assert(GOSS_DTYPE_COUNT <= 16 && GOSS_OP_COUNT <= 16);

} // namespace

const char* dtypeName(DType dtype) {
  const auto index = static_cast<unsigned>(dtype);
  return index < GOSS_DTYPE_COUNT ? kDTypeNames[index] : "unknown dtype";
}

const char* opName(ReduceOp op) {
  const auto index = static_cast<unsigned>(op);
  return index < GOSS_OP_COUNT ? kOpNames[index] : "unknown op";
}

Envelope Signature::encode() const {
  Envelope envelope{};
  std::byte* to = envelope.data();
  to[0] = static_cast<std::byte>(kind);
  to[1] = static_cast<std::byte>(collective);
  to[2] = static_cast<std::byte>(static_cast<unsigned>(dtype) | (codec & 0xf0u));
  to[3] = static_cast<std::byte>(static_cast<unsigned>(op) | (codec & 0x0fu) << 4);
  base::storeLittleEndian(to + 4, root);
  base::storeLittleEndian(to + 8, count);
  putHistory(envelope);
  return envelope;
}

// Writes one store: whoever copies the envelope next reads these eight bytes at once, and the processor would stall if
// they came from two stores.
void Signature::putHistory(Envelope& envelope) const {
  base::storeLittleEndian(envelope.data() + 16, std::uint64_t{history} << 32 | detail);
}

std::uint32_t historyAfter(const Envelope& call) {
  return static_cast<std::uint32_t>(XXH3_64bits(call.data(), sizeof call));
}

Signature Signature::decode(const Envelope& envelope) {
  const std::byte* from = envelope.data();
  Signature signature;
  signature.kind = static_cast<Kind>(from[0]);
  signature.collective = static_cast<Collective>(from[1]);
  signature.dtype = static_cast<DType>(std::to_integer<unsigned>(from[2]) & 15u);
  signature.op = static_cast<ReduceOp>(std::to_integer<unsigned>(from[3]) & 15u);
  signature.codec =
      static_cast<std::uint8_t>((std::to_integer<unsigned>(from[2]) & 0xf0u) | std::to_integer<unsigned>(from[3]) >> 4);
  signature.root = base::loadLittleEndian<std::int32_t>(from + 4);
  signature.count = base::loadLittleEndian<std::uint64_t>(from + 8);
  signature.detail = base::loadLittleEndian<std::uint32_t>(from + 16);
  signature.history = base::loadLittleEndian<std::uint32_t>(from + 20);
  return signature;
}

std::string Signature::describe() const {
  if (kind == Kind::pointToPoint) return fmt::format("a point-to-point message of {}", dtypeName(dtype));
  if (kind != Kind::collective) return "an internal message";
  if (collective == Collective::barrier) return "barrier";
  std::string text(schedule::nameOf(collective));
  if (schedule::reduces(collective)) text += fmt::format("({})", opName(op));
  text += fmt::format(" of {} {}", count, dtypeName(dtype));
  if (schedule::hasRoot(collective)) text += fmt::format(", root {}", root);
  return text;
}

} // namespace goss
