/// How the indices of a sparse payload are written (docs/formats.md): a bit map, or 16-bit indices in tiles of 65536
/// elements, whichever is shorter.
#ifndef GOSS_COMPRESSORS_SPARSE_INDEX_SET_H_
#define GOSS_COMPRESSORS_SPARSE_INDEX_SET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace goss::compressors {

struct SparseLoops;

inline constexpr std::size_t kIndexTile = 65536;

constexpr std::size_t bitmapBytes(std::size_t count) { return (count + 7) / 8; }
/// Bytes of `held` indices into `count` elements; grows with both.
constexpr std::size_t indexBytes(std::size_t count, std::size_t held) {
  const std::size_t tiles = (count + kIndexTile - 1) / kIndexTile * sizeof(std::uint32_t) + 2 * held;
  return bitmapBytes(count) <= tiles ? bitmapBytes(count) : tiles;
}
constexpr bool isBitmap(std::size_t count, std::size_t held) { return indexBytes(count, held) == bitmapBytes(count); }

/// Ascending indices below `count`, which is below 2^32.
void writeIndices(std::span<const std::uint32_t> indices, std::size_t count, unsigned char* to);

/// What is wrong with indexBytes(count, held) bytes that should be `held` indices; an empty text: nothing.
std::string indicesFlaw(const unsigned char* from, std::size_t count, std::size_t held, const SparseLoops& loops);

/// Reads what writeIndices() wrote and indicesFlaw() found right.
void readIndices(const unsigned char* from, std::size_t count, std::span<std::uint32_t> indices);

/// Indices as Elias and Fano write monotone numbers (Fano 1971; Elias 1974), or a bit map where that is shorter. The
/// lower bits of all indices come first; then one bit for each index, at the place of its upper part plus the number of
/// indices before it.
struct PackedIndices {
  std::size_t low_bits = 0;  ///< Lower bits of an index.
  std::size_t low_bytes = 0; ///< Bytes of all lower bits.
  std::size_t bytes = 0;     ///< Bytes of all indices.
  bool is_bitmap = false;

  /// The shortest for `held` indices below `count`; `bytes` grows with `held`.
  constexpr PackedIndices(std::size_t count, std::size_t held) : bytes(bitmapBytes(count)), is_bitmap(true) {
    for (std::size_t bits = 0; bits < 32; ++bits) {
      const std::size_t low = (held * bits + 7) / 8, both = low + (held + (count >> bits) + 7) / 8;
      if (both < bytes) {
        low_bits = bits;
        low_bytes = low;
        bytes = both;
        is_bitmap = false;
      }
    }
  }
};
/// Number `i` of numbers of a few bits each, one behind the other from the lowest bit of the first byte on; at most 31
/// bits.
constexpr std::uint32_t packedNumber(const unsigned char* from, std::size_t bits, std::size_t i) {
  const std::size_t first = i * bits, end = first + bits;
  std::uint64_t word = 0;
  for (std::size_t byte = first / 8; byte * 8 < end; ++byte) {
    word |= static_cast<std::uint64_t>(from[byte]) << (8 * (byte - first / 8));
  }
  return static_cast<std::uint32_t>(word >> first % 8 & ((std::uint64_t{1} << bits) - 1));
}
void writePackedIndices(std::span<const std::uint32_t> indices, std::size_t count, unsigned char* to);
std::string packedIndicesFlaw(const unsigned char* from, std::size_t count, std::size_t held, const SparseLoops& loops);
void readPackedIndices(const unsigned char* from, std::size_t count, std::span<std::uint32_t> indices);

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_INDEX_SET_H_
