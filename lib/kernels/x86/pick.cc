#include <cpuid.h>

#include <array>

#include "kernels/table.h"

namespace goss::kernels {

namespace {

/// Clang 14's __builtin_cpu_supports does not know F16C.
bool hasF16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

} // namespace

std::span<const Table> availableTables() {
  struct Tables {
    std::array<Table, 3> tables{};
    std::size_t count = 0;
  };
  static const Tables available = [] {
    Tables found;
    found.tables[found.count++] = makeDefaultTable();
    const bool avx2 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") && hasF16c();
    if (avx2) {
      found.tables[found.count++] = makeAvx2Table();
    }
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      found.tables[found.count++] = makeAvx512Table();
    }
    return found;
  }();
  return std::span(available.tables).first(available.count);
}

} // namespace goss::kernels
