/// exp and tanh that compilers turn into vector code: no branches, no tables, no library call.
#ifndef GOSS_TRAINER_COMPUTE_VECTOR_MATH_H_
#define GOSS_TRAINER_COMPUTE_VECTOR_MATH_H_

#include <algorithm>
#include <bit>
#include <cstdint>

namespace goss::trainer {

/// e^x with a relative error below 3e-7; x is clamped to [-87, 88]; NaN stays NaN.
/// x = n ln 2 + r with |r| <= ln 2 / 2; e^r is its Taylor polynomial of degree 7 (remainder < 6e-9), 2^n is put
/// together from its bits. Adding and subtracting 1.5 * 2^23 rounds to the nearest integer and leaves n in the low
/// bits.
inline float fastExp(float x) {
  constexpr float kRound = 12582912.0f;
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f; // 9 bits, so that n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4f;
  x = std::min(std::max(x, -87.0f), 88.0f);
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000u;
  return p * std::bit_cast<float>(exponent);
}

/// tanh x with an absolute error below 3e-7.
inline float fastTanh(float x) { return 1.0f - 2.0f / (fastExp(2.0f * x) + 1.0f); }

} // namespace goss::trainer

#endif // GOSS_TRAINER_COMPUTE_VECTOR_MATH_H_
