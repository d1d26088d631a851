/// float16 loops with the F16C conversion instructions, eight elements at a time. GCC 12 does not vectorise conversions
/// of _Float16, and the portable code takes five times as long. For files compiled with AVX2 and F16C only.
#ifndef GOSS_LIB_KERNELS_X86_F16C_H_
#define GOSS_LIB_KERNELS_X86_F16C_H_

#include <immintrin.h>

#include "kernels/loops.inc.h"

namespace goss::kernels {
namespace {

inline __m256 load8(const std::uint16_t* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

/// Rounds to nearest even; any NaN becomes the canonical one.
inline void store8(std::uint16_t* to, __m256 value) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kFloatNan)));
  const __m256 clean = _mm256_blendv_ps(value, nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(clean, _MM_FROUND_TO_NEAREST_INT));
}

struct F16cHalf {
  template <typename Op>
  static void reduce(void* dst, const void* a, const void* b, std::size_t count) {
    auto* out = static_cast<std::uint16_t*>(dst);
    const auto* left = static_cast<const std::uint16_t*>(a);
    const auto* right = static_cast<const std::uint16_t*>(b);
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
      store8(out + i, Op::apply(load8(left + i), load8(right + i)));
    }
    reduceLoop<Float16, Op>(out + i, left + i, right + i, count - i);
  }
  static void scale(void* dst, const void* src, std::size_t count, double factor) {
    const __m256 by = _mm256_set1_ps(static_cast<float>(factor));
    const std::size_t done = map(dst, src, count, [by](__m256 value) { return _mm256_mul_ps(value, by); });
    scaleLoop<Float16>(static_cast<Float16*>(dst) + done, static_cast<const Float16*>(src) + done, count - done,
                       factor);
  }
  static void average(void* dst, const void* src, std::size_t count, std::int32_t ranks) {
    const __m256 by = _mm256_set1_ps(static_cast<float>(ranks));
    const std::size_t done = map(dst, src, count, [by](__m256 value) { return _mm256_div_ps(value, by); });
    averageLoop<Float16>(static_cast<Float16*>(dst) + done, static_cast<const Float16*>(src) + done, count - done,
                         ranks);
  }
  static void widen(void* dst, const void* src, std::size_t count) {
    auto* out = static_cast<float*>(dst);
    const auto* in = static_cast<const std::uint16_t*>(src);
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kFloatNan)));
    const __m256 sign = _mm256_set1_ps(-0.0f);
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
      // The portable code widens every NaN to the canonical one with the sign kept; so does this.
      const __m256 value = load8(in + i);
      const __m256 signed_nan = _mm256_or_ps(nan, _mm256_and_ps(value, sign));
      _mm256_storeu_ps(out + i, _mm256_blendv_ps(value, signed_nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q)));
    }
    widenLoop<Float16>(out + i, in + i, count - i);
  }
  static void narrow(void* dst, const void* src, std::size_t count) {
    auto* out = static_cast<std::uint16_t*>(dst);
    const auto* in = static_cast<const float*>(src);
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
      store8(out + i, _mm256_loadu_ps(in + i));
    }
    narrowLoop<Float16>(out + i, in + i, count - i);
  }

 private:
  /// Applies `function` to whole groups of eight; returns how many elements these hold.
  template <typename Function>
  static std::size_t map(void* dst, const void* src, std::size_t count, Function function) {
    auto* out = static_cast<std::uint16_t*>(dst);
    const auto* in = static_cast<const std::uint16_t*>(src);
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
      store8(out + i, function(load8(in + i)));
    }
    return i;
  }
};

} // namespace
} // namespace goss::kernels

#endif // GOSS_LIB_KERNELS_X86_F16C_H_
