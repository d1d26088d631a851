/// Elements of each dtype and how two of them combine: the only definition of the library's arithmetic. There are no
/// branches, so that compilers vectorise loops over these functions, and no library calls, so that the same source
/// compiles for a GPU.
///
/// Nothing here depends on the rounding of subnormal float32 values, so a thread that flushes those to zero gets the
/// same float16 and float8 results.
#ifndef GOSS_LIB_KERNELS_ELEMENTS_H_
#define GOSS_LIB_KERNELS_ELEMENTS_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "gossamer/types.h"

// Always inlined: this header is compiled for several instruction sets, and a shared out-of-line copy would let code
// for one machine run on another.
#if defined(__CUDACC__)
#define GOSS_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define GOSS_HOST_DEVICE [[gnu::always_inline]] inline
#endif

namespace goss::kernels {

template <typename To, typename From>
GOSS_HOST_DEVICE constexpr To bitCast(From value) {
  return __builtin_bit_cast(To, value);
}

/// A binary floating format narrower than float32: sign, `kExponent` bits, `kMantissa` bits. Without infinities
/// (`kInfinity` false) overflow saturates, and the all-ones pattern alone is NaN.
template <typename BitsType, int kExponent, int kMantissa, bool kInfinity, BitsType kNanBits>
struct SmallFloat {
  using Bits = BitsType;
  Bits bits;

  static constexpr int kExponentBits = kExponent;
  static constexpr int kMantissaBits = kMantissa;
  static constexpr std::uint32_t kSign = 1u << (kExponent + kMantissa);
  static constexpr std::uint32_t kMagnitude = kSign - 1;
  static constexpr std::uint32_t kNan = kNanBits;
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  /// Largest magnitude that is not NaN: infinity, or the largest finite value.
  static constexpr std::uint32_t kLargest = kInfinity ? ((1u << kExponent) - 1) << kMantissa : kMagnitude - 1;
  static constexpr bool kHasInfinity = kInfinity;
};

using Float16 = SmallFloat<std::uint16_t, 5, 10, true, 0x7e00>;
using BFloat16 = SmallFloat<std::uint16_t, 8, 7, true, 0x7fc0>;
using Float8E4M3 = SmallFloat<std::uint8_t, 4, 3, false, 0x7f>;
using Float8E5M2 = SmallFloat<std::uint8_t, 5, 2, true, 0x7f>;

/// GOSS_BOOL: any byte but 0 is true. Not C++'s bool, which no other byte than 0 and 1 may be.
struct Bool {
  std::uint8_t byte;
};

template <typename T>
inline constexpr bool kIsSmallFloat = false;
template <typename B, int kE, int kM, bool kI, B kN>
inline constexpr bool kIsSmallFloat<SmallFloat<B, kE, kM, kI, kN>> = true;
template <typename T>
inline constexpr bool kIsFloating = std::is_floating_point_v<T> || kIsSmallFloat<T>;

inline constexpr std::uint32_t kFloatInfinity = 0x7f800000u;
inline constexpr std::uint32_t kFloatNan = 0x7fc00000u;

/// The value of a small float whose bits are the low bits of `word` (higher bits are zero).
template <typename Small>
GOSS_HOST_DEVICE float decode(std::uint32_t word) {
  constexpr int kShift = 23 - Small::kMantissaBits;
  if constexpr (Small::kExponentBits == 8) { // bfloat16 is the upper half of a float32
    return bitCast<float>(word << kShift);
  } else {
    constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - Small::kBias) << 23;
    // The step of subnormals, 2^(1 - bias - mantissa bits), as a float32.
    constexpr float kStep = bitCast<float>(static_cast<std::uint32_t>(128 - Small::kBias - Small::kMantissaBits) << 23);
    const std::uint32_t magnitude = word & Small::kMagnitude;
    const std::uint32_t sign = (word & Small::kSign) << (31 - Small::kExponentBits - Small::kMantissaBits);
    const std::uint32_t normal = (magnitude << kShift) + kRebias;
    const auto subnormal = bitCast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * kStep);
    std::uint32_t bits = magnitude < (1u << Small::kMantissaBits) ? subnormal : normal;
    if constexpr (Small::kHasInfinity) {
      bits = magnitude == Small::kLargest ? kFloatInfinity : bits;
    }
    return bitCast<float>((magnitude > Small::kLargest ? kFloatNan : bits) | sign);
  }
}

/// The small float nearest to `value`, ties to even, in the low bits of the result.
template <typename Small>
GOSS_HOST_DEVICE std::uint32_t encode(float value) {
  constexpr int kShift = 23 - Small::kMantissaBits;
  const auto bits = bitCast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t odd = (magnitude >> kShift) & 1u;
  const std::uint32_t half = (1u << (kShift - 1)) - 1 + odd; // rounds to nearest; a tie goes up only from an odd number
  if constexpr (Small::kExponentBits == 8) {
    return magnitude > kFloatInfinity ? Small::kNan : (bits + half) >> kShift;
  } else {
    constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - Small::kBias) << 23;
    // Adding a number whose last place is the step of subnormals makes the adder round to that step.
    constexpr std::uint32_t kAligner = static_cast<std::uint32_t>(151 - Small::kBias - Small::kMantissaBits) << 23;
    const std::uint32_t normal = (magnitude + half - kRebias) >> kShift;
    const std::uint32_t subnormal =
        bitCast<std::uint32_t>(bitCast<float>(magnitude) + bitCast<float>(kAligner)) - kAligner;
    std::uint32_t small = magnitude < kRebias + (1u << 23) ? subnormal : normal;
    small = small > Small::kLargest ? Small::kLargest : small;
    small |= (bits & 0x80000000u) >> (31 - Small::kExponentBits - Small::kMantissaBits);
    return magnitude > kFloatInfinity ? Small::kNan : small;
  }
}

/// The float32 whose later rounding to a format of at most 22 significant bits equals one rounding of `value`: rounding
/// to odd keeps a sticky bit of the bits cut off.
GOSS_HOST_DEVICE float roundToOdd(double value) {
  const auto nearest = static_cast<float>(value);
  const double back = nearest;
  const auto bits = bitCast<std::uint32_t>(nearest);
  const std::uint32_t magnitude_step = (back < 0 ? -back : back) > (value < 0 ? -value : value) ? 0xffffffffu : 1u;
  const bool keep = back == value || value != value || (bits & 1u) != 0;
  return bitCast<float>(keep ? bits : bits + magnitude_step);
}

/// `value`, or the canonical NaN of its type: which NaN an addition returns depends on the order of its operands.
GOSS_HOST_DEVICE float canonical(float value) { return value == value ? value : bitCast<float>(kFloatNan); }
GOSS_HOST_DEVICE double canonical(double value) {
  return value == value ? value : bitCast<double>(std::uint64_t{0x7ff8000000000000});
}

struct Sum {
  template <typename T>
  GOSS_HOST_DEVICE static T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Prod {
  template <typename T>
  GOSS_HOST_DEVICE static T apply(T a, T b) {
    return static_cast<T>(a * b);
  }
};
struct Min {
  template <typename T>
  GOSS_HOST_DEVICE static T apply(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <typename T>
  GOSS_HOST_DEVICE static T apply(T a, T b) {
    return a > b ? a : b;
  }
};
struct BitAnd {
  template <typename T>
  GOSS_HOST_DEVICE static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <typename T>
  GOSS_HOST_DEVICE static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <typename T>
  GOSS_HOST_DEVICE static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
/// The result of `Bitwise` on truth values, as 0 or 1.
template <typename Bitwise>
struct Logical {
  template <typename T>
  GOSS_HOST_DEVICE static T apply(T a, T b) {
    return Bitwise::template apply<T>(a != 0 ? T{1} : T{0}, b != 0 ? T{1} : T{0});
  }
};
template <typename Op>
inline constexpr bool kIsOrder = std::is_same_v<Op, Min> || std::is_same_v<Op, Max>;

/// Maps the bits of a float to a two's complement number of the same order, because floats sort like sign-and-magnitude
/// integers.
template <typename Signed>
GOSS_HOST_DEVICE Signed orderKey(Signed bits) {
  constexpr Signed kMagnitude = std::numeric_limits<Signed>::max();
  return static_cast<Signed>(bits ^ ((bits >> (8 * sizeof(Signed) - 1)) & kMagnitude));
}

/// The smaller or larger of two floats given by their bits; NaN if one is. `largest` is the largest magnitude that is
/// not NaN.
template <typename Op, typename Signed>
GOSS_HOST_DEVICE Signed applyOrder(Signed a, Signed b, Signed largest, Signed nan) {
  constexpr Signed kMagnitude = std::numeric_limits<Signed>::max();
  const Signed chosen = orderKey(Op::apply(orderKey(a), orderKey(b)));
  const Signed magnitude = Max::apply<Signed>(a & kMagnitude, b & kMagnitude);
  return magnitude > largest ? nan : chosen;
}

/// a op b for one element of any dtype.
template <typename Op, typename T>
GOSS_HOST_DEVICE T combine(T a, T b) {
  if constexpr (std::is_same_v<T, Bool>) {
    return Bool{Op::template apply<std::uint8_t>(a.byte, b.byte)}; // Bool has only logical operations.
  } else if constexpr (kIsSmallFloat<T>) {
    using Bits = typename T::Bits;
    if constexpr (kIsOrder<Op>) {
      using Signed = std::make_signed_t<Bits>;
      return T{static_cast<Bits>(applyOrder<Op>(static_cast<Signed>(a.bits), static_cast<Signed>(b.bits),
                                                static_cast<Signed>(T::kLargest), static_cast<Signed>(T::kNan)))};
    } else {
      return T{static_cast<Bits>(encode<T>(Op::apply(decode<T>(a.bits), decode<T>(b.bits))))};
    }
  } else if constexpr (std::is_same_v<T, float> && kIsOrder<Op>) {
    return bitCast<float>(applyOrder<Op, std::int32_t>(bitCast<std::int32_t>(a), bitCast<std::int32_t>(b),
                                                       static_cast<std::int32_t>(kFloatInfinity),
                                                       static_cast<std::int32_t>(kFloatNan)));
  } else if constexpr (std::is_same_v<T, double> && kIsOrder<Op>) {
    return bitCast<double>(applyOrder<Op, std::int64_t>(bitCast<std::int64_t>(a), bitCast<std::int64_t>(b),
                                                        std::int64_t{0x7ff0000000000000},
                                                        std::int64_t{0x7ff8000000000000}));
  } else if constexpr (std::is_floating_point_v<T>) {
    return canonical(Op::apply(a, b));
  } else if constexpr (kIsOrder<Op>) {
    return Op::apply(a, b);
  } else {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(Op::template apply<Unsigned>(static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
  }
}

/// value * factor. Small floats are multiplied as float32 and rounded once.
template <typename T>
GOSS_HOST_DEVICE T scaled(T value, double factor) {
  if constexpr (kIsSmallFloat<T>) {
    return T{static_cast<typename T::Bits>(encode<T>(decode<T>(value.bits) * static_cast<float>(factor)))};
  } else {
    return canonical(value * static_cast<T>(factor));
  }
}

/// value / ranks, integers truncated. 8- and 32-bit integers go through float and double, whose division is exact
/// enough: a quotient that is no integer stays farther from the next one (1 / ranks) than the rounding error.
template <typename T>
GOSS_HOST_DEVICE T averaged(T value, std::int32_t ranks) {
  if constexpr (kIsSmallFloat<T>) {
    return T{static_cast<typename T::Bits>(encode<T>(decode<T>(value.bits) / static_cast<float>(ranks)))};
  } else if constexpr (std::is_floating_point_v<T>) {
    return canonical(value / static_cast<T>(ranks));
  } else if constexpr (sizeof(T) == 1) {
    return static_cast<T>(static_cast<std::int32_t>(static_cast<float>(value) / static_cast<float>(ranks)));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<T>(static_cast<std::int64_t>(static_cast<double>(value) / static_cast<double>(ranks)));
  } else {
    return static_cast<T>(value / static_cast<T>(ranks));
  }
}

} // namespace goss::kernels

#endif // GOSS_LIB_KERNELS_ELEMENTS_H_
