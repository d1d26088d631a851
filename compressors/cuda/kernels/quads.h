/// Vectors in device memory, four floats of a lane at a time.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_QUADS_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_QUADS_H_

#include "compressors/common/element.h"
#include "compressors/cuda/device/jobs.h"
#include "compressors/cuda/kernels/warp.h"

namespace goss::compressors::cuda {

/// Four floats. Loading reads and storing writes only the first `count` of them; the others are zero when loaded.
/// kWhole: there are four, and they are aligned.
struct alignas(16) Quad {
  float value[4];
};

template <bool kWhole = false>
GOSS_DEVICE Quad loadQuad(const float* from, std::size_t count) {
  if (kWhole || (count >= 4 && reinterpret_cast<std::uintptr_t>(from) % 16 == 0)) {
    return *reinterpret_cast<const Quad*>(from);
  }
  Quad quad;
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    quad.value[i] = i < count ? from[i] : 0.0f;
  }
  return quad;
}
template <bool kWhole = false>
GOSS_DEVICE void storeQuad(float* to, const Quad& quad, std::size_t count) {
  if (kWhole || (count >= 4 && reinterpret_cast<std::uintptr_t>(to) % 16 == 0)) {
    *reinterpret_cast<Quad*>(to) = quad;
    return;
  }
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    if (i < count) {
      to[i] = quad.value[i];
    }
  }
}

/// Several quads of a lane, one of each run. All are loaded before the first is used, so that a warp has many loads in
/// flight.
template <unsigned kRuns>
struct Quads {
  Quad of[kRuns];
};
template <unsigned kRuns>
GOSS_DEVICE Quads<kRuns> loadRuns(const float* from) {
  Quads<kRuns> quads;
  GOSS_UNROLL
  for (unsigned run = 0; run < kRuns; ++run) {
    quads.of[run] = loadQuad<true>(from + run * kRunElems, 4);
  }
  return quads;
}
/// Sets each value to function(value, run, i).
template <unsigned kRuns, typename Function>
GOSS_DEVICE void eachOf(Quads<kRuns>& quads, Function function) {
  GOSS_UNROLL
  for (unsigned run = 0; run < kRuns; ++run) {
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      quads.of[run].value[i] = function(quads.of[run].value[i], run, i);
    }
  }
}
/// Calls use(quad, place, count) for all of a lane's quads from `first` to `end` of a vector; `count` may be more than
/// four.
template <typename Use>
GOSS_DEVICE void eachQuad(const float* values, std::size_t first, std::size_t end, unsigned lane, Use use) {
  constexpr unsigned kRuns = 4;
  std::size_t at = first + lane * 4;
  if (reinterpret_cast<std::uintptr_t>(values + first) % 16 == 0) {
    for (; at + (kRuns - 1) * kRunElems + 4 <= end; at += kRuns * kRunElems) {
      const auto quads = loadRuns<kRuns>(values + at);
      GOSS_UNROLL
      for (unsigned run = 0; run < kRuns; ++run) {
        use(quads.of[run], at + run * kRunElems, 4);
      }
    }
  }
  for (; at < end; at += kRunElems) {
    use(loadQuad(values + at, end - at), at, end - at);
  }
}

GOSS_DEVICE float finiteOrZero(float value) {
  return (bitCast<std::uint32_t>(value) & kFloatInfinity) != kFloatInfinity ? value : 0.0f;
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_QUADS_H_
