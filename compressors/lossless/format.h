/// The payload of lossless coding (docs/formats.md) and its loops.
#ifndef GOSS_COMPRESSORS_LOSSLESS_FORMAT_H_
#define GOSS_COMPRESSORS_LOSSLESS_FORMAT_H_

#include <cstddef>
#include <cstdint>

#include "compressors/common/runs.h"

namespace goss::compressors {

inline constexpr std::size_t kLosslessChunk = 32768; ///< Elements whose planes are coded together.
inline constexpr std::size_t kLosslessPlanes = 4;
inline constexpr std::size_t kLosslessHeader = 4 * kLosslessPlanes; ///< Bytes before a chunk's planes.

/// How a plane is stored; the upper two bits of its header word, whose other bits are the stored bytes.
enum class PlaneMode : std::uint32_t { raw = 0, zstd = 1, repeated = 2 };

constexpr std::size_t losslessChunks(std::size_t count) { return (count + kLosslessChunk - 1) / kLosslessChunk; }

// `exponents`: tiles of kTileElems elements, each stored in one of these ways.
enum class TileMode : unsigned char {
  raw = 0,    ///< 4 bytes an element.
  zeros = 1,  ///< Nothing: every element is +0.
  coded = 2,  ///< CodedTile.
  narrow = 3, ///< CodedTile without low halves, which are zero: widened bfloat16.
};
/// Exponents that count - 1 below their block's top are coded in 3 bits; code 7 says that the exponent follows.
inline constexpr std::size_t kExponentBlock = 256;
inline constexpr unsigned kExponentEscape = 7;

/// Where the parts of a coded tile of `count` elements lie, from the byte behind its mode on.
struct CodedTile {
  std::size_t tops = 0;    ///< A byte for each block: the exponent of code 0.
  std::size_t escapes = 0; ///< Two bytes: number of escapes.
  std::size_t low;         ///< Plane of the codes' lower two bits.
  std::size_t high;        ///< Plane of their upper bit.
  std::size_t signs;       ///< A byte for each element: bits 16 to 22, and the sign in bit 7.
  std::size_t halves;      ///< Two bytes for each element: bits 0 to 15; none where they are zero.
  std::size_t exponents;   ///< A byte for each escape.

  constexpr CodedTile(std::size_t count, bool narrow) {
    const std::size_t padded = (count + 7) / 8 * 8;
    escapes = (count + kExponentBlock - 1) / kExponentBlock;
    low = escapes + 2;
    high = low + padded / 4;
    signs = high + padded / 8;
    halves = signs + count;
    exponents = halves + (narrow ? 0 : 2 * count);
  }
};

struct LosslessLoops {
  /// Writes a tile's mode and what follows; returns the bytes, at most 1 + 4 * count.
  std::size_t (*encodeTile)(unsigned char* to, const float* values, std::size_t count) = nullptr;
  /// Decodes a tile that was found to be right.
  void (*decodeTile)(float* values, const unsigned char* from, std::size_t count) = nullptr;
  /// Number of codes that are escapes in the planes of a coded tile.
  std::size_t (*countEscapes)(const unsigned char* low, const unsigned char* high, std::size_t count) = nullptr;
  /// Element i's bits, rotated left by one so that its exponent is a byte: byte p goes to planes[p * kLosslessChunk +
  /// i].
  void (*split)(unsigned char* planes, const float* values, std::size_t count) = nullptr;
  void (*join)(float* values, const unsigned char* planes, std::size_t count) = nullptr;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_LOSSLESS_FORMAT_H_
