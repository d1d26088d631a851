/// The loops of one instruction set, as a table. Internal to lib/kernels and its tests.
#ifndef GOSS_LIB_KERNELS_TABLE_H_
#define GOSS_LIB_KERNELS_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gossamer/types.h"

namespace goss::kernels {

using ReduceLoop = void (*)(void* dst, const void* a, const void* b, std::size_t count);
using ScaleLoop = void (*)(void* dst, const void* src, std::size_t count, double factor);
using AverageLoop = void (*)(void* dst, const void* src, std::size_t count, std::int32_t ranks);
using MapLoop = void (*)(void* dst, const void* src, std::size_t count);
/// Vectors and their factors, `terms` of each, at least one.
struct WeightedTerms {
  const void* const* sources = nullptr;
  const double* weights = nullptr;
  std::size_t terms = 0;
};
using WeightedSumLoop = void (*)(void* dst, const WeightedTerms& of, std::size_t count);

/// The loops of one instruction set. Entries without meaning (scaling integers, adding truth values, widening types
/// that are not small floats) are null.
struct Table {
  const char* isa = "";
  std::array<std::array<ReduceLoop, GOSS_OP_COUNT>, GOSS_DTYPE_COUNT> reduce{};
  std::array<ScaleLoop, GOSS_DTYPE_COUNT> scale{};
  std::array<AverageLoop, GOSS_DTYPE_COUNT> average{};
  std::array<MapLoop, GOSS_DTYPE_COUNT> widen{};  ///< Small float to float32.
  std::array<MapLoop, GOSS_DTYPE_COUNT> narrow{}; ///< float32 to small float.
  std::array<WeightedSumLoop, GOSS_DTYPE_COUNT> weighted_sum{};
  /// Copies bytes with stores that bypass the caches; null where the machine has no such stores.
  MapLoop stream = nullptr;
};

/// Makers of the tables; each lives in a file compiled for its instruction set and must run only where that exists.
Table makeDefaultTable();
Table makeAvx2Table();
Table makeAvx512Table();

/// The tables that this machine can run, narrowest first; never empty. The span lives for ever.
std::span<const Table> availableTables();

} // namespace goss::kernels

#endif // GOSS_LIB_KERNELS_TABLE_H_
