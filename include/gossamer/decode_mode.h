/// How decoded values are combined with those that the output holds. This header has no inline code, because files that
/// are compiled for one instruction set include it.
#ifndef GOSSAMER_DECODE_MODE_H_
#define GOSSAMER_DECODE_MODE_H_

#include <cstdint>

namespace goss {

enum class DecodeMode : std::uint8_t {
  set,           ///< out = sum of payloads
  add,           ///< out = out + sum of payloads, in the order of the payloads
  axpy,          ///< out = out + weight * each payload, in order
  meanOfPresent, ///< out[i] = mean over the payloads that hold element i; 0 where none does
};

} // namespace goss

#endif // GOSSAMER_DECODE_MODE_H_
