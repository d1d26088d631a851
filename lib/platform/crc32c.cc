#include "platform/crc32c.h"

#include <isa-l/crc.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>

namespace goss::platform {

namespace {

#if defined(__x86_64__)
[[gnu::target("avx")]] void clearUpperHalves() { _mm256_zeroupper(); }
#endif

/// The library leaves values in the upper halves of vector registers. Until they are cleared, scalar floating-point
/// code of the caller, which was compiled without AVX, may take twenty times as long.
void clearVectorRegisters() {
#if defined(__x86_64__)
  static const bool has_avx = __builtin_cpu_supports("avx") != 0;
  if (has_avx) clearUpperHalves();
#endif
}

} // namespace

std::uint32_t crc32c(const void* from, std::size_t bytes, std::uint32_t before) {
  constexpr std::size_t kMaxAtOnce = std::size_t{1} << 30;         // The library counts bytes as int.
  auto* at = static_cast<unsigned char*>(const_cast<void*>(from)); // Only read.
  std::uint32_t rest = ~before;
  while (bytes > 0) {
    const std::size_t step = std::min(bytes, kMaxAtOnce);
    rest = crc32_iscsi(at, static_cast<int>(step), rest);
    at += step;
    bytes -= step;
  }
  clearVectorRegisters();
  return ~rest;
}

} // namespace goss::platform
