/// A slow second opinion on every kernel: formats from their definition (sign, exponent, mantissa), rounding by search
/// among all values of a format. Shares no code with lib/kernels.
#ifndef GOSS_TESTS_LIB_KERNELS_REFERENCE_H_
#define GOSS_TESTS_LIB_KERNELS_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gossamer/types.h"

namespace goss::testing {

using Bytes = std::vector<unsigned char>;

/// A float format of at most 16 bits.
class SmallFormat {
 public:
  SmallFormat(int exponent_bits, int mantissa_bits, bool infinity, unsigned nan)
      : exponent_bits_(exponent_bits), mantissa_bits_(mantissa_bits), infinity_(infinity), nan_(nan) {
    for (unsigned magnitude = 0; !isSpecial(magnitude); ++magnitude) {
      values_.push_back(magnitudeValue(magnitude));
    }
  }

  [[nodiscard]] int bits() const { return 1 + exponent_bits_ + mantissa_bits_; }
  [[nodiscard]] unsigned nan() const { return nan_; }
  /// Non-negative finite values, ascending; the index is the bit pattern.
  [[nodiscard]] const std::vector<long double>& values() const { return values_; }

  [[nodiscard]] long double decode(unsigned pattern) const {
    const unsigned sign = 1u << (bits() - 1);
    const unsigned magnitude = pattern & (sign - 1);
    long double value = std::numeric_limits<long double>::quiet_NaN();
    if (magnitude < values_.size()) {
      value = values_[magnitude];
    } else if (infinity_ && magnitude == values_.size()) {
      value = std::numeric_limits<long double>::infinity();
    }
    return (pattern & sign) != 0 ? -value : value;
  }

  [[nodiscard]] unsigned encode(long double value) const {
    if (std::isnan(value)) {
      return nan_;
    }
    const unsigned sign = std::signbit(value) ? 1u << (bits() - 1) : 0;
    const long double magnitude = std::fabs(value);
    const auto above =
        static_cast<unsigned>(std::lower_bound(values_.begin(), values_.end(), magnitude) - values_.begin());
    if (above == 0) {
      return sign;
    }
    const long double upper = above < values_.size()
                                  ? values_[above]
                                  : 2 * values_[above - 1] - values_[above - 2]; // one step beyond the largest
    const long double middle = (values_[above - 1] + upper) / 2;
    const bool up = magnitude > middle || (magnitude == middle && above % 2 == 0);
    const unsigned rounded = up ? above : above - 1;
    return sign | (rounded == values_.size() && !infinity_ ? rounded - 1 : rounded);
  }

 private:
  [[nodiscard]] bool isSpecial(unsigned magnitude) const {
    const unsigned all_ones = (1u << (exponent_bits_ + mantissa_bits_)) - 1;
    return infinity_ ? magnitude >> mantissa_bits_ == (1u << exponent_bits_) - 1 : magnitude == all_ones;
  }
  [[nodiscard]] long double magnitudeValue(unsigned magnitude) const {
    const int bias = (1 << (exponent_bits_ - 1)) - 1;
    const int exponent = static_cast<int>(magnitude >> mantissa_bits_);
    const unsigned mantissa = magnitude & ((1u << mantissa_bits_) - 1);
    const long double significand = exponent == 0 ? mantissa : mantissa + (1u << mantissa_bits_);
    return std::ldexp(significand, (exponent == 0 ? 1 : exponent) - bias - mantissa_bits_);
  }

  int exponent_bits_;
  int mantissa_bits_;
  bool infinity_;
  unsigned nan_;
  std::vector<long double> values_;
};

/// The format of a small float dtype, or null.
const SmallFormat* smallFormat(DType dtype);

bool isFloating(DType dtype);
std::size_t width(DType dtype);
const char* dtypeName(DType dtype);

/// One element as a number; exact for every dtype.
long double load(DType dtype, const unsigned char* element);
/// The nearest element, ties to even, canonical NaN. For integers the value must be in range.
void store(DType dtype, unsigned char* element, long double value);

void referenceReduce(DType dtype, ReduceOp op, unsigned char* out, const unsigned char* a, const unsigned char* b);
void referenceScale(DType dtype, unsigned char* out, const unsigned char* in, double factor);
void referenceAverage(DType dtype, unsigned char* out, const unsigned char* in, int ranks);
void referenceConvert(DType to, unsigned char* out, DType from, const unsigned char* in);

/// `count` elements: random bit patterns, one in four an edge case (zeros, ends of the range, infinities, NaNs, ones).
Bytes randomElements(DType dtype, std::size_t count, std::uint64_t seed);

} // namespace goss::testing

#endif // GOSS_TESTS_LIB_KERNELS_REFERENCE_H_
