/// Loops of MinMaxUInt8.
#ifndef GOSS_COMPRESSORS_BAGUA_FORMAT_H_
#define GOSS_COMPRESSORS_BAGUA_FORMAT_H_

#include "compressors/common/runs.h"

namespace goss::compressors {

inline constexpr std::size_t kMinMaxHeaderBytes = 32; ///< Least and largest value, then zeros.
/// Codes are followed by zeros up to a multiple of 32.
constexpr std::size_t minMaxCodeBytes(std::size_t count) { return (count + 31) / 32 * 32; }

struct MinMaxScale {
  float scale = 1;
  float upper = 0;
  float lower = 0;
};

struct MinMaxLoops {
  /// Least and largest value of a vector; a zero may have either sign.
  void (*range)(const float* values, std::size_t count, float& low, float& high) = nullptr;
  MinMaxScale (*scale)(float low, float high) = nullptr;
  void (*encode)(unsigned char* to, const float* values, std::size_t count, MinMaxScale scale) = nullptr;
  void (*decode)(float* out, const unsigned char* from, std::size_t count, MinMaxScale scale,
                 Delivery delivery) = nullptr;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_BAGUA_FORMAT_H_
