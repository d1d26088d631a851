/// Counter-based random numbers: a value is a pure function of (seed, stream, index), so any rank can make any of them,
/// in any order, and nothing has to be saved to resume.
#ifndef GOSS_TRAINER_BASE_RANDOM_H_
#define GOSS_TRAINER_BASE_RANDOM_H_

#include <cmath>
#include <cstdint>
#include <numbers>

namespace goss::trainer {

/// What a stream of numbers is for; streams never share numbers.
enum class RandomStream : std::uint64_t { parameters = 1, batches = 2, sampling = 3 };

/// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection whose output looks random.
inline std::uint64_t mixBits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// 64 random bits. `major` and `minor` number the draw, for example (step, sample) or (tensor, element).
inline std::uint64_t randomBits(std::uint64_t seed, RandomStream stream, std::uint64_t major, std::uint64_t minor) {
  const std::uint64_t key = mixBits(seed ^ mixBits(static_cast<std::uint64_t>(stream)));
  return mixBits(mixBits(key ^ mixBits(major)) ^ minor);
}

/// Uniform in [0, bound); bound > 0. It takes the high half of a 128-bit product, with a bias below bound / 2^64.
inline std::uint64_t randomBelow(std::uint64_t bits, std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits) * bound) >> 64);
}

/// Uniform in [0, 1) with 53 bits.
inline double randomUnit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

/// Standard normal, by Box and Muller from two independent draws.
inline double randomNormal(std::uint64_t bits1, std::uint64_t bits2) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - randomUnit(bits1)));
  return radius * std::cos(2.0 * std::numbers::pi * randomUnit(bits2));
}

} // namespace goss::trainer

#endif // GOSS_TRAINER_BASE_RANDOM_H_
