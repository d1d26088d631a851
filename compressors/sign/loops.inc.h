/// Loops of sign compression, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_SIGN_LOOPS_INC_H_
#define GOSS_COMPRESSORS_SIGN_LOOPS_INC_H_

#include "compressors/common/loops.inc.h"
#include "compressors/sign/format.h"

namespace goss::compressors {
namespace {

inline void packSigns(unsigned char* to, const float* __restrict values, std::size_t count) {
  unsigned char codes[kTileElems + 8];
  for (std::size_t i = 0; i < count; ++i) {
    codes[i] = static_cast<unsigned char>(values[i] < 0.0f ? 1 : 0);
  }
  const std::size_t padded = (count + 7) / 8 * 8;
  for (std::size_t i = count; i < padded; ++i) {
    codes[i] = 0;
  }
  packPlane<1>(to, codes, padded, 0);
}

inline void unpackSigns(float* out, const unsigned char* from, std::size_t count, float scale, Delivery delivery) {
  unsigned char codes[kTileElems + 8];
  unpackPlane<1>(codes, from, (count + 7) / 8 * 8);
  const auto bits = bitCast<std::uint32_t>(scale);
  const unsigned char* __restrict signs = codes;
  deliver(out, count, delivery,
          [signs, bits](std::size_t i) { return bitCast<float>(bits ^ (static_cast<std::uint32_t>(signs[i]) << 31)); });
}

inline SignLoops makeSignLoops() {
  SignLoops loops;
  loops.pack = packSigns;
  loops.unpack = unpackSigns;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SIGN_LOOPS_INC_H_
