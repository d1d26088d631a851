#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/kernels.h"

namespace goss::kernels {

namespace {

/// Elements that are summed at a time: the sum stays in the first cache.
constexpr std::size_t kBlock = 1024;

template <typename T>
void scaleBlock(T* __restrict sum, const T* __restrict source, T weight, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    sum[i] = weight * source[i];
}

template <typename T>
void addBlock(T* __restrict sum, const T* __restrict source, T weight, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    sum[i] += weight * source[i];
}

/// T: the type of the sum. `load` gives block `first` of source k as numbers of it, `store` takes the block's sum.
template <typename T, typename Load, typename Store>
void sumBlocks(std::span<const double> weights, std::size_t count, Load load, Store store) {
  std::array<T, kBlock> sum;
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t elems = std::min(kBlock, count - first);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const T* source = load(k, first, elems);
      const auto weight = static_cast<T>(weights[k]);
      k == 0 ? scaleBlock(sum.data(), source, weight, elems) : addBlock(sum.data(), source, weight, elems);
    }
    store(first, elems, sum.data());
  }
}

template <typename T>
void sumWide(T* dst, std::span<const void* const> sources, std::span<const double> weights, std::size_t count) {
  sumBlocks<T>(
      weights, count,
      [&](std::size_t k, std::size_t first, std::size_t) { return static_cast<const T*>(sources[k]) + first; },
      [&](std::size_t first, std::size_t elems, const T* sum) { std::copy_n(sum, elems, dst + first); });
}

} // namespace

void weightedSum(DType dtype, void* dst, std::span<const void* const> sources, std::span<const double> weights,
                 std::size_t count) {
  if (dtype == GOSS_FLOAT32) return sumWide(static_cast<float*>(dst), sources, weights, count);
  if (dtype == GOSS_FLOAT64) return sumWide(static_cast<double*>(dst), sources, weights, count);
  const std::size_t bytes = dtype == GOSS_FLOAT16 || dtype == GOSS_BFLOAT16 ? 2 : 1;
  std::array<float, kBlock> wide;
  sumBlocks<float>(
      weights, count,
      [&](std::size_t k, std::size_t first, std::size_t elems) {
        convert(GOSS_FLOAT32, wide.data(), dtype, static_cast<const std::byte*>(sources[k]) + first * bytes, elems);
        return static_cast<const float*>(wide.data());
      },
      [&](std::size_t first, std::size_t elems, const float* sum) {
        convert(dtype, static_cast<std::byte*>(dst) + first * bytes, GOSS_FLOAT32, sum, elems);
      });
}

} // namespace goss::kernels
