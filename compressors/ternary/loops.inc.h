/// Loops of TernGrad, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_TERNARY_LOOPS_INC_H_
#define GOSS_COMPRESSORS_TERNARY_LOOPS_INC_H_

#include "compressors/common/loops.inc.h"
#include "compressors/ternary/element.h"
#include "compressors/ternary/format.h"

namespace goss::compressors {
namespace {

template <unsigned kBits>
constexpr std::size_t ternaryPadded(std::size_t count) {
  return (count + 8 / kBits - 1) / (8 / kBits) * (8 / kBits);
}

template <unsigned kBits>
void encodeTernary(unsigned char* to, const float* __restrict values, const EncodeRun& run, float inverse) {
  unsigned char codes[kTileElems];
  std::uint16_t random[kTileElems];
  const std::size_t count = run.count;
  fillRandom(random, run.key, run.random_first, count);
  for (std::size_t i = 0; i < count; ++i) {
    codes[i] = static_cast<unsigned char>(ternaryLevel(values[i] * inverse, random[i]));
  }
  const std::size_t padded = ternaryPadded<kBits>(count);
  for (std::size_t i = count; i < padded; ++i) {
    codes[i] = 0;
  }
  packPlane<kBits>(to, codes, padded, 0);
}

template <unsigned kBits>
void decodeTernary(float* out, const unsigned char* from, std::size_t count, float scale, Delivery delivery) {
  unsigned char codes[kTileElems];
  unpackPlane<kBits>(codes, from, ternaryPadded<kBits>(count));
  const unsigned char* __restrict words = codes;
  deliver(out, count, delivery,
          [words, scale](std::size_t i) { return static_cast<float>(ternarySigned<kBits>(words[i])) * scale; });
}

template <unsigned kBits>
void addTernary(unsigned char* into, const unsigned char* from, std::size_t count) {
  unsigned char left[kTileElems] = {}, right[kTileElems] = {};
  const std::size_t padded = ternaryPadded<kBits>(count);
  unpackPlane<kBits>(left, into, padded);
  unpackPlane<kBits>(right, from, padded);
  for (std::size_t i = 0; i < padded; ++i) {
    left[i] = static_cast<unsigned char>(left[i] + right[i]);
  }
  packPlane<kBits>(into, left, padded, 0);
}

inline TernaryLoops makeTernaryLoops() {
  TernaryLoops loops;
  loops.encode[0] = encodeTernary<2>;
  loops.encode[1] = encodeTernary<4>;
  loops.encode[2] = encodeTernary<8>;
  loops.decode[0] = decodeTernary<2>;
  loops.decode[1] = decodeTernary<4>;
  loops.decode[2] = decodeTernary<8>;
  loops.add[0] = addTernary<2>;
  loops.add[1] = addTernary<4>;
  loops.add[2] = addTernary<8>;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_TERNARY_LOOPS_INC_H_
