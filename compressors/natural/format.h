/// One byte an element (docs/formats.md), and the loops of natural compression.
#ifndef GOSS_COMPRESSORS_NATURAL_FORMAT_H_
#define GOSS_COMPRESSORS_NATURAL_FORMAT_H_

#include "compressors/common/runs.h"

namespace goss::compressors {

struct NaturalLoops {
  void (*encode[2])(const float* values, const EncodeRun& run) = {}; ///< [0] rounds at random, [1] to nearest.
  void (*decode)(float* out, const DecodeRun& run) = nullptr;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_NATURAL_FORMAT_H_
