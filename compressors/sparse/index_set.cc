#include "compressors/sparse/index_set.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/wire.h"
#include "compressors/sparse/format.h"

namespace goss::compressors {

using base::loadLittleEndian;
using base::storeLittleEndian;

namespace {

void setBit(unsigned char* to, std::size_t bit) {
  to[bit / 8] = static_cast<unsigned char>(to[bit / 8] | 1u << bit % 8);
}

void writeBitmap(std::span<const std::uint32_t> indices, std::size_t count, unsigned char* to) {
  std::memset(to, 0, bitmapBytes(count));
  for (const std::uint32_t index : indices) {
    setBit(to, index);
  }
}

std::string bitmapFlaw(const unsigned char* from, std::size_t count, std::size_t held, const SparseLoops& loops) {
  const std::size_t bits = loops.countBits(from, bitmapBytes(count));
  if (count % 8 != 0 && from[count / 8] >> (count % 8) != 0) {
    return "its bit map is longer than the vector";
  }
  return bits == held ? "" : "its bit map holds another number of elements";
}

/// Calls use(i) for all set bits of a number of bytes, ascending.
template <typename Use>
void eachBit(const unsigned char* from, std::size_t bytes, Use use) {
  for (std::size_t i = 0; i < bytes; ++i) {
    for (unsigned byte = from[i]; byte != 0; byte &= byte - 1) {
      use(i * 8 + static_cast<std::size_t>(std::countr_zero(byte)));
    }
  }
}

/// Numbers of a few bits each, one behind the other from the lowest bit of the first byte on.
class BitReader {
 public:
  explicit BitReader(const unsigned char* from) : from_(from) {}
  std::uint32_t next(std::size_t bits) {
    for (; held_ < bits; held_ += 8) {
      word_ |= static_cast<std::uint64_t>(*from_++) << held_;
    }
    const auto number = static_cast<std::uint32_t>(word_ & ((std::uint64_t{1} << bits) - 1));
    word_ >>= bits;
    held_ -= bits;
    return number;
  }
  /// Bits of the last byte that no number has taken.
  [[nodiscard]] std::uint64_t rest() const { return word_; }

 private:
  const unsigned char* from_;
  std::uint64_t word_ = 0;
  std::size_t held_ = 0;
};

} // namespace

void writeIndices(std::span<const std::uint32_t> indices, std::size_t count, unsigned char* to) {
  if (isBitmap(count, indices.size())) {
    return writeBitmap(indices, count, to);
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
    return bitmapFlaw(from, count, held, loops);
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
    return eachBit(from, bitmapBytes(count), [&](std::size_t i) { indices[next++] = static_cast<std::uint32_t>(i); });
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

void writePackedIndices(std::span<const std::uint32_t> indices, std::size_t count, unsigned char* to) {
  const PackedIndices packed(count, indices.size());
  if (packed.is_bitmap) {
    return writeBitmap(indices, count, to);
  }
  std::memset(to, 0, packed.bytes);
  unsigned char* const upper = to + packed.low_bytes;
  std::uint64_t word = 0;
  std::size_t waiting = 0; // bits of the word
  for (std::size_t i = 0; i < indices.size(); ++i) {
    word |= (indices[i] & ((std::uint64_t{1} << packed.low_bits) - 1)) << waiting;
    for (waiting += packed.low_bits; waiting >= 8; waiting -= 8, word >>= 8) {
      *to++ = static_cast<unsigned char>(word);
    }
    setBit(upper, (indices[i] >> packed.low_bits) + i);
  }
  if (waiting != 0) {
    *to = static_cast<unsigned char>(word);
  }
}

std::string packedIndicesFlaw(const unsigned char* from, std::size_t count, std::size_t held,
                              const SparseLoops& loops) {
  const PackedIndices packed(count, held);
  if (packed.is_bitmap) {
    return bitmapFlaw(from, count, held, loops);
  }
  const unsigned char* const upper = from + packed.low_bytes;
  if (loops.countBits(upper, packed.bytes - packed.low_bytes) != held) {
    return "its packed indices are not as many as it says";
  }
  BitReader lower(from);
  std::int64_t last = -1;
  bool ascend = true;
  std::size_t before = 0;
  eachBit(upper, packed.bytes - packed.low_bytes, [&](std::size_t bit) {
    const auto index = static_cast<std::int64_t>((bit - before++) << packed.low_bits | lower.next(packed.low_bits));
    ascend = ascend && index > last && index < static_cast<std::int64_t>(count);
    last = index;
  });
  return ascend && lower.rest() == 0 ? "" : "its packed indices are not ascending within the vector";
}

void readPackedIndices(const unsigned char* from, std::size_t count, std::span<std::uint32_t> indices) {
  const PackedIndices packed(count, indices.size());
  std::size_t next = 0;
  if (packed.is_bitmap) {
    return eachBit(from, bitmapBytes(count), [&](std::size_t i) { indices[next++] = static_cast<std::uint32_t>(i); });
  }
  BitReader lower(from);
  eachBit(from + packed.low_bytes, packed.bytes - packed.low_bytes, [&](std::size_t bit) {
    const auto upper = static_cast<std::uint32_t>(bit - next);
    indices[next++] = upper << packed.low_bits | lower.next(packed.low_bits);
  });
}

} // namespace goss::compressors
