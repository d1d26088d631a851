/// Loops of the chunked cosine transform, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_DCT_LOOPS_INC_H_
#define GOSS_COMPRESSORS_DCT_LOOPS_INC_H_

#include "compressors/common/loops.inc.h"
#include "compressors/dct/format.h"

namespace goss::compressors {
namespace {

using Float4 = float __attribute__((vector_size(16)));

/// kChunks products of a row vector with the basis; two groups of columns of each stay in registers. A column is summed
/// over ascending j whatever the width of the registers.
template <std::size_t kChunks, typename Group>
inline void dctColumns(float* __restrict out, const float* __restrict values, const float* __restrict basis,
                       std::size_t count) {
  constexpr std::size_t kGroup = sizeof(Group) / sizeof(float);
  constexpr std::size_t kGroups = 2;
  for (std::size_t c = 0; c < count; c += kGroups * kGroup) {
    Group sums[kChunks][kGroups] = {};
    for (std::size_t j = 0; j < count; ++j) {
#pragma GCC unroll 2
      for (std::size_t g = 0; g < kGroups; ++g) {
        Group row;
        __builtin_memcpy(&row, basis + j * count + c + g * kGroup, sizeof row);
#pragma GCC unroll 2
        for (std::size_t chunk = 0; chunk < kChunks; ++chunk) {
          sums[chunk][g] += row * values[chunk * count + j];
        }
      }
    }
    for (std::size_t chunk = 0; chunk < kChunks; ++chunk) {
      __builtin_memcpy(out + chunk * count + c, sums[chunk], sizeof sums[chunk]);
    }
  }
}

template <std::size_t kChunks>
inline void dctTransform(float* __restrict out, const float* __restrict values, const float* __restrict basis,
                         std::size_t count) {
  if (count >= 2 * kLanes) {
    dctColumns<kChunks, Lanes>(out, values, basis, count);
  } else {
    dctColumns<kChunks, Float4>(out, values, basis, count);
  }
}

/// The keep-th largest magnitude, found bit by bit from the highest: the largest number that at least `keep` reach.
inline std::uint32_t dctThreshold(const std::uint32_t* __restrict magnitudes, std::size_t count, std::size_t keep) {
  std::uint32_t threshold = 0;
  for (std::uint32_t bit = 1u << 30; bit != 0; bit >>= 1) {
    const std::uint32_t candidate = threshold | bit;
    std::uint32_t reached = 0;
    for (std::size_t c = 0; c < count; ++c) {
      reached += magnitudes[c] >= candidate ? 1u : 0u;
    }
    threshold = reached >= keep ? candidate : threshold;
    if (reached == keep) {
      break; // the number separates them already
    }
  }
  return threshold;
}

inline void dctSelect(unsigned char* __restrict indices, const float* __restrict coefficients, std::size_t count,
                      std::size_t keep) {
  std::uint32_t magnitudes[kMaxDctElems];
  for (std::size_t c = 0; c < count; ++c) {
    magnitudes[c] = bitCast<std::uint32_t>(coefficients[c]) & 0x7fffffffu;
  }
  const std::uint32_t threshold = dctThreshold(magnitudes, count, keep);
  std::uint32_t above = 0;
  for (std::size_t c = 0; c < count; ++c) {
    above += magnitudes[c] > threshold ? 1u : 0u;
  }
  auto ties = static_cast<std::uint32_t>(keep) - above;
  std::size_t taken = 0;
  for (std::size_t c = 0; c < count; ++c) {
    const std::uint32_t tie = magnitudes[c] == threshold && ties != 0 ? 1u : 0u;
    indices[taken] = static_cast<unsigned char>(c);
    taken += (magnitudes[c] > threshold ? 1u : 0u) + tie;
    ties -= tie;
  }
}

inline DctLoops makeDctLoops() {
  DctLoops loops;
  loops.transform = dctTransform<1>;
  loops.transformTwo = dctTransform<2>;
  loops.select = dctSelect;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_DCT_LOOPS_INC_H_
