/// The payload of microscaling codecs (docs/formats.md) and their loops.
#ifndef GOSS_COMPRESSORS_MX_FORMAT_H_
#define GOSS_COMPRESSORS_MX_FORMAT_H_

#include "compressors/common/runs.h"

namespace goss::compressors {

enum class MxElement : std::uint8_t { e4m3, e2m1, e3m0 };
inline constexpr std::size_t kMxElements = 3;
inline constexpr std::size_t kMxBlock = 32; ///< Elements that share a power of two.

/// Codes, then one scale byte a block.
constexpr std::size_t mxCodeBytes(MxElement element, std::size_t total) {
  return element == MxElement::e4m3 ? total : (total + 1) / 2;
}
constexpr std::size_t mxPayloadBytes(MxElement element, std::size_t total) {
  return mxCodeBytes(element, total) + (total + kMxBlock - 1) / kMxBlock;
}

/// Loops over a tile of at most kTileElems elements.
struct MxLoops {
  void (*encode[kMxElements])(const float* values, const EncodeRun& run) = {};
  void (*decode[kMxElements])(float* out, const DecodeRun& run) = {};
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_MX_FORMAT_H_
