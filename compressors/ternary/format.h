/// Loops of TernGrad: levels -1, 0 and 1 in words of 2, 4 or 8 bits, two's complement, so that sums of several fit.
#ifndef GOSS_COMPRESSORS_TERNARY_FORMAT_H_
#define GOSS_COMPRESSORS_TERNARY_FORMAT_H_

#include "compressors/common/runs.h"

namespace goss::compressors {

struct TernarySettings {
  float clip = 2.5f;  ///< Clip in standard deviations; 0: none. Clipping makes the codec biased.
  float scale = 0;    ///< The scale that all ranks share (the maximum of theirs); 0: each payload has its own.
  unsigned ranks = 1; ///< Payloads that are added: 1, up to 7 or up to 127 give words of 2, 4 or 8 bits.
};

/// Words are packed by tiles of kTileElems, as in common/loops.inc.h.
struct TernaryLoops {
  /// Levels of at most kTileElems elements at `inverse` = 1 / scale.
  void (*encode[3])(unsigned char* to, const float* values, const EncodeRun& run, float inverse) = {};
  /// Decodes words: each times the scale.
  void (*decode[3])(float* out, const unsigned char* from, std::size_t count, float scale, Delivery delivery) = {};
  /// into = into + from, word by word.
  void (*add[3])(unsigned char* into, const unsigned char* from, std::size_t count) = {};
};

/// Width of a word for sums of so many payloads.
constexpr unsigned ternaryBits(unsigned ranks) { return ranks == 1 ? 2 : ranks <= 7 ? 4 : 8; }
constexpr std::size_t ternaryWidthIndex(unsigned bits) { return bits == 2 ? 0 : bits == 4 ? 1 : 2; }

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_TERNARY_FORMAT_H_
