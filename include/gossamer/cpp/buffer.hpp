/// Element types, buffers and options of calls.
#ifndef GOSSAMER_CPP_BUFFER_HPP_
#define GOSSAMER_CPP_BUFFER_HPP_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "gossamer/abi.h"
#include "gossamer/cpp/error.hpp"

namespace gossamer {

/// Bits of floating types that C++20 has no type for.
struct Float16 {
  std::uint16_t bits = 0;
};
struct BFloat16 {
  std::uint16_t bits = 0;
};
struct Float8E4M3 {
  std::uint8_t bits = 0;
};
struct Float8E5M2 {
  std::uint8_t bits = 0;
};

/// The goss_dtype of an element type. Specialise it for types of your own that have the bits of one of these:
/// `template <> struct gossamer::Dtype<Half> : gossamer::DtypeIs<GOSS_FLOAT16> {};`
template <goss_dtype value_>
struct DtypeIs {
  static constexpr goss_dtype value = value_; // NOLINT(readability-identifier-naming): as in std::integral_constant
};
template <class T>
struct Dtype {};
template <>
struct Dtype<std::int8_t> : DtypeIs<GOSS_INT8> {};
template <>
struct Dtype<std::uint8_t> : DtypeIs<GOSS_UINT8> {};
template <>
struct Dtype<std::byte> : DtypeIs<GOSS_UINT8> {};
template <>
struct Dtype<std::int32_t> : DtypeIs<GOSS_INT32> {};
template <>
struct Dtype<std::uint32_t> : DtypeIs<GOSS_UINT32> {};
template <>
struct Dtype<long> : DtypeIs<GOSS_INT64> {};
template <>
struct Dtype<unsigned long> : DtypeIs<GOSS_UINT64> {};
template <>
struct Dtype<long long> : DtypeIs<GOSS_INT64> {};
template <>
struct Dtype<unsigned long long> : DtypeIs<GOSS_UINT64> {};
template <>
struct Dtype<Float16> : DtypeIs<GOSS_FLOAT16> {};
template <>
struct Dtype<BFloat16> : DtypeIs<GOSS_BFLOAT16> {};
template <>
struct Dtype<float> : DtypeIs<GOSS_FLOAT32> {};
template <>
struct Dtype<double> : DtypeIs<GOSS_FLOAT64> {};
template <>
struct Dtype<Float8E4M3> : DtypeIs<GOSS_FLOAT8_E4M3> {};
template <>
struct Dtype<Float8E5M2> : DtypeIs<GOSS_FLOAT8_E5M2> {};
template <>
struct Dtype<bool> : DtypeIs<GOSS_BOOL> {};
static_assert(sizeof(long) == 8 && sizeof(bool) == 1, "Gossamer runs on 64-bit Linux");

/// A type that the library can move and reduce.
template <class T>
concept Element = std::is_trivially_copyable_v<T> && requires {
  {Dtype<std::remove_cv_t<T>>::value};
};

namespace detail {

template <class Buffer>
using SpanOf = decltype(std::span(std::declval<Buffer&>()));
template <class Buffer>
using ElementOf = typename SpanOf<Buffer>::element_type;
template <class T>
struct IsSpan : std::false_type {};
template <class T, std::size_t extent>
struct IsSpan<std::span<T, extent>> : std::true_type {};

/// Lvalues live on after the call, and what a span refers to does.
template <class Buffer>
concept OutlivesCall = std::is_lvalue_reference_v<Buffer> || IsSpan<std::remove_cvref_t<Buffer>>::value;

} // namespace detail

/// What can be sent: a contiguous range of elements that is not a temporary container.
template <class Buffer>
concept SendBuffer = requires(Buffer& buffer) {
  std::span(buffer);
}
&&Element<detail::ElementOf<Buffer>>&& detail::OutlivesCall<Buffer>;

/// What can be written: a SendBuffer of elements that are not const.
template <class Buffer>
concept ReceiveBuffer = SendBuffer<Buffer> && !std::is_const_v<detail::ElementOf<Buffer>>;

/// Buffers of one call have one element type.
template <class First, class Second>
concept SameElement =
    std::is_same_v<std::remove_cv_t<detail::ElementOf<First>>, std::remove_cv_t<detail::ElementOf<Second>>>;

/// The goss_dtype of a buffer.
template <SendBuffer Buffer>
constexpr goss_dtype kDtypeOf = Dtype<std::remove_cv_t<detail::ElementOf<Buffer>>>::value;

/// Reductions, as goss_op.
enum class Op : int {
  sum = GOSS_SUM,
  prod = GOSS_PROD,
  min = GOSS_MIN,
  max = GOSS_MAX,
  avg = GOSS_AVG,
  premulSum = GOSS_PREMUL_SUM,
  bitAnd = GOSS_BAND,
  bitOr = GOSS_BOR,
  bitXor = GOSS_BXOR,
  logicalAnd = GOSS_LAND,
  logicalOr = GOSS_LOR,
  logicalXor = GOSS_LXOR,
};
constexpr goss_op raw(Op op) { return static_cast<goss_op>(op); }

/// Options of a call, as goss_options. Strings are read during the call.
struct Options {
  std::int64_t timeout_ms = 0;        ///< 0: the communicator's.
  const char* algorithm = nullptr;    ///< nullptr: the planner's choice.
  double scale = 1;                   ///< Factor of Op::premulSum.
  void* stream = nullptr;             ///< A CUDA stream, of which the call is a part.
  const char* codec = nullptr;        ///< Compression of what travels.
  const char* return_codec = nullptr; ///< Of the second half of an all-reduce; nullptr: the same.
  std::uint64_t tensor = 0;           ///< Names what is compressed.

  friend bool operator==(const Options&, const Options&) = default;
  goss_options raw(std::uint32_t flags) const {
    return {sizeof(goss_options), flags, timeout_ms, algorithm, scale, stream, codec, return_codec, tensor};
  }
};

/// What a completed receive got; a request of another operation leaves it as it is here.
struct Message {
  std::int32_t source = GOSS_ANY_SOURCE;
  std::int32_t tag = GOSS_ANY_TAG;
  std::size_t bytes = 0;
};

inline constexpr std::int32_t kAnySource = GOSS_ANY_SOURCE;
inline constexpr std::int32_t kAnyTag = GOSS_ANY_TAG;

/// Where each rank's (or neighbour's) block lies in a buffer, in elements.
struct Blocks {
  std::span<const std::size_t> counts;
  std::span<const std::size_t> displs = {}; ///< Empty: packed in order.
};

/// The blocks of both sides of an all-to-all.
struct Exchange {
  Blocks send;
  Blocks recv;
};

namespace detail {

/// nullptr for the packed order.
inline const std::size_t* displsOf(const Blocks& blocks) {
  return blocks.displs.empty() ? nullptr : blocks.displs.data();
}

/// Says whether there are `blocks_needed` blocks and all of them lie inside of a buffer of `elems` elements.
inline goss_status expectBlocks(const char* function, const char* what, const Blocks& blocks, std::size_t blocks_needed,
                                std::size_t elems) {
  const std::string counts = std::string("`counts` of ") + what, displs = std::string("`displs` of ") + what;
  goss_status status = expectCount(function, counts.c_str(), blocks.counts.size(), blocks_needed);
  if (status == GOSS_SUCCESS && !blocks.displs.empty()) {
    status = expectCount(function, displs.c_str(), blocks.displs.size(), blocks_needed);
  }
  std::size_t at = 0;
  for (std::size_t block = 0; status == GOSS_SUCCESS && block < blocks_needed; ++block) {
    if (!blocks.displs.empty()) at = blocks.displs[block];
    if (at > elems || blocks.counts[block] > elems - at) {
      const std::string text = std::string(function) + ": block " + std::to_string(block) + " of " + what +
                               " ends behind its " + std::to_string(elems) + " elements";
      status = goss_set_last_error(GOSS_ERR_INVALID_ARGUMENT, text.c_str());
    }
    at += blocks.counts[block];
  }
  return status;
}

} // namespace detail
} // namespace gossamer

#endif // GOSSAMER_CPP_BUFFER_HPP_
