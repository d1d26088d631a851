/// The payload of microscaling codecs (docs/formats.md) and their loops.
#ifndef GOSS_COMPRESSORS_MX_FORMAT_H_
#define GOSS_COMPRESSORS_MX_FORMAT_H_

#include "compressors/common/runs.h"

namespace goss::compressors {

enum class MxElement : std::uint8_t { e4m3, e2m1, e3m0, e2m3, e3m2, int8 };
inline constexpr std::size_t kMxElements = 6;
inline constexpr std::size_t kMxBlock = 32; ///< Elements that share a power of two.

constexpr unsigned mxBits(MxElement element) {
  return element == MxElement::e4m3 || element == MxElement::int8   ? 8
         : element == MxElement::e2m3 || element == MxElement::e3m2 ? 6
                                                                    : 4;
}
/// Elements with the zeros that fill the last byte; 6 bits are a plane of 4 and one of 2.
constexpr std::size_t mxPadded(MxElement element, std::size_t total) {
  const std::size_t unit = mxBits(element) == 8 ? 1 : mxBits(element) == 6 ? 4 : 2;
  return (total + unit - 1) / unit * unit;
}
/// Codes, then one scale byte a block.
constexpr std::size_t mxCodeBytes(MxElement element, std::size_t total) {
  return mxPadded(element, total) * mxBits(element) / 8;
}
/// Byte where the plane of the two upper bits of 6 begins.
constexpr std::size_t mxUpperPlane(MxElement element, std::size_t total) { return mxPadded(element, total) / 2; }
constexpr std::size_t mxPayloadBytes(MxElement element, std::size_t total) {
  return mxCodeBytes(element, total) + (total + kMxBlock - 1) / kMxBlock;
}

// NVFP4: codes; a scale byte for each kNvBlock elements; a float32 for each tile.
inline constexpr std::size_t kNvBlock = 16;
constexpr std::size_t nvTileScales(std::size_t total) { return (total + 1) / 2 + (total + kNvBlock - 1) / kNvBlock; }
constexpr std::size_t nvPayloadBytes(std::size_t total) {
  return nvTileScales(total) + (total + kTileElems - 1) / kTileElems * sizeof(float);
}

/// Loops over a tile of at most kTileElems elements.
struct MxLoops {
  void (*encodeNv)(const float* values, const EncodeRun& run) = nullptr;
  void (*decodeNv)(float* out, const DecodeRun& run) = nullptr;
  void (*encode[kMxElements])(const float* values, const EncodeRun& run) = {};
  void (*decode[kMxElements])(float* out, const DecodeRun& run) = {};
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_MX_FORMAT_H_
