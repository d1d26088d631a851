/// Loops of the chunked cosine transform, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_DCT_LOOPS_INC_H_
#define GOSS_COMPRESSORS_DCT_LOOPS_INC_H_

#include "compressors/common/loops.inc.h"
#include "compressors/dct/format.h"

namespace goss::compressors {
namespace {

inline void dctTransform(float* __restrict out, const float* __restrict values, const float* __restrict basis,
                         std::size_t count) {
  for (std::size_t c = 0; c < count; ++c) {
    out[c] = 0;
  }
  for (std::size_t j = 0; j < count; ++j) {
    const float value = values[j];
    const float* __restrict row = basis + j * count;
    if (value != 0.0f) {
      for (std::size_t c = 0; c < count; ++c) {
        out[c] += value * row[c];
      }
    }
  }
}

inline DctLoops makeDctLoops() {
  DctLoops loops;
  loops.transform = dctTransform;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_DCT_LOOPS_INC_H_
