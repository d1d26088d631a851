/// Loops of the sparsifiers, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_SPARSE_LOOPS_INC_H_
#define GOSS_COMPRESSORS_SPARSE_LOOPS_INC_H_

#if defined(__AVX512F__)
#include <immintrin.h>

#include <bit>
#endif

#include "compressors/common/loops.inc.h"
#include "compressors/sparse/element.h"
#include "compressors/sparse/format.h"

namespace goss::compressors {
namespace {

inline std::size_t collectLoop(const float* __restrict values, std::size_t count, Cut cut,
                               std::uint32_t* __restrict indices) {
  // Most groups hold nothing: whole vectors are asked first.
  constexpr std::size_t kGroup = 64;
  std::uint64_t taken = 0, ties = 0;
  for (std::size_t first = 0; first < count && taken < cut.limit; first += kGroup) {
    const std::size_t some = kGroup < count - first ? kGroup : count - first;
    unsigned any = 0;
    for (std::size_t i = 0; i < some; ++i) {
      any |= magnitudeBits(values[first + i]) >= cut.threshold ? 1u : 0u;
    }
    for (std::size_t i = 0; any != 0 && i < some && taken < cut.limit; ++i) {
      const std::uint32_t magnitude = magnitudeBits(values[first + i]);
      const bool tie = magnitude == cut.threshold && ties < cut.ties;
      ties += tie ? 1 : 0;
      if (magnitude > cut.threshold || tie) {
        indices[taken++] = static_cast<std::uint32_t>(first + i);
      }
    }
  }
  return taken;
}

/// Where a gathering is.
struct Gathered {
  std::uint32_t* indices;
  std::size_t room, first, taken;
};

/// The elements from at.first on, one by one.
inline std::size_t gatherTail(const float* values, std::size_t count, std::uint32_t threshold, Gathered at) {
  for (; at.first < count; ++at.first) {
    if (magnitudeBits(values[at.first]) < threshold) {
      continue;
    }
    if (at.taken == at.room) {
      return at.room + 1;
    }
    at.indices[at.taken++] = static_cast<std::uint32_t>(at.first);
  }
  return at.taken;
}

#if defined(__AVX512F__)

inline std::size_t gatherLoop(const float* __restrict values, std::size_t count, std::uint32_t threshold,
                              std::size_t room, std::uint32_t* __restrict indices) {
  // The compiler makes no use of this instruction by itself: what a comparison takes moves together, and every vector
  // is written whole, so that nothing depends on a branch.
  constexpr std::size_t kGroup = 16;
  const __m512i no_sign = _mm512_set1_epi32(0x7fffffff), least = _mm512_set1_epi32(static_cast<int>(threshold));
  const __m512i step = _mm512_set1_epi32(kGroup);
  __m512i index = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::size_t taken = 0;
  std::size_t first = 0;
  for (; first + kGroup <= count && taken + kGroup <= room; first += kGroup) {
    const __m512i bits = _mm512_and_si512(_mm512_loadu_si512(values + first), no_sign);
    const __mmask16 some = _mm512_cmpge_epu32_mask(bits, least);
    _mm512_storeu_si512(indices + taken, _mm512_maskz_compress_epi32(some, index));
    taken += static_cast<std::size_t>(std::popcount(static_cast<std::uint32_t>(some)));
    index = _mm512_add_epi32(index, step);
  }
  return gatherTail(values, count, threshold, {indices, room, first, taken});
}

#else

inline std::size_t gatherLoop(const float* __restrict values, std::size_t count, std::uint32_t threshold,
                              std::size_t room, std::uint32_t* __restrict indices) {
  // Most groups hold nothing. In one that does, every index is written and the next one's place decides: a branch for
  // each element would be foreseen by nobody.
  constexpr std::size_t kGroup = 16;
  std::size_t taken = 0;
  std::size_t first = 0;
  for (; first + kGroup <= count; first += kGroup) {
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < kGroup; ++i) {
      any |= magnitudeBits(values[first + i]) >= threshold ? 1u : 0u;
    }
    if (any == 0) {
      continue;
    }
    if (taken + kGroup > room) {
      return room + 1;
    }
    for (std::size_t i = 0; i < kGroup; ++i) {
      indices[taken] = static_cast<std::uint32_t>(first + i);
      taken += magnitudeBits(values[first + i]) >= threshold ? 1u : 0u;
    }
  }
  return gatherTail(values, count, threshold, {indices, room, first, taken});
}

#endif

inline std::size_t countFromLoop(const float* values, std::size_t count, std::uint32_t threshold) {
  constexpr std::size_t kGroup = 1u << 20; // counted in 32 bits, as wide as what is compared
  std::size_t total = 0;
  for (std::size_t first = 0; first < count; first += kGroup) {
    const std::size_t some = kGroup < count - first ? kGroup : count - first;
    std::uint32_t here = 0;
    for (std::size_t i = 0; i < some; ++i) {
      here += magnitudeBits(values[first + i]) >= threshold ? 1u : 0u;
    }
    total += here;
  }
  return total;
}

inline SparseLoops makeSparseLoops() {
  SparseLoops loops;
  loops.collect = collectLoop;
  loops.gather = gatherLoop;
  loops.countFrom = countFromLoop;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_LOOPS_INC_H_
