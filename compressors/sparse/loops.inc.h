/// Loops of the sparsifiers, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_SPARSE_LOOPS_INC_H_
#define GOSS_COMPRESSORS_SPARSE_LOOPS_INC_H_

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
  for (; first < count; ++first) {
    if (magnitudeBits(values[first]) < threshold) {
      continue;
    }
    if (taken == room) {
      return room + 1;
    }
    indices[taken++] = static_cast<std::uint32_t>(first);
  }
  return taken;
}

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
