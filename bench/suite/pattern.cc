#include "bench/suite/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace goss::bench {

namespace {

struct FloatFormat {
  int exponent_bits = 0; ///< 0: an integer type.
  int mantissa_bits = 0;
};

FloatFormat floatFormat(goss_dtype dtype) {
  switch (dtype) {
    case GOSS_FLOAT16:
      return {5, 10};
    case GOSS_BFLOAT16:
      return {8, 7};
    case GOSS_FLOAT32:
      return {8, 23};
    case GOSS_FLOAT64:
      return {11, 52};
    case GOSS_FLOAT8_E4M3:
      return {4, 3};
    case GOSS_FLOAT8_E5M2:
      return {5, 2};
    default:
      return {};
  }
}

} // namespace

std::int64_t exactLimit(goss_dtype dtype) {
  const FloatFormat format = floatFormat(dtype);
  if (format.exponent_bits != 0) {
    return std::int64_t{1} << std::min(format.mantissa_bits + 1, 30);
  }
  if (dtype == GOSS_BOOL) return 1;
  return dtype == GOSS_INT8 ? 127 : dtype == GOSS_UINT8 ? 255 : std::int64_t{1} << 30;
}

std::uint64_t encodeWhole(goss_dtype dtype, std::int64_t value) {
  const FloatFormat format = floatFormat(dtype);
  if (format.exponent_bits == 0 || value == 0) {
    return static_cast<std::uint64_t>(value);
  }
  const auto magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
  const int top = static_cast<int>(std::bit_width(magnitude)) - 1;
  const auto bias = static_cast<std::uint64_t>((1 << (format.exponent_bits - 1)) - 1);
  const std::uint64_t fraction = magnitude - (std::uint64_t{1} << top);
  const std::uint64_t mantissa = fraction << (format.mantissa_bits - std::min(top, format.mantissa_bits)) >>
                                 (top - std::min(top, format.mantissa_bits));
  const std::uint64_t sign = value < 0 ? 1 : 0;
  return ((sign << format.exponent_bits | (bias + static_cast<std::uint64_t>(top))) << format.mantissa_bits) | mantissa;
}

Pattern::Pattern(goss_dtype dtype, goss_op op, int contributors, int round)
    : dtype_(dtype),
      op_(op),
      contributors_(contributors),
      round_(round),
      width_(goss_dtype_size(dtype)),
      exact_(exactLimit(dtype)) {
  if (op == GOSS_AVG && contributors > exact_) {
    throw std::invalid_argument(fmt::format(
        "an average over {} ranks is not exact in this element type; choose a wider --dtype or leave out -c",
        contributors));
  }
}

/// Sums: 0..k-1 where contributors * (k-1) is exact, or ones on a rotating few ranks when there are more ranks than
/// that. Products: twos on a rotating few ranks. Averages: the same number on every rank. Logical operations: at each
/// index at most one rank has a zero.
std::int64_t Pattern::input(int rank, std::size_t index) const {
  const auto place = static_cast<std::int64_t>(index % kPeriod);
  const std::int64_t limit = op_ == GOSS_PREMUL_SUM ? exact_ / 2 : exact_;
  const std::int64_t share = limit / contributors_;
  switch (op_) {
    case GOSS_PROD:
      return (rank + place + round_) % contributors_ < 2 ? 2 : 1;
    case GOSS_MIN:
    case GOSS_MAX:
    case GOSS_BAND:
    case GOSS_BOR:
    case GOSS_BXOR:
      return (31 * rank + 7 * place + round_) % std::min<std::int64_t>(limit + 1, 101);
    case GOSS_LAND:
    case GOSS_LOR:
    case GOSS_LXOR:
      return (rank + place + round_) % (contributors_ + 1) == 0 ? 0 : 1;
    case GOSS_AVG:
      return (7 * place + round_) % std::min<std::int64_t>(share + 1, 101);
    default:
      if (share == 0) {
        return (rank + place + round_) % contributors_ < limit ? 1 : 0;
      }
      return (31 * rank + 7 * place + round_) % std::min<std::int64_t>(share + 1, 101);
  }
}

std::int64_t Pattern::reduced(int begin_rank, int end_rank, std::size_t index) const {
  std::int64_t result = input(begin_rank, index);
  for (int rank = begin_rank + 1; rank < end_rank; ++rank) {
    const std::int64_t value = input(rank, index);
    switch (op_) {
      case GOSS_PROD:
        result *= value;
        break;
      case GOSS_MIN:
        result = std::min(result, value);
        break;
      case GOSS_MAX:
        result = std::max(result, value);
        break;
      case GOSS_BAND:
      case GOSS_LAND: // Inputs are 0 or 1.
        result &= value;
        break;
      case GOSS_BOR:
      case GOSS_LOR:
        result |= value;
        break;
      case GOSS_BXOR:
      case GOSS_LXOR:
        result ^= value;
        break;
      case GOSS_AVG:
        break;
      default:
        result += value;
    }
  }
  return op_ == GOSS_PREMUL_SUM ? result * static_cast<std::int64_t>(kPremulFactor) : result;
}

void Pattern::fill(void* buffer, int rank, std::size_t first, std::size_t count) const {
  auto* bytes = static_cast<unsigned char*>(buffer);
  const std::size_t own = std::min(count, kPeriod);
  for (std::size_t i = 0; i < own; ++i) {
    const std::uint64_t bits = encodeWhole(dtype_, input(rank, first + i));
    std::memcpy(bytes + i * width_, &bits, width_);
  }
  for (std::size_t done = own; done < count; done += own) {
    std::memcpy(bytes + done * width_, bytes, std::min(own, count - done) * width_);
  }
}

std::size_t Pattern::wrong(const void* got, int begin_rank, int end_rank, std::size_t first, std::size_t count) const {
  std::vector<unsigned char> expected(std::min(count, kPeriod) * width_);
  for (std::size_t i = 0; i < std::min(count, kPeriod); ++i) {
    const std::uint64_t bits = encodeWhole(dtype_, reduced(begin_rank, end_rank, first + i));
    std::memcpy(expected.data() + i * width_, &bits, width_);
  }
  const auto* bytes = static_cast<const unsigned char*>(got);
  std::size_t bad = 0;
  for (std::size_t done = 0; done < count; done += kPeriod) {
    const std::size_t now = std::min(kPeriod, count - done);
    if (std::memcmp(bytes + done * width_, expected.data(), now * width_) != 0) {
      for (std::size_t i = 0; i < now; ++i) {
        bad += std::memcmp(bytes + (done + i) * width_, expected.data() + i * width_, width_) != 0 ? 1 : 0;
      }
    }
  }
  return bad;
}

} // namespace goss::bench
