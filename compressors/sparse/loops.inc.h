/// Loops of the sparsifiers, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_SPARSE_LOOPS_INC_H_
#define GOSS_COMPRESSORS_SPARSE_LOOPS_INC_H_

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <bit>

#include "compressors/common/loops.inc.h"
#include "compressors/sparse/element.h"
#include "compressors/sparse/format.h"

namespace goss::compressors {
namespace {

inline std::size_t collectLoop(const float* __restrict values, std::size_t count, Cut cut,
                               std::uint32_t* __restrict indices) {
  // Most groups hold no such element: the loop tests whole vectors first.
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

/// Progress of gathering indices.
struct Gathered {
  std::uint32_t* indices;
  std::size_t room, first, taken;
};

/// Gathers from the elements at.first on, one by one.
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
  // Compilers do not use this instruction by themselves: the elements that pass a comparison move together, and every
  // vector is written whole, so that nothing depends on a branch.
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
  // Most groups hold no such element. In a group that does, every index is written and the next position depends on the
  // comparison: a branch for each element would be mispredicted.
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
  constexpr std::size_t kGroup = 1u << 20; // the loop counts in 32 bits, as wide as the compared values
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

inline std::size_t countBitsLoop(const unsigned char* bits, std::size_t bytes) {
  std::size_t total = 0;
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= bytes; i += sizeof(std::uint64_t)) {
    std::uint64_t some;
    __builtin_memcpy(&some, bits + i, sizeof some);
    total += static_cast<std::size_t>(std::popcount(some));
  }
  for (; i < bytes; ++i) {
    total += static_cast<std::size_t>(std::popcount(bits[i]));
  }
  return total;
}

/// Delivers the elements of whole bytes from `first` on, one by one; `out` is cleared already.
inline void deliverBits(float* __restrict out, const unsigned char* bits, std::size_t bytes,
                        const float* __restrict values, Delivery delivery) {
  const float weight = delivery.mode == DecodeMode::axpy ? delivery.weight : 1.0f; // multiplying by 1 changes no value
  for (std::size_t i = 0; i < bytes; ++i) {
    for (unsigned left = bits[i]; left != 0; left &= left - 1, ++values) {
      float& to = out[i * 8 + static_cast<std::size_t>(std::countr_zero(left))];
      to = to + weight * *values;
    }
  }
}

#if defined(__AVX512F__)

// NOLINTNEXTLINE(readability-function-size): pointers that do not overlap are parameters
inline void deliverMarkedLoop(float* __restrict out, const unsigned char* bits, std::size_t count,
                              const float* __restrict values, std::size_t held, Delivery delivery) {
  constexpr std::size_t kGroup = 16;
  const bool set = delivery.mode == DecodeMode::set;
  const __m512 weight = _mm512_set1_ps(delivery.mode == DecodeMode::axpy ? delivery.weight : 1.0f);
  const __m512 zero = _mm512_setzero_ps();
  std::size_t taken = 0, first = 0;
  for (; first + kGroup <= count && taken + kGroup <= held; first += kGroup) {
    std::uint16_t some;
    __builtin_memcpy(&some, bits + first / 8, sizeof some);
    const __m512 here = _mm512_mul_ps(weight, _mm512_maskz_expand_ps(some, _mm512_loadu_ps(values + taken)));
    const __m512 before = set ? zero : _mm512_loadu_ps(out + first);
    _mm512_storeu_ps(out + first, _mm512_mask_add_ps(before, some, before, here));
    taken += static_cast<std::size_t>(std::popcount(some));
  }
  if (set) {
    __builtin_memset(out + first, 0, (count - first) * sizeof(float));
  }
  deliverBits(out + first, bits + first / 8, (count + 7) / 8 - first / 8, values + taken, delivery);
}

#else

// NOLINTNEXTLINE(readability-function-size): pointers that do not overlap are parameters
inline void deliverMarkedLoop(float* __restrict out, const unsigned char* bits, std::size_t count,
                              const float* __restrict values, std::size_t, Delivery delivery) {
  if (delivery.mode == DecodeMode::set) {
    __builtin_memset(out, 0, count * sizeof(float));
  }
  deliverBits(out, bits, (count + 7) / 8, values, delivery);
}

#endif

inline void drawLoop(const StreamKey& key, const std::uint64_t* __restrict places, std::size_t count,
                     std::uint32_t* __restrict draws) {
  const StreamKey stream = key;
  GOSS_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) {
    const kernels::Random128 random = kernels::philox(stream, places[i]);
    draws[i] = random.word0 >> 15 | random.word1 << 17;
  }
}

inline void pickLoop(const float* __restrict values, Blocks blocks, float* __restrict to) {
  // The hardware cannot predict where the next block lies: cache lines are prefetched well before they are read.
  constexpr std::size_t kAhead = 24, kLine = 64 / sizeof(float), kMaxLines = 16;
  const std::size_t asked = blocks.block < kMaxLines * kLine ? blocks.block : kMaxLines * kLine;
  for (std::size_t i = 0; i < blocks.count; ++i, to += blocks.block) {
    if (i + kAhead < blocks.count) {
      for (std::size_t k = 0; k < asked; k += kLine) {
        __builtin_prefetch(values + blocks.first[i + kAhead] + k);
      }
    }
    const float* __restrict from = values + blocks.first[i];
    for (std::size_t k = 0; k < blocks.block; ++k) {
      to[k] = from[k];
    }
  }
}

#if defined(__SSE2__)

/// Writes whole cache lines past the caches: out to out + count, both at the beginning of a line, get 0 + values, or 0.
inline void streamLines(float* out, const float* values, std::size_t count) {
  constexpr std::size_t kWord = 4;
  const __m128 zero = _mm_setzero_ps();
  for (std::size_t i = 0; i < count; i += kWord) {
    _mm_stream_ps(out + i, values == nullptr ? zero : _mm_add_ps(zero, _mm_loadu_ps(values + i)));
  }
}

inline void layPastCaches(const Ground& ground, Blocks blocks, const float* values) {
  std::size_t at = ground.begin;
  for (std::size_t i = 0; i < blocks.count; ++i, values += blocks.block) {
    streamLines(ground.out + at, nullptr, blocks.first[i] - at);
    streamLines(ground.out + blocks.first[i], values, blocks.block);
    at = blocks.first[i] + blocks.block;
  }
  const std::size_t whole = (ground.end - at) / 16 * 16;
  streamLines(ground.out + at, nullptr, whole);
  _mm_sfence();
  __builtin_memset(ground.out + at + whole, 0, (ground.end - at - whole) * sizeof(float));
}

#endif

inline void layLoop(const Ground& ground, Blocks blocks, const float* __restrict values) {
#if defined(__SSE2__)
  if (ground.bypass && blocks.block % 16 == 0 &&
      reinterpret_cast<std::uintptr_t>(ground.out + ground.begin) % 64 == 0) {
    layPastCaches(ground, blocks, values);
    return;
  }
#endif
  __builtin_memset(ground.out + ground.begin, 0, (ground.end - ground.begin) * sizeof(float));
  for (std::size_t i = 0; i < blocks.count; ++i, values += blocks.block) {
    float* __restrict out = ground.out + blocks.first[i];
    for (std::size_t k = 0; k < blocks.block; ++k) {
      out[k] = 0.0f + values[k];
    }
  }
}

inline SparseLoops makeSparseLoops() {
  SparseLoops loops;
  loops.collect = collectLoop;
  loops.gather = gatherLoop;
  loops.countFrom = countFromLoop;
  loops.countBits = countBitsLoop;
  loops.deliverMarked = deliverMarkedLoop;
  loops.draw = drawLoop;
  loops.pick = pickLoop;
  loops.lay = layLoop;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_LOOPS_INC_H_
