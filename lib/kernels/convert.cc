#include "kernels/convert.h"

#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "kernels/elements.h"
#include "kernels/table.h"

namespace goss::kernels {

namespace {

/// The C++ type of each dtype, in the order of goss_dtype.
using ElementTypes = std::tuple<std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t,
                                Float16, BFloat16, float, double, Float8E4M3, Float8E5M2, Bool>;
static_assert(std::tuple_size_v<ElementTypes> == GOSS_DTYPE_COUNT);
template <std::size_t kDtype>
using ElementType = std::tuple_element_t<kDtype, ElementTypes>;

/// The float32 through which an element is converted to a small float: exact, or rounded to odd.
template <typename From>
float bridge(From value) {
  if constexpr (kIsSmallFloat<From>) {
    return decode<From>(value.bits);
  } else if constexpr (std::is_same_v<From, double>) {
    return roundToOdd(value);
  } else if constexpr (std::is_integral_v<From> && sizeof(From) == 8) {
    // Integers of 64 bits do not fit a double either. Their lowest bits only decide ties, so they are folded into one
    // bit that says whether any of them was set.
    const bool negative = value < 0;
    const auto magnitude = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    constexpr std::uint64_t kLow = (1u << 12) - 1;
    const bool wide = magnitude >> 52 != 0;
    const std::uint64_t folded = wide ? (magnitude & ~kLow) | ((magnitude & kLow) != 0 ? kLow + 1 : 0) : magnitude;
    const auto rounded = roundToOdd(static_cast<double>(folded));
    return negative ? -rounded : rounded;
  } else {
    return roundToOdd(static_cast<double>(value));
  }
}

template <typename To>
To truncated(double value) {
  // 2^digits is exactly representable, unlike the largest value itself.
  constexpr double kEnd = static_cast<double>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2.0;
  if (value != value) {
    return 0;
  }
  if (value >= kEnd) {
    return std::numeric_limits<To>::max();
  }
  if (value <= static_cast<double>(std::numeric_limits<To>::min())) {
    return std::numeric_limits<To>::min();
  }
  return static_cast<To>(value);
}

template <typename To, typename From>
To convertElement(From value) {
  if constexpr (std::is_same_v<From, Bool>) {
    return convertElement<To>(static_cast<std::uint8_t>(value.byte != 0));
  } else if constexpr (kIsSmallFloat<From> && !kIsSmallFloat<To>) {
    return convertElement<To>(decode<From>(value.bits));
  } else if constexpr (std::is_same_v<To, Bool>) {
    return Bool{static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (kIsSmallFloat<To>) {
    return To{static_cast<typename To::Bits>(encode<To>(bridge(value)))};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return truncated<To>(static_cast<double>(value));
  } else if constexpr (std::is_floating_point_v<To> && std::is_floating_point_v<From>) {
    return canonical(static_cast<To>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <typename To, typename From>
void convertLoop(void* dst, const void* src, std::size_t count) {
  auto* __restrict out = static_cast<To*>(dst);
  const auto* __restrict in = static_cast<const From*>(src);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = convertElement<To>(in[i]);
  }
}

using Row = std::array<MapLoop, GOSS_DTYPE_COUNT>;

template <std::size_t kTo, std::size_t... kFrom>
constexpr Row makeRow(std::index_sequence<kFrom...>) {
  return {convertLoop<ElementType<kTo>, ElementType<kFrom>>...};
}

template <std::size_t... kTo>
constexpr std::array<Row, GOSS_DTYPE_COUNT> makeRows(std::index_sequence<kTo...> all) {
  return {makeRow<kTo>(all)...};
}

template <std::size_t... kDtype>
constexpr std::array<std::size_t, GOSS_DTYPE_COUNT> makeSizes(std::index_sequence<kDtype...>) {
  return {sizeof(ElementType<kDtype>)...};
}

constexpr auto kLoops = makeRows(std::make_index_sequence<GOSS_DTYPE_COUNT>());
constexpr auto kSizes = makeSizes(std::make_index_sequence<GOSS_DTYPE_COUNT>());

} // namespace

std::size_t elementBytes(DType dtype) { return kSizes[dtype]; }

void convertAny(DType to, void* dst, DType from, const void* src, std::size_t count) {
  kLoops[to][from](dst, src, count);
}

} // namespace goss::kernels
