/// Loops of sign compression. Signs are packed by tiles of kTileElems: bit p of byte i of a tile of n elements (rounded
/// up to a multiple of 8) is the sign of element p * n / 8 + i.
#ifndef GOSS_COMPRESSORS_SIGN_FORMAT_H_
#define GOSS_COMPRESSORS_SIGN_FORMAT_H_

#include "compressors/common/runs.h"

namespace goss::compressors {

struct SignLoops {
  /// Packs (value < 0) of at most kTileElems elements into (count + 7) / 8 bytes.
  void (*pack)(unsigned char* to, const float* values, std::size_t count) = nullptr;
  /// Writes +scale or -scale for each bit, as the delivery says.
  void (*unpack)(float* out, const unsigned char* from, std::size_t count, float scale, Delivery delivery) = nullptr;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SIGN_FORMAT_H_
