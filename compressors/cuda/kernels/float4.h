/// Loads and stores of vectors in device memory, four floats of a lane at a time.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_FLOAT4_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_FLOAT4_H_

#include "compressors/common/element.h"
#include "compressors/cuda/device/jobs.h"
#include "compressors/cuda/kernels/warp.h"

namespace goss::compressors::cuda {

/// Four floats, as CUDA's float4. Loading reads and storing writes only the first `count` of them; the others are zero
/// when loaded. kWhole: there are four, and they are aligned.
struct alignas(16) Float4 {
  float value[4];
};

template <bool kWhole = false>
GOSS_DEVICE Float4 loadFloat4(const float* from, std::size_t count) {
  if (kWhole || (count >= 4 && reinterpret_cast<std::uintptr_t>(from) % 16 == 0)) {
    return *reinterpret_cast<const Float4*>(from);
  }
  Float4 four;
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    four.value[i] = i < count ? from[i] : 0.0f;
  }
  return four;
}
template <bool kWhole = false>
GOSS_DEVICE void storeFloat4(float* to, const Float4& four, std::size_t count) {
  if (kWhole || (count >= 4 && reinterpret_cast<std::uintptr_t>(to) % 16 == 0)) {
    *reinterpret_cast<Float4*>(to) = four;
    return;
  }
  GOSS_UNROLL
  for (unsigned i = 0; i < 4; ++i) {
    if (i < count) {
      to[i] = four.value[i];
    }
  }
}

/// The four floats of a lane from each of several runs. All are loaded before the first is used, so that a warp has
/// many loads in flight.
template <unsigned kRuns>
struct Float4Runs {
  Float4 of[kRuns];
};
template <unsigned kRuns>
GOSS_DEVICE Float4Runs<kRuns> loadRuns(const float* from) {
  Float4Runs<kRuns> fours;
  GOSS_UNROLL
  for (unsigned run = 0; run < kRuns; ++run) {
    fours.of[run] = loadFloat4<true>(from + run * kRunElems, 4);
  }
  return fours;
}
/// Sets each value to function(value, run, i).
template <unsigned kRuns, typename Function>
GOSS_DEVICE void eachOf(Float4Runs<kRuns>& fours, Function function) {
  GOSS_UNROLL
  for (unsigned run = 0; run < kRuns; ++run) {
    GOSS_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      fours.of[run].value[i] = function(fours.of[run].value[i], run, i);
    }
  }
}
/// Calls use(four, position, count) for each four floats of a lane from `first` to `end` of a vector. `count`: floats
/// from `position` to `end`, which may be more than four.
template <typename Use>
GOSS_DEVICE void eachFloat4(const float* values, std::size_t first, std::size_t end, unsigned lane, Use use) {
  constexpr unsigned kRuns = 4;
  std::size_t at = first + lane * 4;
  if (reinterpret_cast<std::uintptr_t>(values + first) % 16 == 0) {
    for (; at + (kRuns - 1) * kRunElems + 4 <= end; at += kRuns * kRunElems) {
      const auto fours = loadRuns<kRuns>(values + at);
      GOSS_UNROLL
      for (unsigned run = 0; run < kRuns; ++run) {
        use(fours.of[run], at + run * kRunElems, 4);
      }
    }
  }
  for (; at < end; at += kRunElems) {
    use(loadFloat4(values + at, end - at), at, end - at);
  }
}

GOSS_DEVICE float finiteOrZero(float value) {
  return (bitCast<std::uint32_t>(value) & kFloatInfinity) != kFloatInfinity ? value : 0.0f;
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_FLOAT4_H_
