/// The rotation of Hadamard codecs (docs/formats.md) and its loops.
#ifndef GOSS_COMPRESSORS_HADAMARD_FORMAT_H_
#define GOSS_COMPRESSORS_HADAMARD_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace goss::compressors {

inline constexpr std::size_t kMaxHadamardElems = 1024;

/// Length of the piece of a vector that begins `left` elements before its end: a chunk, or, of the rest, the largest
/// power of two that fits.
constexpr std::size_t hadamardPiece(std::size_t left, std::size_t chunk) {
  std::size_t piece = chunk;
  while (piece > left) {
    piece /= 2;
  }
  return piece;
}

struct HadamardLoops {
  /// to = H D from / sqrt(count), where D has the signs of hadamardSign(); `count` is a power of two of at most
  /// kMaxHadamardElems. Every NaN becomes the canonical one.
  void (*rotate)(float* to, const float* from, std::size_t count) = nullptr;
  /// to = D H from / sqrt(count), the inverse up to rounding.
  void (*rotateBack)(float* to, const float* from, std::size_t count) = nullptr;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_HADAMARD_FORMAT_H_
