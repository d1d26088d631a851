/// Philox 4x32-10, the counter-based generator of Salmon et al. (SC 2011), as an element function: for CPU and GPU.
#ifndef GOSS_LIB_KERNELS_PHILOX_H_
#define GOSS_LIB_KERNELS_PHILOX_H_

#include <cstdint>

#include "gossamer/random.h"
#include "kernels/elements.h"

namespace goss::kernels {

struct Random128 {
  std::uint32_t word0, word1, word2, word3;
};

/// The 128 random bits at position `index` of a stream.
GOSS_HOST_DEVICE Random128 philox(const StreamKey& stream, std::uint64_t index) {
  constexpr std::uint64_t kMultiplier0 = 0xd2511f53u, kMultiplier1 = 0xcd9e8d57u;
  constexpr std::uint32_t kWeyl0 = 0x9e3779b9u, kWeyl1 = 0xbb67ae85u;
  std::uint32_t c0 = static_cast<std::uint32_t>(index), c1 = static_cast<std::uint32_t>(index >> 32);
  std::uint32_t c2 = stream.step, c3 = stream.tensor;
  std::uint32_t key0 = stream.key[0], key1 = stream.key[1];
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * c0, product1 = kMultiplier1 * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ key0;
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c1 = static_cast<std::uint32_t>(product1);
    c3 = static_cast<std::uint32_t>(product0);
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return {c0, c1, c2, c3};
}

/// Every element of a vector owns 16 random bits of a stream. Elements are taken in tiles of 128, made of 16 positions
/// of the stream: element e of a tile has bits 16 * (e / 64) and up of word (e / 16) % 4 of position e % 16. So 16
/// lanes of a vector unit work on 16 positions and never exchange a bit.
inline constexpr std::uint32_t kRandomTile = 128;

GOSS_HOST_DEVICE std::uint32_t random16(const StreamKey& stream, std::uint64_t element) {
  const auto place = static_cast<std::uint32_t>(element % kRandomTile);
  const Random128 bits = philox(stream, element / kRandomTile * 16 + place % 16);
  const std::uint32_t which = place / 16 % 4;
  const std::uint32_t low = which == 0 ? bits.word0 : bits.word1, high = which == 2 ? bits.word2 : bits.word3;
  return ((which < 2 ? low : high) >> (16 * (place / 64))) & 0xffffu;
}

} // namespace goss::kernels

#endif // GOSS_LIB_KERNELS_PHILOX_H_
