/// A small generator of pseudorandom numbers, for choices that a seed must repeat; not for secrets.
#ifndef GOSS_LIB_BASE_SPLIT_MIX_H_
#define GOSS_LIB_BASE_SPLIT_MIX_H_

#include <cstddef>
#include <cstdint>

#include "gossamer/random.h"

namespace goss::base {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Equal seeds give equal numbers on every machine.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return detail::mix64(state_ += 0x9e3779b97f4a7c15u); }
  /// A number below `bound`, which is above 0.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }
  /// A number from 0 up to but not including 1, of 53 random bits.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

} // namespace goss::base

#endif // GOSS_LIB_BASE_SPLIT_MIX_H_
