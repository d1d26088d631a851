/// The loops over elements.h. Included once by each isa_*.cc, which is compiled for one instruction set. Everything is
/// in an unnamed namespace: code compiled for different machines must never be merged by the linker.
#ifndef GOSS_LIB_KERNELS_LOOPS_INC_H_
#define GOSS_LIB_KERNELS_LOOPS_INC_H_

#include "base/cache_lines.h"
#include "kernels/elements.h"
#include "kernels/table.h"

// Says that the iterations of the next loop are independent: dst may be exactly a or b, and without this the compiler's
// overlap test would send those calls to a scalar loop.
#if defined(__clang__)
#define GOSS_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define GOSS_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace goss::kernels {
namespace {

/// Number of elements at the front to process separately, so that the stores (and the loads of an operand that is dst)
/// of the rest do not straddle cache lines: with 64-byte vectors that costs up to half of the speed. Zero for short
/// vectors.
template <typename T>
std::size_t headCount(const void* dst, std::size_t count) {
  constexpr std::size_t kLine = base::kCacheLineBytes;
  constexpr std::size_t kWorthwhile = 1024 / sizeof(T);
  const std::size_t bytes = (0 - reinterpret_cast<std::uintptr_t>(dst)) % kLine;
  return count < kWorthwhile || bytes % sizeof(T) != 0 ? 0 : bytes / sizeof(T);
}

template <typename T, typename Op>
[[gnu::noinline]] void reduceRun(T* out, const T* left, const T* right, std::size_t count) {
  GOSS_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = combine<Op>(left[i], right[i]);
  }
}

template <typename T, typename Op>
void reduceLoop(void* dst, const void* a, const void* b, std::size_t count) {
  auto* out = static_cast<T*>(dst);
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
  const std::size_t head = headCount<T>(dst, count);
  if (head != 0) {
    reduceRun<T, Op>(out, left, right, head);
  }
  reduceRun<T, Op>(out + head, left + head, right + head, count - head);
}

/// Sums and products of small floats, a 32-bit word (two or four elements) at a time: shifts and masks within a lane
/// are much cheaper than the shuffles that widening and narrowing whole vectors takes.
template <typename Small, typename Op>
[[gnu::noinline]] void packedRun(Small* dst, const Small* a, const Small* b, std::size_t count) {
  constexpr std::size_t kLanes = 4 / sizeof(Small);
  constexpr std::uint32_t kBits = 8 * sizeof(Small);
  constexpr std::uint32_t kMask = (1u << kBits) - 1;
  const std::size_t words = count / kLanes;
  auto* out = reinterpret_cast<unsigned char*>(dst);
  const auto* left = reinterpret_cast<const unsigned char*>(a);
  const auto* right = reinterpret_cast<const unsigned char*>(b);
  GOSS_INDEPENDENT
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t x, y, result = 0;
    __builtin_memcpy(&x, left + 4 * i, 4);
    __builtin_memcpy(&y, right + 4 * i, 4);
#pragma GCC unroll 4
    for (std::uint32_t shift = 0; shift < 32; shift += kBits) {
      const float sum = Op::apply(decode<Small>((x >> shift) & kMask), decode<Small>((y >> shift) & kMask));
      result |= encode<Small>(sum) << shift;
    }
    __builtin_memcpy(out + 4 * i, &result, 4);
  }
  for (std::size_t i = words * kLanes; i < count; ++i) {
    dst[i] = combine<Op>(a[i], b[i]);
  }
}

template <typename Small, typename Op>
void packedReduceLoop(void* dst, const void* a, const void* b, std::size_t count) {
  auto* out = static_cast<Small*>(dst);
  const auto* left = static_cast<const Small*>(a);
  const auto* right = static_cast<const Small*>(b);
  const std::size_t head = headCount<Small>(dst, count);
  if (head != 0) {
    packedRun<Small, Op>(out, left, right, head);
  }
  packedRun<Small, Op>(out + head, left + head, right + head, count - head);
}

template <typename T>
void scaleLoop(void* dst, const void* src, std::size_t count, double factor) {
  auto* out = static_cast<T*>(dst);
  const auto* in = static_cast<const T*>(src);
  GOSS_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = scaled(in[i], factor);
  }
}

template <typename T>
void averageLoop(void* dst, const void* src, std::size_t count, std::int32_t ranks) {
  auto* out = static_cast<T*>(dst);
  const auto* in = static_cast<const T*>(src);
  GOSS_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = averaged(in[i], ranks);
  }
}

template <typename Small>
void widenLoop(void* dst, const void* src, std::size_t count) {
  auto* __restrict out = static_cast<float*>(dst);
  const auto* __restrict in = static_cast<const Small*>(src);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = decode<Small>(in[i].bits);
  }
}

template <typename Small>
void narrowLoop(void* dst, const void* src, std::size_t count) {
  auto* __restrict out = static_cast<Small*>(dst);
  const auto* __restrict in = static_cast<const float*>(src);
  for (std::size_t i = 0; i < count; ++i) {
    out[i].bits = static_cast<typename Small::Bits>(encode<Small>(in[i]));
  }
}

/// Elements that a weighted sum makes at a time: they stay in the first-level cache.
constexpr std::size_t kSumBlock = 1024;

/// Adds a term to a block of sums, or begins them with it.
template <typename T>
[[gnu::noinline]] void addTerm(T* __restrict sum, const T* __restrict source, T weight, std::size_t count,
                               bool begins) {
  if (begins) {
    for (std::size_t i = 0; i < count; ++i) {
      sum[i] = weight * source[i];
    }
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      sum[i] += weight * source[i];
    }
  }
}

template <typename T>
void weightedSumLoop(void* dst, const WeightedTerms& of, std::size_t count) {
  T sum[kSumBlock];
  for (std::size_t first = 0; first < count; first += kSumBlock) {
    const std::size_t elems = count - first < kSumBlock ? count - first : kSumBlock;
    for (std::size_t k = 0; k < of.terms; ++k) {
      addTerm(sum, static_cast<const T*>(of.sources[k]) + first, static_cast<T>(of.weights[k]), elems, k == 0);
    }
    T* out = static_cast<T*>(dst) + first;
    for (std::size_t i = 0; i < elems; ++i) {
      out[i] = canonical(sum[i]);
    }
  }
}

template <typename Small, MapLoop kWiden, MapLoop kNarrow>
void smallWeightedSumLoop(void* dst, const WeightedTerms& of, std::size_t count) {
  float sum[kSumBlock], wide[kSumBlock];
  for (std::size_t first = 0; first < count; first += kSumBlock) {
    const std::size_t elems = count - first < kSumBlock ? count - first : kSumBlock;
    for (std::size_t k = 0; k < of.terms; ++k) {
      kWiden(wide, static_cast<const Small*>(of.sources[k]) + first, elems);
      addTerm(sum, wide, static_cast<float>(of.weights[k]), elems, k == 0);
    }
    kNarrow(static_cast<Small*>(dst) + first, sum, elems);
  }
}

/// float16 without hardware conversions.
struct PortableHalf {
  template <typename Op>
  static void reduce(void* dst, const void* a, const void* b, std::size_t count) {
    packedReduceLoop<Float16, Op>(dst, a, b, count);
  }
  static void scale(void* dst, const void* src, std::size_t count, double factor) {
    scaleLoop<Float16>(dst, src, count, factor);
  }
  static void average(void* dst, const void* src, std::size_t count, std::int32_t ranks) {
    averageLoop<Float16>(dst, src, count, ranks);
  }
  static void widen(void* dst, const void* src, std::size_t count) { widenLoop<Float16>(dst, src, count); }
  static void narrow(void* dst, const void* src, std::size_t count) { narrowLoop<Float16>(dst, src, count); }
};

/// Sums, also for averages and scaled sums, whose factors are applied separately.
template <typename T>
void fillSum(Table& table, DType dtype, ReduceLoop sum) {
  table.reduce[dtype][GOSS_SUM] = table.reduce[dtype][GOSS_AVG] = sum;
  if constexpr (kIsFloating<T>) table.reduce[dtype][GOSS_PREMUL_SUM] = sum;
}

template <typename T>
void fillLogical(Table& table, DType dtype) {
  table.reduce[dtype][GOSS_LAND] = reduceLoop<T, Logical<BitAnd>>;
  table.reduce[dtype][GOSS_LOR] = reduceLoop<T, Logical<BitOr>>;
  table.reduce[dtype][GOSS_LXOR] = reduceLoop<T, Logical<BitXor>>;
}

template <typename T>
void fillNumber(Table& table, DType dtype) {
  auto& reduce = table.reduce[dtype];
  reduce[GOSS_PROD] = reduceLoop<T, Prod>;
  reduce[GOSS_MIN] = reduceLoop<T, Min>;
  reduce[GOSS_MAX] = reduceLoop<T, Max>;
  table.average[dtype] = averageLoop<T>;
  fillSum<T>(table, dtype, reduceLoop<T, Sum>);
  if constexpr (kIsFloating<T>) {
    table.scale[dtype] = scaleLoop<T>;
  } else {
    reduce[GOSS_BAND] = reduceLoop<T, BitAnd>;
    reduce[GOSS_BOR] = reduceLoop<T, BitOr>;
    reduce[GOSS_BXOR] = reduceLoop<T, BitXor>;
    fillLogical<T>(table, dtype);
  }
}

template <typename Small>
void fillSmall(Table& table, DType dtype) {
  fillNumber<Small>(table, dtype);
  fillSum<Small>(table, dtype, packedReduceLoop<Small, Sum>);
  table.reduce[dtype][GOSS_PROD] = packedReduceLoop<Small, Prod>;
  table.widen[dtype] = widenLoop<Small>;
  table.narrow[dtype] = narrowLoop<Small>;
  table.weighted_sum[dtype] = smallWeightedSumLoop<Small, widenLoop<Small>, narrowLoop<Small>>;
}

/// The table of the instruction set that the including file is compiled for. `Half` gives the float16 loops.
template <typename Half>
Table makeTable(const char* isa) {
  Table table;
  table.isa = isa;
  fillNumber<std::int8_t>(table, GOSS_INT8);
  fillNumber<std::uint8_t>(table, GOSS_UINT8);
  fillNumber<std::int32_t>(table, GOSS_INT32);
  fillNumber<std::uint32_t>(table, GOSS_UINT32);
  fillNumber<std::int64_t>(table, GOSS_INT64);
  fillNumber<std::uint64_t>(table, GOSS_UINT64);
  fillNumber<float>(table, GOSS_FLOAT32);
  fillNumber<double>(table, GOSS_FLOAT64);
  fillLogical<Bool>(table, GOSS_BOOL);
  // The least and the largest of truth values are `and` and `or`.
  table.reduce[GOSS_BOOL][GOSS_MIN] = table.reduce[GOSS_BOOL][GOSS_LAND];
  table.reduce[GOSS_BOOL][GOSS_MAX] = table.reduce[GOSS_BOOL][GOSS_LOR];
  fillSmall<BFloat16>(table, GOSS_BFLOAT16);
  fillSmall<Float8E4M3>(table, GOSS_FLOAT8_E4M3);
  fillSmall<Float8E5M2>(table, GOSS_FLOAT8_E5M2);
  fillNumber<Float16>(table, GOSS_FLOAT16); // minimum and maximum work on the bits and need no conversion
  fillSum<Float16>(table, GOSS_FLOAT16, Half::template reduce<Sum>);
  table.reduce[GOSS_FLOAT16][GOSS_PROD] = Half::template reduce<Prod>;
  table.scale[GOSS_FLOAT16] = Half::scale;
  table.average[GOSS_FLOAT16] = Half::average;
  table.widen[GOSS_FLOAT16] = Half::widen;
  table.narrow[GOSS_FLOAT16] = Half::narrow;
  table.weighted_sum[GOSS_FLOAT16] = smallWeightedSumLoop<Float16, Half::widen, Half::narrow>;
  table.weighted_sum[GOSS_FLOAT32] = weightedSumLoop<float>;
  table.weighted_sum[GOSS_FLOAT64] = weightedSumLoop<double>;
  return table;
}

} // namespace
} // namespace goss::kernels

#endif // GOSS_LIB_KERNELS_LOOPS_INC_H_
