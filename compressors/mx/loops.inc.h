/// Loops of the microscaling codecs, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_MX_LOOPS_INC_H_
#define GOSS_COMPRESSORS_MX_LOOPS_INC_H_

#include "compressors/common/loops.inc.h"
#include "compressors/mx/element.h"
#include "compressors/mx/format.h"

namespace goss::compressors {
namespace {

/// Packs the codes of a tile; `tile` has space for three more.
template <MxElement kElement>
inline void packMx(unsigned char* tile, const EncodeRun& run) {
  const std::size_t padded = mxPadded(kElement, run.count);
  __builtin_memset(tile + run.count, 0, padded - run.count);
  packPlane<4>(run.payload + run.first / 2, tile, padded, 0);
  if constexpr (mxBits(kElement) == 6) {
    packPlane<2>(run.payload + mxUpperPlane(kElement, run.total) + run.first / 4, tile, padded, 4);
  }
}
template <MxElement kElement>
inline void unpackMx(unsigned char* tile, const DecodeRun& run) {
  const std::size_t padded = mxPadded(kElement, run.count);
  unpackPlane<4>(tile, run.payload + run.first / 2, padded);
  if constexpr (mxBits(kElement) == 6) {
    unpackPlane<2, true>(tile, run.payload + mxUpperPlane(kElement, run.total) + run.first / 4, padded, 4);
  }
}

template <typename Element>
void encodeMx(const float* values, const EncodeRun& run) {
  constexpr bool kBytes = mxBits(Element::kElement) == 8;
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
    packMx<Element::kElement>(tile, run);
  }
}

template <typename Element>
void decodeMx(float* out, const DecodeRun& run) {
  constexpr bool kBytes = mxBits(Element::kElement) == 8;
  unsigned char tile[kTileElems];
  const unsigned char* codes = kBytes ? run.payload + run.first : tile;
  const unsigned char* scales = run.payload + mxCodeBytes(Element::kElement, run.total) + run.first / kMxBlock;
  if constexpr (!kBytes) {
    unpackMx<Element::kElement>(tile, run);
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

inline void encodeNv(const float* values, const EncodeRun& run) {
  unsigned char tile[kTileElems];
  const Scale whole = nvTileScale(peakOf(values, run.count));
  storeFloat(run.payload + nvTileScales(run.total) + run.first / kTileElems * sizeof(float), whole.step);
  unsigned char* scales = run.payload + (run.total + 1) / 2 + run.first / kNvBlock;
  for (std::size_t i = 0; i < run.count; i += kNvBlock) {
    const std::size_t count = kNvBlock < run.count - i ? kNvBlock : run.count - i;
    const float* __restrict from = values + i;
    unsigned char* __restrict to = tile + i;
    const std::uint32_t scale = nvBlockScale(peakOf(from, count), whole);
    const float inverse = nvInverse(scale, whole);
    scales[i / kNvBlock] = static_cast<unsigned char>(scale);
    if (inverse == 0.0f) {
      __builtin_memset(to, 0, count);
    } else if (count == kNvBlock) {
      for (std::size_t k = 0; k < kNvBlock; ++k) {
        to[k] = static_cast<unsigned char>(Float4E2M1::encode(from[k] * inverse));
      }
    } else {
      for (std::size_t k = 0; k < count; ++k) {
        to[k] = static_cast<unsigned char>(Float4E2M1::encode(from[k] * inverse));
      }
    }
  }
  packMx<MxElement::e2m1>(tile, run);
}

inline void decodeNv(float* out, const DecodeRun& run) {
  unsigned char tile[kTileElems];
  unpackMx<MxElement::e2m1>(tile, run);
  const float step = loadFloat(run.payload + nvTileScales(run.total) + run.first / kTileElems * sizeof(float));
  const unsigned char* scales = run.payload + (run.total + 1) / 2 + run.first / kNvBlock;
  for (std::size_t i = 0; i < run.count; i += kNvBlock) {
    const std::size_t count = kNvBlock < run.count - i ? kNvBlock : run.count - i;
    const unsigned char* __restrict from = tile + i;
    float* __restrict to = out + i;
    const float scale = nvScale(scales[i / kNvBlock], step);
    if (count == kNvBlock) {
      for (std::size_t k = 0; k < kNvBlock; ++k) {
        to[k] = Float4E2M1::decode(from[k]) * scale;
      }
    } else {
      for (std::size_t k = 0; k < count; ++k) {
        to[k] = Float4E2M1::decode(from[k]) * scale;
      }
    }
  }
}

inline MxLoops makeMxLoops() {
  MxLoops loops;
  const auto add = [&loops]<typename Element>(Element) {
    const auto which = static_cast<std::size_t>(Element::kElement);
    loops.encode[which] = encodeMx<Element>;
    loops.decode[which] = decodeMx<Element>;
  };
  add(MxE4M3{});
  add(MxE2M1{});
  add(MxE3M0{});
  add(MxE2M3{});
  add(MxE3M2{});
  add(MxInt8{});
  loops.encodeNv = encodeNv;
  loops.decodeNv = decodeNv;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_MX_LOOPS_INC_H_
