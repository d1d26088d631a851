/// Loops of the microscaling codecs, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_MX_LOOPS_INC_H_
#define GOSS_COMPRESSORS_MX_LOOPS_INC_H_

#include "compressors/common/loops.inc.h"
#include "compressors/mx/element.h"
#include "compressors/mx/format.h"

namespace goss::compressors {
namespace {

template <typename Element>
void encodeMx(const float* values, const EncodeRun& run) {
  constexpr bool kBytes = Element::kElement == MxElement::e4m3;
  unsigned char tile[kTileElems];
  unsigned char* codes = kBytes ? run.payload + run.first : tile;
  unsigned char* scales = run.payload + mxCodeBytes(Element::kElement, run.total) + run.first / kMxBlock;
  for (std::size_t i = 0; i < run.count; i += kMxBlock) {
    const std::size_t count = kMxBlock < run.count - i ? kMxBlock : run.count - i;
    const float* __restrict from = values + i;
    unsigned char* __restrict to = codes + i;
    const std::uint32_t exponent = mxExponent<Element>(peakOf(from, count));
    const float inverse = mxInverse(exponent);
    scales[i / kMxBlock] = static_cast<unsigned char>(exponent);
    if (exponent == 255) {
      __builtin_memset(to, 0, count);
    } else if (count == kMxBlock) {
      for (std::size_t k = 0; k < kMxBlock; ++k) {
        to[k] = static_cast<unsigned char>(Element::encode(from[k] * inverse));
      }
    } else {
      for (std::size_t k = 0; k < count; ++k) {
        to[k] = static_cast<unsigned char>(Element::encode(from[k] * inverse));
      }
    }
  }
  if constexpr (!kBytes) {
    if (run.count % 2 != 0) {
      tile[run.count] = 0;
    }
    packPlane<4>(run.payload + run.first / 2, tile, (run.count + 1) / 2 * 2, 0);
  }
}

template <typename Element>
void decodeMx(float* out, const DecodeRun& run) {
  constexpr bool kBytes = Element::kElement == MxElement::e4m3;
  unsigned char tile[kTileElems];
  const unsigned char* codes = kBytes ? run.payload + run.first : tile;
  const unsigned char* scales = run.payload + mxCodeBytes(Element::kElement, run.total) + run.first / kMxBlock;
  if constexpr (!kBytes) {
    unpackPlane<4>(tile, run.payload + run.first / 2, (run.count + 1) / 2 * 2);
  }
  for (std::size_t i = 0; i < run.count; i += kMxBlock) {
    const std::size_t count = kMxBlock < run.count - i ? kMxBlock : run.count - i;
    const unsigned char* __restrict from = codes + i;
    float* __restrict to = out + i;
    const float scale = mxScale(scales[i / kMxBlock]);
    if (count == kMxBlock) {
      for (std::size_t k = 0; k < kMxBlock; ++k) {
        to[k] = Element::decode(from[k]) * scale;
      }
    } else {
      for (std::size_t k = 0; k < count; ++k) {
        to[k] = Element::decode(from[k]) * scale;
      }
    }
  }
}

inline MxLoops makeMxLoops() {
  MxLoops loops;
  loops.encode[0] = encodeMx<MxE4M3>;
  loops.encode[1] = encodeMx<MxE2M1>;
  loops.encode[2] = encodeMx<MxE3M0>;
  loops.decode[0] = decodeMx<MxE4M3>;
  loops.decode[1] = decodeMx<MxE2M1>;
  loops.decode[2] = decodeMx<MxE3M0>;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_MX_LOOPS_INC_H_
