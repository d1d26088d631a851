/// The signature of a call, in 24 bytes: it travels with every message, so that calls that do not match are found and
/// named.
#ifndef GOSS_LIB_CALL_SIGNATURE_H_
#define GOSS_LIB_CALL_SIGNATURE_H_

#include <cstdint>
#include <string>

#include "gossamer/message.h"
#include "gossamer/types.h"

namespace goss {

/// Fields that must be equal on all ranks of an operation.
struct Signature {
  enum class Kind : std::uint8_t { collective = 1, pointToPoint = 2, control = 3, window = 4 };

  Kind kind = Kind::collective;
  Collective collective = Collective::barrier;
  DType dtype = GOSS_INT8;
  ReduceOp op = GOSS_SUM;
  std::uint8_t codec = 0; ///< 0: not compressed; else 1..255, equal for equal codecs.
  std::int32_t root = -1;
  std::uint64_t count = 0;  ///< Elements as the caller gave them; for v-variants their sum.
  std::uint32_t detail = 0; ///< Hash of the counts of a v-variant, of algorithm, fragments and codec.
  /// historyAfter() of the call before, and so a hash of all calls before; 0: this is the first.
  std::uint32_t history = 0;

  friend bool operator==(const Signature&, const Signature&) = default;

  [[nodiscard]] Envelope encode() const;
  /// Updates `detail` and `history` in an envelope that encode() returned.
  void putHistory(Envelope& envelope) const;
  static Signature decode(const Envelope& envelope);
  /// The call as text, such as "all_reduce(sum) of 1024 float32" or "broadcast of 7 int8 from root 2". The text does
  /// not name the codec, because the signature does not hold its name.
  [[nodiscard]] std::string describe() const;
};

/// The hash that the envelope of the call after `call` carries.
std::uint32_t historyAfter(const Envelope& call);

const char* dtypeName(DType dtype);
const char* opName(ReduceOp op);

} // namespace goss

#endif // GOSS_LIB_CALL_SIGNATURE_H_
