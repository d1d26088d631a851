/// Element-wise loops over host memory: reduce, copy, scale, average, convert. Every function picks the widest
/// instruction set of this machine by itself; all of them give the same bits.
///
/// Rules for every call: thread-safe, never blocks, never allocates. Buffers hold `count` elements aligned to their
/// element size; zero elements and null pointers for them are fine. Ranges may overlap only where a call says so.
/// `dtype` and `op` must be values for which supported() is true; the caller validates its input.
///
/// Numbers: integers wrap around. float16, bfloat16 and both float8 types are computed in float32 and rounded to
/// nearest even once per call. float8 e4m3 saturates at 448; e5m2 and the wider types overflow to infinity. A NaN
/// operand gives the type's one canonical NaN, and min/max order -0 below +0, so that a op b and b op a have the same
/// bits. Of GOSS_BOOL any byte but 0 is true, and results are 0 or 1; logical operations on integers do the same.
#ifndef GOSS_LIB_KERNELS_KERNELS_H_
#define GOSS_LIB_KERNELS_KERNELS_H_

#include <cstddef>
#include <span>

#include "gossamer/types.h"

namespace goss::kernels {

/// A vector of so many bytes, its copy or result and the peer's do not stay in a processor's last-level cache: stores
/// that bypass the caches then beat others on the machines measured (docs/decisions/003-large-messages.md).
inline constexpr std::size_t kStreamedBytes = std::size_t{8} << 20;

/// Whether `op` may be used on elements of `dtype`. Numbers: GOSS_SUM, GOSS_PROD, GOSS_MIN, GOSS_MAX and GOSS_AVG.
/// Floating types: GOSS_PREMUL_SUM too. Integers: the bitwise and logical operations too. GOSS_BOOL: the logical ones,
/// GOSS_MIN and GOSS_MAX.
[[nodiscard]] bool supported(DType dtype, ReduceOp op);

/// dst[i] = a[i] op b[i]. `dst` may be `a` or `b` exactly. GOSS_AVG and GOSS_PREMUL_SUM only add; average() and scale()
/// apply their factors.
// One more parameter than usual, as every reduction over two vectors has.
// NOLINTNEXTLINE(readability-function-size)
void reduce(DType dtype, ReduceOp op, void* dst, const void* a, const void* b, std::size_t count);

/// reduce() for a result that is not needed again soon: where `dst` is neither `a` nor `b`, the stores bypass the
/// caches.
void reduceStreaming(DType dtype, ReduceOp op, void* dst, const void* a, const void* b, std::size_t count);

/// The last step of a reduction over `ranks` ranks whose result is wanted in two places, with stores that bypass the
/// caches: `dst` and `other` get a[i] op b[i], divided by `ranks` where `op` is GOSS_AVG. Either may be `a` or `b`
/// exactly; no two of them overlap otherwise.
// NOLINTNEXTLINE(readability-function-size)
void finishStreaming(DType dtype, ReduceOp op, int ranks, void* dst, void* other, const void* a, const void* b,
                     std::size_t count);

/// Copies `bytes` bytes; the ranges do not overlap. The stores of large copies bypass the caches.
void copy(void* dst, const void* src, std::size_t bytes);

/// dst[i] = src[i] * factor, for floating types; `factor` is first rounded to float32 unless dtype is float64. `dst`
/// may be `src`.
void scale(DType dtype, void* dst, const void* src, std::size_t count, double factor);

/// dst[i] = the sum over k of weights[k] * sources[k][i], added in the order of the sources, for floating types:
/// computed in float32 with weights rounded to it (float64: in float64), and rounded once at the end. `dst` may be one
/// of the sources. There is at least one.
void weightedSum(DType dtype, void* dst, std::span<const void* const> sources, std::span<const double> weights,
                 std::size_t count);

/// dst[i] = src[i] / ranks, for numbers; integers truncate toward zero. `ranks` >= 1. `dst` may be `src`.
void average(DType dtype, void* dst, const void* src, std::size_t count, int ranks);

/// dst[i] = src[i] converted to dtype `to`. Between floating types: one rounding to nearest even. Integers to floating:
/// nearest. Floating to integer: truncates, saturates, and NaN becomes 0. Between integers: wraps around. To GOSS_BOOL:
/// every value but 0 is true, also NaN; from GOSS_BOOL: true is 1. The ranges do not overlap, unless they are equal and
/// so are the types.
void convert(DType to, void* dst, DType from, const void* src, std::size_t count);

} // namespace goss::kernels

#endif // GOSS_LIB_KERNELS_KERNELS_H_
