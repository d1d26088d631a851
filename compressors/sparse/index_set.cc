#include "compressors/sparse/index_set.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/wire.h"
#include "compressors/sparse/format.h"

namespace goss::compressors {

using base::loadLittleEndian;
using base::storeLittleEndian;

void writeIndices(std::span<const std::uint32_t> indices, std::size_t count, unsigned char* to) {
  if (isBitmap(count, indices.size())) {
    std::memset(to, 0, bitmapBytes(count));
    for (const std::uint32_t index : indices) {
      to[index / 8] = static_cast<unsigned char>(to[index / 8] | (1u << (index % 8)));
    }
    return;
  }
  const std::size_t tiles = (count + kIndexTile - 1) / kIndexTile;
  unsigned char* local = to + tiles * sizeof(std::uint32_t);
  std::size_t next = 0;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const std::size_t before = next;
    for (; next < indices.size() && indices[next] / kIndexTile == tile; ++next, local += 2) {
      storeLittleEndian(local, static_cast<std::uint16_t>(indices[next] % kIndexTile));
    }
    storeLittleEndian(to + tile * sizeof(std::uint32_t), static_cast<std::uint32_t>(next - before));
  }
}

std::string indicesFlaw(const unsigned char* from, std::size_t count, std::size_t held, const SparseLoops& loops) {
  if (isBitmap(count, held)) {
    const std::size_t bits = loops.countBits(from, bitmapBytes(count));
    if (count % 8 != 0 && from[count / 8] >> (count % 8) != 0) {
      return "its bit map is longer than the vector";
    }
    return bits == held ? "" : "its bit map holds another number of elements";
  }
  const std::size_t tiles = (count + kIndexTile - 1) / kIndexTile;
  const unsigned char* local = from + tiles * sizeof(std::uint32_t);
  std::size_t left = held;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const std::size_t some = loadLittleEndian<std::uint32_t>(from + tile * sizeof(std::uint32_t));
    const std::size_t length = std::min(kIndexTile, count - tile * kIndexTile);
    if (some > left) {
      return "its tiles hold more elements than it says";
    }
    std::int64_t last = -1;
    for (std::size_t i = 0; i < some; ++i, local += 2) {
      const std::int64_t index = loadLittleEndian<std::uint16_t>(local);
      if (index <= last || static_cast<std::size_t>(index) >= length) {
        return "its indices are not ascending within the vector";
      }
      last = index;
    }
    left -= some;
  }
  return left == 0 ? "" : "its tiles hold fewer elements than it says";
}

void readIndices(const unsigned char* from, std::size_t count, std::span<std::uint32_t> indices) {
  std::size_t next = 0;
  if (isBitmap(count, indices.size())) {
    for (std::size_t i = 0; i < bitmapBytes(count); ++i) {
      for (unsigned byte = from[i]; byte != 0; byte &= byte - 1) {
        indices[next++] = static_cast<std::uint32_t>(i * 8 + static_cast<std::size_t>(std::countr_zero(byte)));
      }
    }
    return;
  }
  const std::size_t tiles = (count + kIndexTile - 1) / kIndexTile;
  const unsigned char* local = from + tiles * sizeof(std::uint32_t);
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    const std::size_t end = next + loadLittleEndian<std::uint32_t>(from + tile * sizeof(std::uint32_t));
    for (; next < end; ++next, local += 2) {
      indices[next] = static_cast<std::uint32_t>(tile * kIndexTile + loadLittleEndian<std::uint16_t>(local));
    }
  }
}

} // namespace goss::compressors
