/// Loops of the chunked cosine transform.
#ifndef GOSS_COMPRESSORS_DCT_FORMAT_H_
#define GOSS_COMPRESSORS_DCT_FORMAT_H_

#include <cstddef>

namespace goss::compressors {

inline constexpr std::size_t kMostDctElems = 256;

struct DctLoops {
  /// out[c] = sum over j of values[j] * basis[j * count + c], j ascending: the transform with basis, its inverse with
  /// the transposed one. Zero values are skipped.
  void (*transform)(float* out, const float* values, const float* basis, std::size_t count) = nullptr;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_DCT_FORMAT_H_
