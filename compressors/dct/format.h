/// Loops of the chunked cosine transform.
#ifndef GOSS_COMPRESSORS_DCT_FORMAT_H_
#define GOSS_COMPRESSORS_DCT_FORMAT_H_

#include <cstddef>

namespace goss::compressors {

inline constexpr std::size_t kMaxDctElems = 256;

/// All that the basis of a chunk is made of. Plain numbers, so that a kernel can be given it by value.
struct DctTable {
  std::size_t chunk = 0;
  float level = 0;                     ///< sqrt(1 / chunk).
  float cosine[kMaxDctElems + 1] = {}; ///< sqrt(2 / chunk) cos(pi i / (2 chunk)), i up to chunk.
};

inline constexpr std::size_t kDctEntryBytes = 1 + sizeof(float); ///< Index and value.

struct DctLoops {
  /// out[c] = sum over j of values[j] * basis[j * count + c], j ascending: the transform with basis, its inverse with
  /// the transposed one. `count` is a power of two of at least 8.
  void (*transform)(float* out, const float* values, const float* basis, std::size_t count) = nullptr;
  /// Transforms two chunks, one behind the other, which share each read of the basis.
  void (*transformTwo)(float* out, const float* values, const float* basis, std::size_t count) = nullptr;
  /// Writes the indices of the `keep` largest magnitudes, of equal ones the first, in ascending order. 1 <= keep <=
  /// count; `indices` holds `count`.
  void (*select)(unsigned char* indices, const float* coefficients, std::size_t count, std::size_t keep) = nullptr;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_DCT_FORMAT_H_
