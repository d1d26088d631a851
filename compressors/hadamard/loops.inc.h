/// Loops of the Hadamard rotation, compiled once per instruction set.
#ifndef GOSS_COMPRESSORS_HADAMARD_LOOPS_INC_H_
#define GOSS_COMPRESSORS_HADAMARD_LOOPS_INC_H_

#include <utility>

#include "compressors/common/loops.inc.h"
#include "compressors/hadamard/element.h"
#include "compressors/hadamard/format.h"

namespace goss::compressors {
namespace {

/// Sums and differences of elements kApart apart, within vectors of sixteen.
template <int kApart, int... kIndex>
inline void hadamardWithin(Lanes& values, std::integer_sequence<int, kIndex...>) {
  constexpr Lanes kSign = {((kIndex & kApart) != 0 ? -1.0f : 1.0f)...};
  const Lanes partner = __builtin_shufflevector(values, values, (kIndex ^ kApart)...);
  values = partner + kSign * values; // the product is exact
}
template <int kApart>
inline void hadamardWithin(Lanes& values) {
  hadamardWithin<kApart>(values, std::make_integer_sequence<int, static_cast<int>(kLanes)>{});
}

/// H values, in place: stages from the farthest pairs to neighbours, each a sum and a difference.
inline void hadamardStages(float* values, std::size_t count) {
  std::size_t apart = count / 2;
  for (; apart >= kLanes; apart /= 2) {
    for (std::size_t first = 0; first < count; first += 2 * apart) {
      float* __restrict low = values + first;
      float* __restrict high = low + apart;
      for (std::size_t i = 0; i < apart; ++i) {
        const float sum = low[i] + high[i], difference = low[i] - high[i];
        low[i] = sum;
        high[i] = difference;
      }
    }
  }
  if (count >= kLanes) {
    for (std::size_t i = 0; i < count; i += kLanes) {
      Lanes some;
      __builtin_memcpy(&some, values + i, sizeof some);
      hadamardWithin<8>(some);
      hadamardWithin<4>(some);
      hadamardWithin<2>(some);
      hadamardWithin<1>(some);
      __builtin_memcpy(values + i, &some, sizeof some);
    }
    return;
  }
  for (; apart != 0; apart /= 2) {
    for (std::size_t i = 0; i < count; ++i) {
      if ((i & apart) == 0) {
        const float sum = values[i] + values[i + apart], difference = values[i] - values[i + apart];
        values[i] = sum;
        values[i + apart] = difference;
      }
    }
  }
}

inline void hadamardRotate(float* to, const float* __restrict from, std::size_t count) {
  float work[kMaxHadamardElems];
  for (std::size_t i = 0; i < count; ++i) {
    work[i] = hadamardSigned(from[i], static_cast<std::uint32_t>(i));
  }
  hadamardStages(work, count);
  const float scale = hadamardScale(count);
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = kernels::canonical(work[i] * scale);
  }
}

inline void hadamardRotateBack(float* to, const float* __restrict from, std::size_t count) {
  float work[kMaxHadamardElems];
  __builtin_memcpy(work, from, count * sizeof(float));
  hadamardStages(work, count);
  const float scale = hadamardScale(count);
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = kernels::canonical(hadamardSigned(work[i] * scale, static_cast<std::uint32_t>(i)));
  }
}

inline HadamardLoops makeHadamardLoops() {
  HadamardLoops loops;
  loops.rotate = hadamardRotate;
  loops.rotateBack = hadamardRotateBack;
  return loops;
}

} // namespace
} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_HADAMARD_LOOPS_INC_H_
